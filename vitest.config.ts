import { availableParallelism } from 'node:os'
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
    globalSetup: ['test/setup/services.ts'],
    projects: [
      {
        extends: true,
        // Beside the code, with nothing that outlives them: they share their workers, which saves half a minute.
        test: {
          name: 'units',
          include: ['packages/*/{src,inbox}/**/*.test.{ts,tsx}', 'spec/**/*.test.ts'],
          isolate: false,
        },
      },
      {
        extends: true,
        // Each file's own start costs a second, so they share their workers too. The long run shows each file by itself.
        test: {
          name: 'stories',
          isolate: process.env.LONG !== undefined,
          include: ['examples/*/{src,payments}/**/*.test.ts', 'test/**/*.test.ts'],
        },
      },
    ],
    // More than the cores: what a test waits for is mostly a process, a browser, a database or a clock of its own.
    maxWorkers: availableParallelism() + 2,
    testTimeout: 60_000,
    hookTimeout: 60_000,
  },
})
