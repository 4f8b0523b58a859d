import { defineConfig } from 'vitest/config'

// Tests read the workspace's packages from their sources, so that nothing stale from dist is tested.
const source = '@poppyseed/source'

export default defineConfig({
  resolve: { conditions: [source, 'node'] },
  ssr: {
    resolve: {
      // Vitest hands these to Node. Never `import` among them: it would reach CommonJS packages' own require(), and pg
      // breaks. Vite adds `import` or `require` itself.
      conditions: [source, 'node'],
      externalConditions: [source, 'node'],
    },
  },
  test: {
    include: [
      'packages/*/src/**/*.test.{ts,tsx}',
      'examples/*/src/**/*.test.ts',
      'test/**/*.test.ts',
      'spec/**/*.test.ts',
    ],
    globalSetup: ['test/setup/services.ts'],
    // Every core: what a test waits for is mostly a process, a browser or a database of its own.
    maxWorkers: '100%',
    testTimeout: 60_000,
    hookTimeout: 60_000,
  },
})
