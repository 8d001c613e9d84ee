import { afterAll, afterEach, expect, test, vi } from 'vitest'

import { defineTool } from '../../src/tools/registry.ts'
import { startTestApp, type TestApp } from '../support/app.ts'
import { talkTo } from '../support/talk.ts'
import { createTestDatabase } from '../support/database.ts'
import { hookDatabase } from '../support/gated-database.ts'
import { createGatedModel } from '../support/gated-model.ts'

const model = createGatedModel()
const apiOnly = { HOLDPOINT_WORKERS: '0' }
const toStop: (() => Promise<void>)[] = []

/** The processes of one test are gone when the next begins, and its runs have ended. */
const database = await createTestDatabase()
afterAll(() => database.close())
afterEach(async () => {
  for (const stop of toStop.splice(0).toReversed()) await stop()
  model.assertAllTaken()
})

async function start(env: Record<string, string> = {}, given = database): Promise<TestApp> {
  const app = await startTestApp({ database: given, providers: [model.provider], tools: [steady], env })
  toStop.push(() => app.stop())
  return app
}

/** The id as the database has it. */
const uuidOf = (id: string) => id.slice(id.indexOf('_') + 1)

const steady = defineTool({
  name: 'steady',
  description: 'Goes on until it is told to stop.',
  parameters: { type: 'object' },
  run: (_args, { signal }) =>
    new Promise((_resolve, reject) => signal.addEventListener('abort', () => reject(new Error('told to stop')))),
})

test('[ENG21] a run whose announcement was lost is claimed by the poll', async () => {
  const api = talkTo(await start())
  const agent = await api.createAgent()
  // Stored as if its process had died before announcing it.
  const { rows } = await database.pool.query<{ id: string }>(
    `with c as (update conversations set next_run_number = 2, next_hold = 2, active_run_id = gen_random_uuid()
       where agent_id = $1 returning *)
     insert into runs (id, tenant_id, agent_id, conversation_id, number, hold, kind, urgent, max_steps, created_at, request,
       metadata, status, next_seq, updated_at)
     select active_run_id, tenant_id, agent_id, id, 1, 1, 'TURN', false, 50, now(),
       '{"messages":[{"role":"USER","content":[{"text":"hello"}],"clientId":null}],"clientTools":[]}', '{}', 'QUEUED', 2, now()
     from c returning id`,
    [uuidOf(agent)],
  )
  ;(await model.nextCall()).finish()
  const run = `run_${rows[0]!.id.replaceAll('-', '')}`
  expect(await api.settled(run)).toMatchObject({ status: 'COMPLETED', attempts: 1 })
})

test('[ENG22] a run whose worker is unknown is freed', async () => {
  const api = talkTo(await start(apiOnly))
  const run = await api.start(await api.createAgent(), 'hello')
  await database.pool.query('update runs set lease = gen_random_uuid(), worker_id = gen_random_uuid() where id = $1', [
    uuidOf(run),
  ])
  await start()
  ;(await model.nextCall()).finish()
  expect(await api.settled(run)).toMatchObject({ status: 'COMPLETED' })
})

test('[ENG23] a process without a free place leaves runs to the others', async () => {
  const busy = talkTo(await start({ HOLDPOINT_WORKERS: '1' }))
  const agents = [await busy.createAgent(), await busy.createAgent(), await busy.createAgent()]
  const runs = [await busy.start(agents[0]!, 'one')]
  const calls = [await model.nextCall()]
  await start({ HOLDPOINT_WORKERS: '2' })
  for (const agent of agents.slice(1)) {
    runs.push(await busy.start(agent, 'another'))
    calls.push(await model.nextCall())
  }
  for (const call of calls) call.finish()
  for (const run of runs) expect(await busy.settled(run)).toMatchObject({ status: 'COMPLETED', attempts: 1 })
})

test('[ENG37] a server that drains is alive but not ready', async () => {
  const app = await start()
  const talk = talkTo(app)
  const at = (path: string) => fetch(new URL(path, app.url)).then(({ status }) => status)
  const run = await talk.start(await talk.createAgent(), 'hello')
  const call = await model.nextCall()
  expect([await at('/healthz'), await at('/readyz')]).toEqual([200, 200])
  const stopped = app.stop()
  expect([await at('/healthz'), await at('/readyz')]).toEqual([200, 503])
  call.say('Hello.')
  call.finish()
  expect(await talk.settled(run)).toMatchObject({ status: 'COMPLETED' })
  await stopped
})

