import { randomUUID } from 'node:crypto'

import pg from 'pg'
import { afterAll, afterEach, expect, test } from 'vitest'

import { insertWorker } from '../../src/store/workers/workers.ts'
import { defineTool } from '../../src/tools/registry.ts'
import { startTestApp, type TestAppOptions } from '../support/app.ts'
import { createTestDatabase } from '../support/database.ts'
import { hookDatabase } from '../support/gated-database.ts'
import { createGatedModel } from '../support/gated-model.ts'
import { createTalkingModel } from '../support/talking-model.ts'
import { talkTo } from '../support/talk.ts'

const model = createGatedModel()
const toStop: (() => Promise<void>)[] = []

/** The processes of one test are gone when the next begins, and its runs have ended. */
const database = await createTestDatabase()
afterAll(() => database.close())
afterEach(async () => {
  for (const stop of toStop.splice(0).toReversed()) await stop()
  model.assertAllTaken()
})

async function start(options: TestAppOptions = {}) {
  const app = await startTestApp({ database, providers: [model.provider], ...options })
  toStop.push(() => app.stop())
  return app
}

async function connect(): Promise<pg.Client> {
  const client = new pg.Client({ connectionString: database.url })
  await client.connect()
  toStop.push(() => client.end())
  return client
}

/** The id as the database has it. */
const uuidOf = (id: string) => id.slice(id.indexOf('_') + 1)

let executions = 0
const fetchIt = defineTool({
  name: 'fetch_it',
  description: '',
  parameters: { type: 'object' },
  run: () => `a text that kills whoever counts its tokens ${(executions += 1)}`,
})

test('[ENG51] no tool starts before the answer that calls it is stored', async () => {
  executions = 0
  const reached = Promise.withResolvers<void>()
  const opened = Promise.withResolvers<void>()
  const db = hookDatabase(database.pool, {
    async before(statement) {
      if (!statement.includes('insert into tool_calls')) return
      reached.resolve()
      await opened.promise
    },
  })
  const api = talkTo(await start({ database: { ...database, db }, tools: [fetchIt] }))
  const run = await api.start(await api.createAgent({ tools: ['fetch_it'] }), 'hello')
  const first = await model.nextCall()
  first.call('fetch_it', {})
  first.finish()
  await reached.promise
  // Anything started by now has run.
  for (let turn = 0; turn < 20; turn += 1) await new Promise((resolve) => setImmediate(resolve))
  expect(executions).toBe(0)
  opened.resolve()
  ;(await model.nextCall()).finish()
  expect((await api.settled(run)).status).toBe('COMPLETED')
  expect(executions).toBe(1)
})

test('[ENG52] a tool return that kills workers leaves the context when its run is failed as poison', async () => {
  const api = talkTo(await start({ tools: [fetchIt] }))
  const agent = await api.createAgent({ tools: ['fetch_it'] })
  const run = await api.start(agent, 'hello')
  const first = await model.nextCall()
  first.call('fetch_it', {})
  first.finish()
  const second = await model.nextCall()
  // As if three workers had died of it.
  await database.pool.query('update runs set deaths = 3, lease = null, worker_id = null where id = $1', [uuidOf(run)])
  second.finish()
  expect(await api.settled(run)).toMatchObject({
    status: 'FAILED',
    error: { message: expect.stringContaining('given up') },
  })
  const after = await api.start(agent, 'and now?')
  const next = await model.nextCall()
  expect(JSON.stringify(next.request.messages)).not.toContain('a text that kills')
  next.finish()
  await api.settled(after)
})

test('[ENG53] handing back a run never counts as a death, however often it happens', async () => {
  const api = talkTo(await start({ env: { HOLDPOINT_WORKERS: '0' } }))
  const run = await api.start(await api.createAgent(), 'hello')
  for (let count = 0; count < 4; count += 1) {
    const app = await startTestApp({ database, providers: [model.provider], env: { HOLDPOINT_DRAIN_MS: '0' } })
    const call = await model.nextCall()
    await app.stop()
    await call.aborted
    const { rows } = await database.pool.query('select deaths, lease, claimable from runs where id = $1', [uuidOf(run)])
    expect(rows).toEqual([{ deaths: 0, lease: null, claimable: true }])
  }
  await start()
  ;(await model.nextCall()).finish()
  expect((await api.settled(run)).status).toBe('COMPLETED')
})

