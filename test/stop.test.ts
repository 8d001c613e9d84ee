import { setImmediate as tick } from 'node:timers/promises'

import { afterAll, expect, test } from 'vitest'

import { createApp, type App } from '../src/app.ts'
import { readConfig } from '../src/config/config.ts'
import { createLog } from '../src/util/log.ts'
import { startTestApp } from './support/app.ts'
import { createTestDatabase } from './support/database.ts'
import { hookDatabase, type StatementHooks } from './support/gated-database.ts'
import { createGatedModel } from './support/gated-model.ts'
import { keepOutput } from './support/kept-output.ts'
import { talkTo } from './support/talk.ts'

const model = createGatedModel()

const database = await createTestDatabase()
afterAll(() => database.close())

/** An app whose statements pass through hooks. */
function appWith(hooks: StatementHooks): Promise<App> {
  const config = readConfig({ PORT: '0', HOLDPOINT_HEALTH_PORT: '0', HOLDPOINT_DRAIN_MS: '2000' })
  const log = createLog('trace', { write: keepOutput })
  const hooked = { ...database, db: hookDatabase(database.pool, hooks) }
  return createApp({ config, log, database: hooked, role: 'serve', providers: [model.provider] })
}

/** Timers and servers of this process. Each idle connection of the pool has a timer. */
function openHere(): { readonly timers: number; readonly servers: number } {
  const open = process.getActiveResourcesInfo()
  const count = (name: string) => open.filter((one) => one === name).length
  return { timers: count('Timeout') - database.pool.idleCount, servers: count('TCPServerWrap') }
}

/** Workers, and connections that do not belong to the pool. */
async function openInDatabase(): Promise<string[]> {
  const { rows } = await database.pool.query<{ name: string }>(`
    select id::text as name from workers union all
    select application_name from pg_stat_activity where datname = current_database() and application_name <> 'holdpoint'`)
  return rows.map(({ name }) => name)
}

async function expectNothingOpen(before: ReturnType<typeof openHere>): Promise<void> {
  // A connection that was closed here may be shown for a moment.
  await expect.poll(openInDatabase).toEqual([])
  await tick()
  const { timers, servers } = openHere()
  expect(servers).toBe(before.servers)
  expect(timers).toBeLessThanOrEqual(before.timers)
}

test('[OPS70] a worker that is stopped while it opens its session claims nothing and leaves nothing open', async () => {
  const before = openHere()
  const api = await startTestApp({ database, providers: [model.provider], env: { HOLDPOINT_WORKERS: '0' } })
  const talk = talkTo(api)
  const run = await talk.start(await talk.createAgent(), 'hello')
  const [reached, gate] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()]
  const app = await appWith({
    async before(statement) {
      if (!statement.includes('insert into workers')) return
      reached.resolve()
      await gate.promise
    },
  })
  const started = app.start()
  await reached.promise
  const stopped = app.stop()
  gate.resolve()
  await Promise.all([started, stopped])
  expect(model.requests).toEqual([])
  expect(await talk.run(run, 0, 'status attempts')).toEqual({ status: 'QUEUED', attempts: 0 })
  await talk.cancel({ runId: run })
  await api.stop()
  await expectNothingOpen(before)
  for (const again of [app.start(), app.attach()]) await expect(again).rejects.toThrow('was started or stopped before')
})

test('[OPS70] a stop before any statement of a start leaves nothing open', async () => {
  for (let place = 0, isInStart = true; isInStart; place += 1) {
    const before = openHere()
    let statements: number | undefined
    let stopped: Promise<void> | undefined
    const app = await appWith({
      before() {
        if (statements === undefined) return
        if (statements === place) stopped = app.stop()
        statements += 1
      },
    })
    statements = 0
    await app.start()
    isInStart = stopped !== undefined
    await (stopped ?? app.stop())
    await expectNothingOpen(before)
  }
})

test('[OPS70] a stop at any other moment of a start leaves nothing open', async () => {
  for (const ticks of [0, 1, 2, 3, 5, 8, 13, 21, 34, 55, 89, 144]) {
    const before = openHere()
    const app = await appWith({})
    const started = app.start()
    for (let count = 0; count < ticks; count += 1) await tick()
    await Promise.all([app.stop(), started])
    await expectNothingOpen(before)
  }
})