test('[ENG62] a client that waits for a run is answered when its server stops', async () => {
  // Its run stays in the queue.
  const own = await createTestDatabase()
  toStop.push(() => own.close())
  const app = await start(apiOnly, own)
  const talk = talkTo(app)
  const agentId = await talk.createAgent()
  const run = await talk.start(agentId, 'hello')
  const waiting = app.request('query ($id: ID!) { run(id: $id, waitMs: 300000) { status } }', { id: run })
  const metrics = () => fetch(new URL('/metrics', app.url)).then((response) => response.text())
  await expect.poll(metrics).toMatch(/^holdpoint_subscribers\S* 1$/m)
  await app.stop()
  expect(await waiting).toMatchObject({ status: 200, data: { run: { status: 'QUEUED' } } })
})

test('[ENG24] a drained run is handed back and resumes at once, and neither its attempt nor its tool is a failure', async () => {
  const first = await start({ HOLDPOINT_DRAIN_MS: '100' })
  const api = talkTo(await start(apiOnly))
  const agent = await api.createAgent({ tools: ['steady'] })
  const asking = await api.start(agent, 'hello')
  const call = await model.nextCall()
  const running = await api.start(await api.createAgent({ tools: ['steady'] }), 'use it')
  const using = await model.nextCall()
  using.call('steady', {})
  using.finish()
  await toolRuns()

  await start()
  await first.stop()
  await call.aborted
  const [again, after] = [await model.nextCall(), await model.nextCall()].toSorted(
    (one, other) => one.request.messages.length - other.request.messages.length,
  )
  expect(after!.request.messages.at(-1)).toMatchObject({
    role: 'tool',
    returns: [{ failed: true, output: expect.stringContaining('Whether it took effect is unknown') }],
  })
  again!.finish()
  after!.finish()
  for (const run of [asking, running]) {
    expect(await api.settled(run)).toMatchObject({ status: 'COMPLETED', attempts: 2 })
  }
  const { rows } = await database.pool.query('select distinct deaths from runs where id = any($1)', [
    [asking, running].map(uuidOf),
  ])
  expect(rows).toEqual([{ deaths: 0 }])
})

async function toolRuns(): Promise<void> {
  for (;;) {
    const { rows } = await database.pool.query(`select from tool_calls where status = 'RUNNING'`)
    if (rows.length > 0) return
    await new Promise((resolve) => setTimeout(resolve, 5))
  }
}

test('[ENG25] a worker that loses its lock lets go of its runs, and starts a new session', async () => {
  const app = await start()
  const api = talkTo(app)
  const run = await api.start(await api.createAgent(), 'hello')
  const call = await model.nextCall()
  const { rows: before } = await database.pool.query('select id from workers')
  await database.pool.query(
    `select pg_terminate_backend(pid) from pg_stat_activity
     where datname = current_database() and application_name = 'holdpoint worker'`,
  )
  await call.aborted
  const again = await model.nextCall()
  again.say('here again')
  again.finish()
  expect(await api.settled(run)).toMatchObject({ status: 'COMPLETED', answer: 'here again', attempts: 2 })
  const { rows: after } = await database.pool.query('select id from workers')
  expect(after).toHaveLength(1)
  expect(after).not.toEqual(before)
})

test('[ENG26] connections that repeatedly break during a checkpoint cost only time', async () => {
  const api = talkTo(await start())
  const run = await api.start(await api.createAgent(), 'hello')
  const call = await model.nextCall()
  const locker = await lockRows('runs')
  call.say('yes')
  call.finish()
  for (let count = 0; count < 4; count += 1) await locker.breakWaiting()
  await locker.unlock()
  // The query may get a connection that just broke, and then asks to be tried again.
  const ended = await vi.waitUntil(() => api.settled(run).catch(() => undefined), { timeout: 15_000 })
  expect(ended).toMatchObject({ status: 'COMPLETED', answer: 'yes', attempts: 1 })
  expect(ended.messages.nodes).toHaveLength(2)
})

test('[ENG35] a claim whose result was lost with its connection does not block the run', async () => {
  let lost = 0
  const db = hookDatabase(database.pool, {
    after(statement) {
      if (!statement.includes('claimed as') || lost === 1) return
      lost += 1
      throw new Error('Connection terminated unexpectedly')
    },
  })
  // The process that stores it has no worker, so the other one's first claim finds it.
  const api = talkTo(await start(apiOnly))
  const run = await api.start(await api.createAgent(), 'hello')
  await start({}, { ...database, db })
  ;(await model.nextCall()).finish()
  expect(await api.settled(run)).toMatchObject({ status: 'COMPLETED' })
  expect(lost).toBe(1)
})

