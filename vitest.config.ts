import { fileURLToPath } from 'node:url'

import { defineConfig } from 'vitest/config'
import { BaseSequencer, type TestSpecification } from 'vitest/node'

/** The files that take longest, in order. If one of them started last, a single worker would be busy at the end. */
const slow = [
  'test/console/journeys.test.ts',
  'test/outage/silence.test.ts',
  'test/auth/tenants.test.ts',
  'test/crash/processes.test.ts',
  'test/store/embedded.test.ts',
  'test/main.test.ts',
  'test/package/package.test.ts',
  'test/engine/cost.test.ts',
  'test/telemetry/traces.test.ts',
  'test/server/graphiql-tour.test.ts',
  'test/backup.test.ts',
  'test/demo.test.ts',
  'test/providers/limits.test.ts',
  'test/console/access.test.ts',
  'test/soak.test.ts',
  'test/examples-in-browser.test.ts',
  'test/crash/crash.test.ts',
  'test/crash/files.test.ts',
  'test/console/contract.test.ts',
  'test/client/follow.test.ts',
  'test/outage/outage.test.ts',
  'test/live/readers.test.ts',
  'test/auth/limited.test.ts',
  'test/cancel/processes.test.ts',
  'test/approvals/processes.test.ts',
  'test/cancel/race.test.ts',
]

class SlowFirst extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const place = ({ moduleId }: TestSpecification) => {
      const found = slow.findIndex((file) => moduleId.endsWith(file))
      return found < 0 ? slow.length : found
    }
    return (await super.sort(files)).toSorted((one, other) => place(one) - place(other))
  }
}

export default defineConfig({
  // Node loads graphql's index.js. Vite would pick index.mjs beside it, and two copies of graphql don't know each
  // other's classes.
  resolve: { alias: [{ find: /^graphql$/, replacement: 'graphql/index.js' }] },
  test: {
    include: ['test/**/*.test.ts'],
    globalSetup: ['test/support/global-setup.ts'],
    sequence: { sequencer: SlowFirst },
    // Real processes: tests open sockets, spawn servers and look at what keeps a process alive.
    pool: 'forks',
    // Files that run in one process share what they import: loading the server again for each took a third of the time.
    isolate: false,
    // Tests start dozens of servers as separate processes. All but the first find the source compiled.
    env: { NODE_COMPILE_CACHE: fileURLToPath(new URL('node_modules/.cache/compiled', import.meta.url)) },
    // One more than the cores of a small machine, because a third of the time is spent waiting for processes to start
    // or die.
    maxWorkers: 3,
    // Long enough for a busy machine. No test measures time with it.
    testTimeout: 60_000,
    hookTimeout: 60_000,
    expect: { poll: { interval: 10, timeout: 30_000 } },
    coverage: {
      provider: 'v8',
      include: ['src/**/*.ts'],
      reporter: ['text-summary', 'html'],
      reportsDirectory: 'coverage',
    },
  },
})
