import { fileURLToPath } from 'node:url'

import { defineConfig } from 'vitest/config'
import { BaseSequencer, type TestSpecification } from 'vitest/node'

/** The files that take longest, in order. If one of them started last, a single worker would be busy at the end. */
const slow = [
  'test/console/journeys.test.ts',
  'test/main.test.ts',
  'test/crash/processes.test.ts',
  'test/release/hostile/endless-answers.test.ts',
  'test/release/package.test.ts',
  'test/release/large/turns.test.ts',
  'test/release/outage/outage.test.ts',
  'test/release/demo.test.ts',
  'test/crash/crash.test.ts',
  'test/release/large/lists.test.ts',
  'test/release/large/console.test.ts',
  'test/release/hostile/scripts.test.ts',
  'test/release/providers.test.ts',
  'test/release/large/inputs.test.ts',
  'test/release/backup.test.ts',
  'test/release/examples-in-browser.test.ts',
  'test/release/graphiql-tour.test.ts',
  'test/release/embedded.test.ts',
  'test/release/soak.test.ts',
  'test/crash/files.test.ts',
  'test/console/access.test.ts',
  'test/auth/tenants.test.ts',
  'test/telemetry/traces.test.ts',
  'test/cancel/processes.test.ts',
  'test/console/contract.test.ts',
  'test/cancel/race.test.ts',
  'test/engine/recovery.test.ts',
  'test/providers/streams.test.ts',
  'test/crash/branches.test.ts',
  'test/live/buses.test.ts',
  'test/engine/cost.test.ts',
  'test/release/examples.test.ts',
  'test/graphql/branches.test.ts',
  'test/client/follow.test.ts',
  'test/live/unavailable-database.test.ts',
  'test/engine/suspicions.test.ts',
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

// As `npm start` does: the libraries run without their checks for development, which take time. Vitest would set
// `test`.
process.env['NODE_ENV'] = 'production'

export default defineConfig({
  test: {
    include: ['test/**/*.test.ts'],
    globalSetup: ['test/support/global-setup.ts'],
    sequence: { sequencer: SlowFirst },
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
