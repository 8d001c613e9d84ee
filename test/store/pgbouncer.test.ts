import { afterAll, beforeAll, describe, expect, inject, test } from 'vitest'

import { openStore, type Store } from '../../src/store/database/open-store.ts'
import { createLog } from '../../src/util/log.ts'
import { openRunEvents, Reader, readUntil, storedTexts } from '../live/reader.ts'
import { startTestApp, type TestApp } from '../support/app.ts'
import { createEmptyDatabase } from '../support/database.ts'
import { createGatedModel } from '../support/gated-model.ts'
import { havePgBouncer, startPgBouncer } from '../support/pgbouncer.ts'
import { spawnMain } from '../support/server-process.ts'
import { talkTo, type Talk } from '../support/talk.ts'

const model = createGatedModel()
const log = createLog('error')

// Fewer sessions than the processes have connections, given in turn, and no settings that exist for us.
const settings = 'default_pool_size = 4\nserver_round_robin = 1'

describe.skipIf(!havePgBouncer)('[DB7] processes behind PgBouncer in transaction mode, with a direct address', () => {
  let stores: Store[] = []
  let stopPgBouncer = () => {}
  let api: TestApp
  let worker: TestApp
  let talk: Talk
  let direct: string
  let closeDatabase: () => Promise<void>

  beforeAll(async () => {
    const database = await createEmptyDatabase()
    direct = database.url
    closeDatabase = () => database.close()
    const url = await startPgBouncer('transaction', {
      ...{ database: direct, settings },
      atEnd: (stop) => (stopPgBouncer = stop),
    })
    // The database is empty, and both migrate it.
    const open = () => openStore({ url, directUrl: direct, dataDir: '', poolSize: 20, log })
    stores = await Promise.all([open(), open()])
    const providers = [model.provider]
    api = await startTestApp({ database: stores[0]!.database, providers, env: { HOLDPOINT_WORKERS: '0' } })
    worker = await startTestApp({ database: stores[1]!.database, providers, role: 'worker' })
    talk = talkTo(api)
  })
  afterAll(async () => {
    await worker.stop()
    await api.stop()
    await Promise.all(stores.map(({ close }) => close()))
    await closeDatabase()
    stopPgBouncer()
    model.assertAllTaken()
  })

  test('text arrives as it is written, cancels work, and many runs at once are driven to their ends', async () => {
    const agent = await talk.createAgent()
    const run = await talk.start(agent, 'hi')
    const call = await model.nextCall()
    const stream = openRunEvents(api, { run })
    const reader = new Reader()
    call.say('as it is written')
    await readUntil(stream, reader, ({ live }) => [...live.values()].includes('as it is written'))
    call.finish()
    await readUntil(stream, reader, () => false)
    await stream.close()
    expect(reader.stored).toEqual(await storedTexts(api, run))

    const second = await talk.start(agent, 'again')
    const cut = await model.nextCall()
    await talk.cancel({ runId: second })
    await cut.aborted
    expect((await talk.settled(second)).status).toBe('CANCELLED')

    const many = await Promise.all(
      Array.from({ length: 30 }, async () => talk.start(await talk.createAgent(), 'one of many')),
    )
    for (const _ of many) {
      const next = await model.nextCall()
      next.say('done')
      next.finish()
    }
    const ended = await Promise.all(many.map((id) => talk.settled(id, 'answer')))
    expect(ended.map(({ status, answer }) => [status, answer])).toEqual(many.map(() => ['COMPLETED', 'done']))
  })

  test('what needs a session has one, past the pooler, and nothing else does', async () => {
    const { rows } = await stores[0]!.database.pool.query(
      `select application_name as name, count(*)::int as count from pg_stat_activity
       where datname = current_database() group by 1 order by 1`,
    )
    const counts = Object.fromEntries(rows.map(({ name, count }) => [name, count]))
    expect(counts).toMatchObject({ 'holdpoint bus': 2, 'holdpoint worker': 1 })
    const { rows: held } = await stores[0]!.database.pool.query(
      `select distinct application_name as name from pg_locks join pg_stat_activity using (pid)
       where locktype = 'advisory' and datname = current_database()`,
    )
    expect(held).toEqual([{ name: 'holdpoint worker' }])
  })
})

test('[DB7] a direct address without DATABASE_URL stops the start with one line', async () => {
  const server = spawnMain(['serve'], { DATABASE_DIRECT_URL: inject('postgres').url })
  expect(await server.ended).toMatchObject({ code: 1 })
  expect(server.stderr()).toBe(
    'holdpoint: DATABASE_DIRECT_URL is set and DATABASE_URL is not: without a pooler, set DATABASE_URL alone.\n',
  )
})
