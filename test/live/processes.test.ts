import { afterAll, beforeAll, describe, expect, test } from 'vitest'

import { decodeId } from '../../src/domain/ids.ts'
import { noUsage } from '../../src/domain/models/usage.ts'
import { packEntries } from '../../src/store/runs/log-entries.ts'
import { openNotifications } from '../../src/store/database/notifications.ts'
import type { OpenDatabase } from '../../src/store/database/open-database.ts'
import { startTestApp, type TestApp } from '../support/app.ts'
import { createTestDatabase } from '../support/database.ts'
import { startFakeRedis, type FakeRedis } from '../support/fake-redis.ts'
import { hookDatabase } from '../support/gated-database.ts'
import { createGatedModel } from '../support/gated-model.ts'
import { talkTo, type Talk } from '../support/talk.ts'
import { openRunEvents, Reader, readToEnd, readUntil, storedTexts } from './reader.ts'

const model = createGatedModel()
const hasText = (text: string) => (reader: Reader) => [...reader.live.values()].includes(text)

/** An API process and a worker process. */
interface Processes {
  readonly database: OpenDatabase
  readonly api: TestApp
  readonly talk: Talk
  /** Breaks the connections between the processes. */
  breakConnections(): Promise<void>
  stop(): Promise<void>
}

/** While this is set, the poll for stored entries and the sweep's search for cancels wait for it. */
let gate: Promise<void> | undefined

async function startProcesses(redis?: FakeRedis): Promise<Processes> {
  const database = await createTestDatabase()
  const isLook = (statement: string) => statement.includes('from "runs" where id = any(')
  const db = hookDatabase(database.pool, { before: (statement) => (isLook(statement) ? gate : undefined) })
  const options = { database: { ...database, db }, providers: [model.provider] }
  const env: Record<string, string> = redis ? { REDIS_URL: redis.url } : {}
  const api = await startTestApp({ ...options, env: { ...env, HOLDPOINT_WORKERS: '0' } })
  const worker = await startTestApp({ ...options, env, role: 'worker' })
  return {
    database,
    api,
    talk: talkTo(api),
    async breakConnections() {
      const { rows } = await database.pool.query(
        `select pg_terminate_backend(pid) from pg_stat_activity
         where application_name = 'holdpoint bus' and datname = current_database()`,
      )
      const broken = redis ? redis.connections() : rows.length
      expect(broken).toBeGreaterThanOrEqual(2)
      // Nothing passes through Postgres if there is a Redis.
      if (redis) expect(rows).toEqual([])
      redis?.restart()
    },
    async stop() {
      model.assertAllTaken()
      await worker.stop()
      await api.stop()
      await database.close()
      await redis?.close()
      expect(redis?.refused ?? []).toEqual([])
    },
  }
}

