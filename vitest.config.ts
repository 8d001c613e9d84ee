import { fileURLToPath } from 'node:url'

import { defineConfig } from 'vitest/config'

// As `npm start` does: the libraries run without their checks for development, which take time. Vitest would set
// `test`.
process.env['NODE_ENV'] = 'production'

export default defineConfig({
  test: {
    include: ['test/**/*.test.ts'],
    globalSetup: ['test/support/global-setup.ts'],
    // Real processes: tests open sockets, spawn servers and look at what keeps a process alive.
    pool: 'forks',
    // Node loads the tests and the source as it loads the server. Vite would rewrite every import into a call, which
    // costs 5 to 10 % of the suite's time.
    experimental: { viteModuleRunner: false, nodeLoader: false },
    // Files that run in one process share what they import: loading the server again for each took a third of the time.
    isolate: false,
    // Tests start dozens of servers as separate processes. All but the first find the source compiled.
    env: { NODE_COMPILE_CACHE: fileURLToPath(new URL('node_modules/.cache/compiled', import.meta.url)) },
    // Twice the cores of a small machine, because much time is spent waiting for processes to start or die.
    maxWorkers: 4,
    // Long enough for a busy machine. No test measures time with it.
    testTimeout: 60_000,
    hookTimeout: 60_000,
    expect: { poll: { interval: 25, timeout: 30_000 } },
    coverage: {
      provider: 'v8',
      include: ['src/**/*.ts'],
      reporter: ['text-summary', 'html'],
      reportsDirectory: 'coverage',
    },
  },
})
