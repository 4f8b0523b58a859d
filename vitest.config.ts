import { defineConfig } from 'vitest/config'

const conditions = ['@poppyseed/source', 'node', 'import', 'default']

export default defineConfig({
  resolve: { conditions },
  ssr: { resolve: { conditions, externalConditions: conditions } },
  test: {
    include: [
      'packages/*/src/**/*.test.{ts,tsx}',
      'examples/*/src/**/*.test.ts',
      'test/**/*.test.ts',
      'spec/**/*.test.ts',
    ],
    globalSetup: ['test/setup/services.ts'],
    testTimeout: 15_000,
    hookTimeout: 30_000,
  },
})