describe.each([
  { bus: 'Postgres', startRedis: async () => undefined },
  { bus: 'Redis', startRedis: () => startFakeRedis({ password: 'secret' }) },
])('processes that are joined by $bus', ({ startRedis }) => {
  let processes: Processes
  let api: TestApp
  let talk: Talk

  beforeAll(async () => {
    processes = await startProcesses(await startRedis())
    ;({ api, talk } = processes)
  })
  afterAll(() => processes.stop())

  test('[BUS1] text that a worker process writes reaches a reader of an API process as it is written', async () => {
    const run = await talk.start(await talk.createAgent(), 'hi')
    const stream = openRunEvents(api, { run })
    const reader = new Reader()
    const call = await model.nextCall()
    let text = ''
    for (let word = 0; word < 20; word += 1) {
      call.say(` ${word}`)
      text += ` ${word}`
      await readUntil(stream, reader, hasText(text))
    }
    call.finish()
    await readUntil(stream, reader, () => false)
    expect(reader.end).toBe('COMPLETED')
    expect(reader.stored).toEqual(await storedTexts(api, run))
    expect(reader.stored.at(-1)![1]).toBe(text)
    await stream.close()
  })

  test('[BUS2] a reader that joins in the middle of a message gets it from its first character', async () => {
    const run = await talk.start(await talk.createAgent(), 'hi')
    const call = await model.nextCall()
    const long = 'äöü 🙂 \n"quoted" '.repeat(2_000)
    call.think('hm')
    call.part({ type: 'done', item: 'reasoning' })
    call.say(long)
    const first = openRunEvents(api, { run })
    const one = new Reader()
    await readUntil(first, one, hasText(long))
    const second = openRunEvents(api, { run })
    const two = new Reader()
    await readUntil(second, two, hasText(long))
    call.say('end')
    call.finish()
    await readUntil(first, one, () => false)
    await readUntil(second, two, () => false)
    expect(two.stored).toEqual(one.stored)
    expect(one.stored).toEqual(await storedTexts(api, run))
    expect([...(await readToEnd(api, run)).stored]).toEqual(one.stored)
    await first.close()
    await second.close()
  })

  test('[BUS3] a cancel reaches the worker of another process, and the end its readers, even without the sweep and the poll', async () => {
    const looks = Promise.withResolvers<void>()
    gate = looks.promise
    const run = await talk.start(await talk.createAgent(), 'hi')
    const call = await model.nextCall()
    call.say('half')
    const stream = openRunEvents(api, { run })
    const reader = new Reader()
    await readUntil(stream, reader, hasText('half'))
    await talk.cancel({ runId: run })
    await readUntil(stream, reader, () => false)
    expect(reader.end).toBe('CANCELLED')
    expect(reader.stored.at(-1)![1]).toBe('half')
    await stream.close()
    gate = undefined
    looks.resolve()
  })

  test('[BUS5] when the connections between processes break, they are opened again, and no text is lost', async () => {
    const run = await talk.start(await talk.createAgent(), 'hi')
    const call = await model.nextCall()
    const stream = openRunEvents(api, { run })
    const reader = new Reader()
    call.say('before')
    await readUntil(stream, reader, hasText('before'))
    await processes.breakConnections()
    call.say(' meanwhile')
    await readUntil(stream, reader, hasText('before meanwhile'))
    call.say(' after')
    await readUntil(stream, reader, hasText('before meanwhile after'))
    call.finish()
    await readUntil(stream, reader, () => false)
    expect(reader.stored).toEqual(await storedTexts(api, run))
    await stream.close()
  })
})

test('[BUS6] the poll finds stored entries that nobody announced', async () => {
  const { api, database, talk, stop } = await startProcesses()
  const run = await talk.start(await talk.createAgent(), 'hi')
  const call = await model.nextCall()
  const stream = openRunEvents(api, { run })
  const reader = new Reader()
  await readUntil(stream, reader, ({ types }) => types.includes('StepStarted'))
  // Another program ends the run, without announcing it.
  const { uuid } = decodeId(run) as { uuid: string }
  const ended = packEntries([
    { type: 'status', status: 'CANCELLED', stopReason: null, error: null, usage: { ...noUsage, steps: 0 } },
  ])
  await database.pool.query(
    `with log as (insert into run_log select id, next_seq, now(), $2 from runs where id = $1)
     update runs set next_seq = next_seq + 1, status = 'CANCELLED', finished_at = now() where id = $1`,
    [uuid, ended],
  )
  await readUntil(stream, reader, () => false)
  expect(reader.end).toBe('CANCELLED')
  await stream.close()
  call.finish()
  await stop()
})

test('[BUS7] a process that is alone sends one message when it starts, and no other, over one connection', async () => {
  const lone = await createTestDatabase()
  const payloads: string[] = []
  const ear = await openNotifications(lone, ['holdpoint'], {
    onNotification: (payload) => payloads.push(payload),
    onLost() {},
  })
  const app = await startTestApp({ database: lone, providers: [model.provider] })
  const alone = talkTo(app)
  const run = await alone.start(await alone.createAgent(), 'hi')
  const call = await model.nextCall()
  const stream = openRunEvents(app, { run })
  const reader = new Reader()
  for (const word of ['one', ' two', ' three']) call.say(word)
  await readUntil(stream, reader, hasText('one two three'))
  call.finish()
  await readUntil(stream, reader, () => false)
  await stream.close()
  const connections = await lone.pool.query(
    "select 1 from pg_stat_activity where application_name = 'holdpoint bus' and datname = current_database()",
  )
  // The app's and the one that this test listens with.
  expect(connections.rowCount).toBe(2)
  await app.stop()
  expect(payloads.map((payload) => payload.slice(payload.indexOf('[')))).toEqual(['[{"type":"hello"}]'])
  await ear.close()
  await lone.close()
})