test('[ENG54] a sleeptime group can be deleted while its agent writes its persona', async () => {
  const hold = Promise.withResolvers<void>()
  const asked = Promise.withResolvers<void>()
  const isBackground = (messages: readonly unknown[]) => JSON.stringify(messages).includes('You work in the background')
  const models = createTalkingModel({
    main: {
      window: 20_000,
      answer: async ({ messages }) => {
        if (!isBackground(messages)) return { text: 'Understood.' }
        asked.resolve()
        await hold.promise
        if (messages.at(-1)!.role === 'tool') return { text: 'done' }
        return {
          calls: [{ name: 'memory_rethink', args: { label: 'memory_persona', new_memory: 'I am new.' } }],
        }
      },
    },
  })
  const app = await start({ providers: [models.provider] })
  const api = talkTo(app)
  const agent = await api.createAgent({ model: 'talk/main' })
  const { createSleeptimeGroup } = await app.data(
    'mutation ($input: CreateSleeptimeGroupInput!) { createSleeptimeGroup(input: $input) { group { id } } }',
    { input: { agentId: agent, frequency: 1 } },
  )
  await api.settled(await api.start(agent, 'hello'))
  await asked.promise
  const gate = await connect()
  await gate.query('begin')
  await gate.query(`select from blocks where label = 'memory_persona' for update`)
  hold.resolve()
  await waiting('%given_runs%')
  const deleting = app.request(
    'mutation ($input: DeleteSleeptimeGroupInput!) { deleteSleeptimeGroup(input: $input) { __typename } }',
    { input: { id: createSleeptimeGroup.group.id } },
  )
  // The delete waits for the run, which the memory tool's checkpoint locks before it waits for the block.
  await waiting('%', 2)
  await gate.query('commit')
  expect((await deleting).errors).toBeUndefined()
})

/** Waits until this many statements like this wait for a lock. */
async function waiting(like: string, count = 1): Promise<void> {
  for (;;) {
    const { rows } = await database.pool.query(
      `select from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock' and query like $1`,
      [like],
    )
    if (rows.length >= count) return
    await new Promise((resolve) => setTimeout(resolve, 10))
  }
}

const ask = defineTool({
  name: 'ask',
  description: '',
  parameters: { type: 'object' },
  requiresApproval: true,
  run: () => 'x',
})

test('[ENG55] dead workers are found while someone holds the lock of a conversation whose approval has expired', async () => {
  const api = talkTo(await start({ tools: [ask] }))
  const run = await api.start(await api.createAgent({ tools: ['ask'] }), 'hello')
  const call = await model.nextCall()
  call.call('ask', {})
  call.finish()
  expect((await api.settled(run)).status).toBe('AWAITING_APPROVAL')
  const locker = await connect()
  await locker.query('begin')
  await locker.query('select from conversations for no key update')
  await database.pool.query(`update tool_calls set expires_at = now() - interval '1 minute'`)
  // Two workers that die one after the other, so that a sweep with the expired approval runs in between.
  for (let count = 0; count < 2; count += 1) {
    const dead = randomUUID()
    await insertWorker(database.db, dead, { hostname: 'gone', version: '0', capacity: 1, providers: [], tools: [] })
    const isKnown = async () => (await database.pool.query('select from workers where id = $1', [dead])).rowCount
    await expect.poll(isKnown, { timeout: 20_000 }).toBe(0)
  }
  await locker.query('rollback')
  ;(await model.nextCall()).finish()
  expect((await api.settled(run)).status).toBe('COMPLETED')
})

test('[ENG55] approvals expire while someone holds the lock of another conversation whose approval has expired', async () => {
  const api = talkTo(await start({ tools: [ask] }))
  const runs: string[] = []
  for (const text of ['one', 'another']) {
    runs.push(await api.start(await api.createAgent({ tools: ['ask'] }), text))
    const call = await model.nextCall()
    call.call('ask', {})
    call.finish()
    expect((await api.settled(runs.at(-1)!)).status).toBe('AWAITING_APPROVAL')
  }
  const locker = await connect()
  await locker.query('begin')
  // The older one, which the sweep handles first.
  await locker.query('select from conversations where active_run_id = $1 for no key update', [uuidOf(runs[0]!)])
  await database.pool.query(`update tool_calls set expires_at = now() - interval '1 minute'`)
  ;(await model.nextCall()).finish()
  expect((await api.settled(runs[1]!)).status).toBe('COMPLETED')
  await locker.query('rollback')
  ;(await model.nextCall()).finish()
  expect((await api.settled(runs[0]!)).status).toBe('COMPLETED')
})

test('[ENG56] creating conversations, changing their agent and sending messages to them never wait for each other', async () => {
  const app = await start()
  const api = talkTo(app)
  const agent = await api.createAgent()
  const create = async (): Promise<string> => {
    const { createConversation } = await app.data(
      'mutation ($input: CreateConversationInput!) { createConversation(input: $input) { conversation { id } } }',
      { input: { agentId: agent } },
    )
    return createConversation.conversation.id
  }
  const locker = await connect()
  await locker.query('begin')
  await locker.query('select from agents for no key update')
  await create()
  const run = await api.start(agent, 'hello')
  ;(await model.nextCall()).finish()
  expect((await api.settled(run)).status).toBe('COMPLETED')
  await locker.query('rollback')
  // While one is being created, with its lock on the agent's row, another is created.
  await locker.query('begin')
  await locker.query('select from agents for key share')
  await create()
  await locker.query('rollback')
})