test('[ENG57] a run is stored as claimed by the worker of its process, which drives it without a claim', async () => {
  let claims = 0
  const db = hookDatabase(database.pool, {
    before(statement) {
      if (statement.includes('claimed as')) claims += 1
    },
  })
  const api = talkTo(await start({}, { ...database, db }))
  const agent = await api.createAgent()
  await expect.poll(() => claims).toBeGreaterThan(0)
  const { rows } = await database.pool.query<{ id: string }>('select id from workers')
  const run = await api.start(agent, 'hello')
  const stored = await database.pool.query('select worker_id, attempts from runs where id = $1', [uuidOf(run)])
  expect(stored.rows).toEqual([{ worker_id: rows[0]!.id, attempts: 1 }])
  ;(await model.nextCall()).finish()
  expect(await api.settled(run)).toMatchObject({ status: 'COMPLETED', attempts: 1 })
})

test('[ENG57] a run is driven even if the result of accepting it was lost with the connection', async () => {
  let lost = 0
  const db = hookDatabase(database.pool, {
    after(statement) {
      if (!statement.includes('insert into runs') || lost === 1) return
      lost += 1
      throw new Error('Connection terminated unexpectedly')
    },
  })
  const app = await start({}, { ...database, db })
  const api = talkTo(app)
  const agent = await api.createAgent()
  const sent = await app.request(
    `mutation ($agent: ID!) {
      sendMessage(input: { to: { agentId: $agent }, messages: [{ text: "hello" }] }) { __typename }
    }`,
    { agent },
  )
  expect(sent.errors).toMatchObject([{ extensions: { code: 'UNAVAILABLE' } }])
  ;(await model.nextCall()).finish()
  const { rows } = await database.pool.query<{ id: string }>('select id from runs where agent_id = $1', [uuidOf(agent)])
  expect(rows).toHaveLength(1)
  const run = `run_${rows[0]!.id.replaceAll('-', '')}`
  expect(await api.settled(run)).toMatchObject({ status: 'COMPLETED' })
  expect(lost).toBe(1)
})

test('[ENG39] a stored lease that its worker does not know of is cleared, and runs that the worker drives are left alone', async () => {
  const api = talkTo(await start({ HOLDPOINT_WORKERS: '1' }))
  const runs = [await api.start(await api.createAgent(), 'one')]
  const call = await model.nextCall()
  runs.push(await api.start(await api.createAgent(), 'another'))
  // As if a claim had been committed but its result had been lost.
  await database.pool.query(
    'update runs set lease = gen_random_uuid(), worker_id = (select id from workers) where lease is null and not ended',
  )
  const leases = async () => (await database.pool.query('select from runs where lease is not null')).rowCount
  expect(await leases()).toBe(2)
  await expect.poll(leases, { timeout: 15_000 }).toBe(1)
  const { rows } = await database.pool.query('select from runs where deaths > 0 and id = any($1)', [runs.map(uuidOf)])
  expect(rows).toEqual([])
  call.finish()
  ;(await model.nextCall()).finish()
  for (const run of runs) expect(await api.settled(run)).toMatchObject({ status: 'COMPLETED', attempts: 1 })
})

/** Keeps others from changing the table's rows. Connections that wait for that are broken on request. */
async function lockRows(table: string) {
  const locker = await database.pool.connect()
  await locker.query('begin')
  await locker.query(`select from ${table} for update`)
  const broken: number[] = []
  return {
    /** Breaks connections that are not broken yet. */
    async breakWaiting() {
      const before = broken.length
      while (broken.length === before) {
        // Within a transaction, Postgres shows the connections as of the first query.
        await locker.query('select pg_stat_clear_snapshot()')
        const { rows } = await locker.query<{ pid: number }>(
          `select pid, pg_terminate_backend(pid) from pg_stat_activity
           where datname = current_database() and pg_backend_pid() = any(pg_blocking_pids(pid)) and pid <> all($1)`,
          [broken],
        )
        broken.push(...rows.map(({ pid }) => pid))
      }
    },
    async unlock() {
      await locker.query('rollback')
      locker.release()
    },
  }
}
