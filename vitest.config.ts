import { fileURLToPath } from 'node:url'

import { defineConfig } from 'vitest/config'

export default defineConfig({
  // Node loads graphql's index.js; Vite would pick index.mjs beside it, and two copies of graphql don't know each
  // other's classes.
  resolve: { alias: [{ find: /^graphql$/, replacement: 'graphql/index.js' }] },
  test: {
    include: ['test/**/*.test.ts'],
    globalSetup: ['test/support/global-setup.ts'],
    // Real processes: tests open sockets, spawn servers and look at what keeps a process alive.
    pool: 'forks',
    // Files that run in one process share what they import: loading the server anew for each took a third of the time.
    isolate: false,
    // Dozens of servers are started as processes of their own: all but the first find the source compiled.
    env: { NODE_COMPILE_CACHE: fileURLToPath(new URL('node_modules/.cache/compiled', import.meta.url)) },
    // One more than the cores of a small machine: a third of the time is spent waiting for processes that start or die.
    maxWorkers: 3,
    // Long enough for a machine that does other things too: no test measures time by it.
    testTimeout: 60_000,
    hookTimeout: 60_000,
    expect: { poll: { timeout: 30_000 } },
  },
})
