import { randomUUID } from 'node:crypto'

import { afterEach, expect, test, vi } from 'vitest'

import { deleteExpired } from '../../src/store/expired.ts'
import { freeRunsOfTheDead } from '../../src/store/workers/leases.ts'
import type { OpenDatabase } from '../../src/store/database/open-database.ts'
import { defineTool } from '../../src/tools/registry.ts'
import { startTestApp, type TestApp } from '../support/app.ts'
import { talkTo } from '../support/talk.ts'
import { createTestDatabase } from '../support/database.ts'
import { hookDatabase } from '../support/gated-database.ts'
import { createGatedModel } from '../support/gated-model.ts'

const model = createGatedModel()
let executions = 0
const effect = defineTool({
  name: 'effect',
  description: 'Must not run twice.',
  parameters: { type: 'object' },
  run: () => `done ${(executions += 1)}`,
})
const toStop: (() => Promise<void>)[] = []

afterEach(async () => {
  vi.useRealTimers()
  for (const stop of toStop.splice(0).toReversed()) await stop()
  model.assertAllTaken()
  executions = 0
})

async function openDatabase(): Promise<OpenDatabase> {
  const database = await createTestDatabase()
  toStop.push(() => database.close())
  return database
}

async function start(database: OpenDatabase): Promise<TestApp> {
  const app = await startTestApp({ database, providers: [model.provider], tools: [effect] })
  toStop.push(() => app.stop())
  return app
}

test('[ENG40] checkpoints that a full disk, a timeout and a broken connection refuse are stored once the database recovers', async () => {
  const database = await openDatabase()
  const api = talkTo(await start(database))
  const run = await api.start(await api.createAgent({ tools: ['effect'] }), 'hello')
  const first = await model.nextCall()
  // The answer that calls the tool, the tool's result and the last answer: each fails several times.
  await failInserts(database, ['53100', '57014', '53100', '57014', '53100'])
  first.call('effect', {})
  first.finish()
  const second = await model.nextCall()
  await failInserts(database, ['57014', '53100', '53100', '53100'])
  second.say('all good')
  second.finish()
  expect(await api.settled(run)).toMatchObject({
    status: 'COMPLETED',
    answer: 'all good',
    attempts: 1,
    steps: [{ toolCalls: [{ status: 'SUCCEEDED', result: { output: 'done 1' } }] }, {}],
  })
})

/** The next inserts into the log fail with these codes, one after another. */
async function failInserts({ pool }: OpenDatabase, codes: readonly string[]): Promise<void> {
  await pool.query(`drop sequence if exists failures; create sequence failures minvalue 0 start 0`)
  await pool.query(`
    create or replace function fail_insert() returns trigger language plpgsql as $$
    declare
      codes text[] := '{${codes.join(',')}}';
      attempt integer := nextval('failures');
    begin
      if attempt < cardinality(codes) then raise exception 'a fault' using errcode = codes[attempt + 1]; end if;
      return new;
    end $$`)
  await pool.query('create or replace trigger failing before insert on run_log execute function fail_insert()')
}

test('[ENG41] a checkpoint whose connection broke after the commit is not repeated', async () => {
  const database = await openDatabase()
  let lost = 0
  const db = hookDatabase(database.pool, {
    after(statement) {
      if (!/insert into tool_calls|update tool_calls|release_conversation/.test(statement)) return
      lost += 1
      throw Object.assign(new Error('Connection terminated unexpectedly'))
    },
  })
  const api = talkTo(await start({ ...database, db }))
  const run = await api.start(await api.createAgent({ tools: ['effect'] }), 'hello')
  const first = await model.nextCall()
  first.call('effect', {})
  first.finish()
  const second = await model.nextCall()
  second.say('all good')
  second.finish()
  const ended = await api.settled(run)
  expect(lost).toBe(3)
  expect(ended).toMatchObject({
    status: 'COMPLETED',
    attempts: 1,
    steps: [{ toolCalls: [{ status: 'SUCCEEDED', result: { output: 'done 1' } }] }, {}],
  })
  expect(ended.messages.nodes).toHaveLength(4)
})

test('[ENG42] a server whose clock is two days ahead uses the time of the database', async () => {
  vi.useFakeTimers({ toFake: ['Date'], now: Date.now() + 2 * 24 * 60 * 60 * 1_000 })
  const database = await openDatabase()
  const api = talkTo(await start(database))
  const agent = await api.createAgent()
  const first = await api.start(agent, 'hello', { idempotencyKey: 'key' })
  ;(await model.nextCall()).finish()
  await api.settled(first)
  const { rows } = await database.pool.query<{ late: boolean; id_late: boolean }>(
    `select greatest(created_at, started_at, finished_at, updated_at) > clock_timestamp() as late,
       ('x' || left(replace(id::text, '-', ''), 12))::bit(48)::bigint > extract(epoch from clock_timestamp()) * 1000 as id_late
     from runs`,
  )
  expect(rows).toEqual([{ late: false, id_late: false }])
  // A key that is two days old by the wrong clock cannot be used again yet.
  expect((await api.send(agent, 'hello', { idempotencyKey: 'key' })).run).toMatchObject({ id: first })
})

test('[ENG43] idempotency keys are deleted once they can be used again', async () => {
  const database = await openDatabase()
  const api = talkTo(await start(database))
  const agent = await api.createAgent()
  for (const idempotencyKey of ['old', 'young']) {
    const run = await api.start(agent, 'hello', { idempotencyKey })
    ;(await model.nextCall()).finish()
    await api.settled(run)
  }
  await database.pool.query(
    `update idempotency_keys set created_at = now() - interval '24 hours' where key = 'old';
     insert into idempotency_keys select tenant_id, mutation, 'many ' || n, input_hash, object_id, created_at, actor_kind, actor_id
     from idempotency_keys, generate_series(1, 2500) n where key = 'old'`,
  )
  await deleteExpired(database.db, { now: new Date(), keepRequestsMs: 0, keepDeliveriesMs: 0 })
  expect((await database.pool.query('select key from idempotency_keys')).rows).toEqual([{ key: 'young' }])
})

test('[ENG44] a death counts for every run of the worker, or only for the suspect if one was among them', async () => {
  const database = await openDatabase()
  const api = talkTo(await start(database))
  for (let count = 0; count < 5; count += 1) await api.start(await api.createAgent(), 'hello')
  const calls = []
  for (let count = 0; count < 5; count += 1) calls.push(await model.nextCall())
  const [dead, other] = [randomUUID(), randomUUID()]
  const { rows: made } = await database.pool.query<{ id: string }>('select id from runs order by id')
  const ids = made.map(({ id }) => id)
  // In one statement, so that the server's own sweep does not run in between.
  await database.pool.query(
    `update runs set worker_id = given.worker, lease = gen_random_uuid(), deaths = given.deaths
     from unnest($1::uuid[], $2::uuid[], $3::integer[]) given(id, worker, deaths) where runs.id = given.id`,
    [ids.slice(0, 4), [dead, dead, dead, other], [2, 1, 0, 1]],
  )
  // The server's own sweep may be faster than this.
  await freeRunsOfTheDead(database.db)
  const { rows } = await database.pool.query<{ id: string; deaths: number }>('select id, deaths from runs order by id')
  expect(new Map(rows.map(({ id, deaths }) => [id, deaths]))).toEqual(
    new Map(ids.map((id, run) => [id, [3, 1, 0, 2, 0][run]!])),
  )
  for (const call of calls) call.finish()
})
