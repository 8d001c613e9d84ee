import { afterAll, afterEach, expect, test } from 'vitest'

import { startGround } from '../approvals/ground.ts'
import { createTestDatabase } from '../support/database.ts'
import { hookDatabase } from '../support/gated-database.ts'

/** Called once: before a checkpoint locks its run, before the statement that stores a passage, or after it. */
let locking: (() => Promise<void>) | undefined
let before: (() => Promise<void>) | undefined
let after: (() => Promise<void>) | undefined

const isLock = (statement: string) => statement.includes('as has_sleeptime')
const isInsert = (statement: string) => statement.includes('insert into passages')

const database = await createTestDatabase()
const db = hookDatabase(database.pool, {
  async before(statement) {
    const act = isInsert(statement) ? before : isLock(statement) ? locking : undefined
    if (act === before) before = undefined
    if (act === locking) locking = undefined
    await act?.()
  },
  async after(statement) {
    const act = isInsert(statement) ? after : undefined
    if (act) after = undefined
    await act?.()
  },
})
const ground = await startGround({ database: { ...database, db }, env: { HOLDPOINT_TENANT_STORAGE: '1mb' } })
const talk = ground.talk
afterEach(() => ground.check())
afterAll(async () => {
  await ground.app.stop()
  await database.close()
})

const tools = ['archival_memory_insert', 'archival_memory_search']
const createAgent = (more: object = {}) => talk.createAgent({ tools, ...more })
const textsOf = async (id: string): Promise<string[]> => {
  const query = 'query ($id: ID!) { agent(id: $id) { passages { nodes { text tags } } } }'
  const { agent } = await ground.app.data(query, { id })
  return agent.passages.nodes.map((node: any) => [node.text, ...node.tags].join(' #'))
}
const outputs = (run: any) =>
  run.steps.flatMap((step: any) => step.toolCalls.map((call: any) => [call.status, call.result.output]))

test('[PAS4] an agent stores texts and finds them again, by words, meaning and tags', async () => {
  const agent = await createAgent({ embeddingModel: 'demo/embedding' })
  const first = await talk.start(agent, 'remember this')
  await ground.call(
    ['archival_memory_insert', { content: 'Ada lives in Göttingen', tags: ['home'] }],
    ['archival_memory_insert', { content: 'Ada works as an engineer' }],
  )
  await ground.answer('done')
  expect(outputs(await talk.settled(first))).toEqual([
    ['SUCCEEDED', 'The text was stored in the archival memory.'],
    ['SUCCEEDED', 'The text was stored in the archival memory.'],
  ])
  expect(await textsOf(agent)).toEqual(['Ada lives in Göttingen #home', 'Ada works as an engineer'])

  const second = await talk.start(agent, 'where does Ada live?')
  await ground.call(
    ['archival_memory_search', { query: 'where does Ada live', limit: 1 }],
    ['archival_memory_search', { query: 'Ada', tags: ['home'] }],
    ['archival_memory_search', { query: 'Ada', tags: ['nowhere'] }],
    ['archival_memory_search', { query: '!' }],
    ['archival_memory_insert', { content: ' ' }],
  )
  await ground.answer('in Göttingen')
  const found = [{ at: expect.any(String), tags: ['home'], text: 'Ada lives in Göttingen' }]
  const said = outputs(await talk.settled(second))
  expect(said.slice(0, 2).map(([, output]: string[]) => JSON.parse(output!))).toEqual([found, found])
  expect(said.slice(2)).toEqual([
    ['SUCCEEDED', 'No text was found in the archival memory.'],
    ['FAILED', expect.stringContaining('no word')],
    ['FAILED', expect.stringContaining('empty')],
  ])
})

test('[PAS4] the tools are among the base tools', async () => {
  const agent = await talk.createAgent({ includeBaseTools: true })
  const { tools: attached } = (
    await ground.app.data('query ($id: ID!) { agent(id: $id) { tools { tool { name } } } }', { id: agent })
  ).agent
  expect(attached.map(({ tool }: any) => tool.name)).toEqual([
    'memory_insert',
    'memory_replace',
    'conversation_search',
    ...tools,
  ])
})

test('[PAS10] a text is stored once, also if the connection breaks before or after its statement', async () => {
  const agent = await createAgent()
  const runId = await talk.start(agent, 'go')
  before = async () => {
    throw Object.assign(new Error('the connection broke'), { code: '57P01' })
  }
  after = async () => {
    throw Object.assign(new Error('the connection broke'), { code: '57P01' })
  }
  await ground.call(['archival_memory_insert', { content: 'once' }])
  await ground.answer('done')
  expect(await talk.settled(runId)).toMatchObject({ status: 'COMPLETED' })
  expect([before, after]).toEqual([undefined, undefined])
  expect(await textsOf(agent)).toEqual(['once'])
})

test('[PAS10] a worker that has lost its run stores nothing', async () => {
  const agent = await createAgent()
  const runId = await talk.start(agent, 'go')
  const call = await ground.model.nextCall()
  const lost = Promise.withResolvers<void>()
  locking = async () => {
    await database.pool.query(
      "update runs set lease = gen_random_uuid() where status = 'RUNNING' and lease is not null",
    )
    lost.resolve()
  }
  call.call('archival_memory_insert', { content: 'by a worker that lost it' })
  call.finish()
  await lost.promise
  // Asked ahead of the checkpoint, and forgotten with it.
  await ground.model.nextCall()
  expect(await textsOf(agent)).toEqual([])
  await database.pool.query("update runs set lease = null, worker_id = null where status = 'RUNNING'")
  // The next worker stores it, once.
  await ground.answer('done')
  expect(await talk.settled(runId)).toMatchObject({ status: 'COMPLETED', attempts: 2 })
  expect(await textsOf(agent)).toEqual(['by a worker that lost it'])
})

test('[PAS11] what the tenant may store limits the archive too', async () => {
  const agentId = await createAgent()
  const texts = Array.from({ length: 60 }, () => ({ text: 'x'.repeat(20_000) }))
  const add = 'mutation ($input: AddPassagesInput!) { addPassages(input: $input) { passages { id } } }'
  const { errors } = await ground.app.request(add, { input: { agentId, passages: texts } })
  expect(errors![0]!.extensions).toMatchObject({ code: 'BAD_USER_INPUT', field: 'input.passages' })
  expect(await textsOf(agentId)).toEqual([])
  await ground.app.data(add, { input: { agentId, passages: texts.slice(0, 52) } })
  await ground.app.data(add, { input: { agentId, passages: [{ text: 'a last one that is allowed' }] } }).catch(() => {})
  const runId = await talk.start(agentId, 'go')
  await database.pool.query(
    "insert into passages select gen_random_uuid(), tenant_id, agent_id, repeat('y', 20000), '{}', '{}', now() from passages limit 2",
  )
  await ground.call(['archival_memory_insert', { content: 'too much' }])
  await ground.answer('done')
  expect(outputs(await talk.settled(runId))).toEqual([['FAILED', expect.stringContaining('full')]])
})
