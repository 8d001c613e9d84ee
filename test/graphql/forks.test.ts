import { sql } from 'kysely'
import { afterAll, expect, test } from 'vitest'

import { copiedColumns } from '../../src/store/conversations/fork-conversation.ts'
import { defineTool } from '../../src/tools/registry.ts'
import { startTestApp } from '../support/app.ts'
import { createTestDatabase } from '../support/database.ts'
import { createGatedModel } from '../support/gated-model.ts'
import { talkTo } from '../support/talk.ts'
import { readToEnd, storedTexts } from '../live/reader.ts'

const model = createGatedModel()
const look = defineTool({ name: 'look', description: 'Looks.', parameters: { type: 'object' }, run: () => 'seen' })

const database = await createTestDatabase()
const app = await startTestApp({ database, providers: [model.provider], tools: [look] })
const talk = talkTo(app)
afterAll(async () => {
  model.assertAllTaken()
  await app.stop()
  await database.close()
})

const shown = `id title metadata lastStopReason latestRun { status }
  messages { nodes { __typename id position clientId inContext step { index } ... on UserMessage { text }
    ... on AssistantMessage { text } ... on ToolCallMessage { toolCalls { name status result { output } } }
    ... on ToolReturnMessage { toolReturns { output } } } }
  runs { nodes { id status stopReason usage { totalTokens steps } steps { index status usage { totalTokens } toolCalls { id } }
    sentBy { name } previousRun { id } input { text } } }
  context { messages { __typename } tokens { total } }
  blocks { id label value conversation { id } }`

async function show(id: string): Promise<any> {
  const { conversation } = await app.data(`query ($id: ID!) { conversation(id: $id) { ${shown} } }`, { id })
  return conversation
}

async function fork(messageId: string, more: object = {}): Promise<any> {
  const { forkConversation } = await app.data(
    `mutation ($input: ForkConversationInput!) { forkConversation(input: $input) { __typename
      ... on ForkConversationSuccess { conversation { id } } ... on Refusal { message } } }`,
    { input: { messageId, ...more } },
  )
  return forkConversation
}

const withoutIds = (messages: any[]) => messages.map(({ id: _id, ...message }) => message)

test('[BRA7] a fork has the turns up to that of the message, with new ids and without usage, and continues independently', async () => {
  const agent = await talk.createAgent({ tools: ['look'], blocks: [{ label: 'human', value: 'Ann' }] })
  const { createConversation } = await app.data(
    `mutation ($input: CreateConversationInput!) { createConversation(input: $input) { conversation { id } } }`,
    { input: { agentId: agent, isolatedBlockLabels: ['human'] } },
  )
  const { id } = createConversation.conversation
  const first = await talk.start(id, 'one')
  const call = await model.nextCall()
  call.say('looking')
  call.call('look', {})
  call.finish({ usage: { inputTokens: 5, outputTokens: 5 } })
  const after = await model.nextCall()
  after.say('looked')
  after.finish()
  await talk.settled(first)
  const second = await talk.start(id, 'two')
  const waiting = await model.nextCall()
  const original = await show(id)

  const refused = await fork(original.messages.nodes.at(-1).id)
  expect(refused.__typename).toBe('ConversationBusyRefusal')
  const { conversation } = await fork(original.messages.nodes[1].id, { title: 'another', metadata: { from: id } })
  waiting.finish()
  await talk.settled(second)

  const copy = await show(conversation.id)
  expect(copy).toMatchObject({ title: 'another', metadata: { from: id }, lastStopReason: 'END_TURN' })
  expect(withoutIds(copy.messages.nodes)).toEqual(withoutIds(original.messages.nodes.slice(0, -1)))
  const ids = new Set(original.messages.nodes.map((message: any) => message.id))
  expect(copy.messages.nodes.some((message: any) => ids.has(message.id))).toBe(false)
  const [run] = copy.runs.nodes
  expect(copy.runs.nodes).toHaveLength(1)
  expect(run).toMatchObject({ status: 'COMPLETED', usage: { totalTokens: 0, steps: 0 }, input: [{ text: 'one' }] })
  expect(run.id).not.toBe(first)
  expect(run.steps).toMatchObject([{ usage: { totalTokens: 0 }, toolCalls: [{}] }, { toolCalls: [] }])
  expect(copy.blocks).toMatchObject([{ label: 'human', value: 'Ann', conversation: { id: conversation.id } }])
  expect(copy.blocks[0].id).not.toBe(original.blocks[0].id)

  // The stream is another view of the same record.
  const reader = await readToEnd(app, run.id)
  expect(reader.end).toBe('COMPLETED')
  expect(reader.stored).toEqual(await storedTexts(app, run.id))
  expect(reader.types.filter((type) => type === 'ToolCallChanged')).toHaveLength(1)

  // Each continues independently.
  const next = await talk.start(conversation.id, 'three')
  const asked = await model.nextCall()
  expect(asked.request.messages.filter(({ role }) => role === 'user')).toHaveLength(2)
  asked.finish()
  await talk.settled(next)
  expect((await show(conversation.id)).runs.nodes[0].previousRun.id).toBe(run.id)
  expect((await show(id)).runs.nodes).toHaveLength(2)
})

test('[BRA8] a fork decides about every column of what it copies', async () => {
  /** Set by the statement or left at their defaults, because they belong only to the original. */
  const others: Record<keyof typeof copiedColumns, readonly string[]> = {
    files: ['conversation_id', 'created_at', 'expires_at'],
    runs: [
      ...['id', 'conversation_id', 'number', 'hold', 'previous_hold', 'created_at', 'updated_at', 'next_seq'],
      ...['first_position', 'next_position', 'left_branch', 'resumed', 'parent_id', 'deaths', 'lease', 'worker_id'],
      ...['steps', 'input_tokens', 'output_tokens', 'cached_input_tokens', 'reasoning_tokens', 'cost_usd'],
      ...['follow_ups', 'reading', 'traceparent', 'schedule_id', 'allowed_usd', 'allowed_tokens'],
    ],
    messages: ['id', 'conversation_id', 'position', 'run_hold', 'content'],
    steps: [...['run_id', 'input_tokens', 'output_tokens', 'cached_input_tokens', 'reasoning_tokens', 'cost_usd']],
    tool_calls: ['id', 'run_id', 'claim'],
    blocks: ['id', 'conversation_id', 'version', 'created_at', 'updated_at'],
  }
  for (const [table, copied] of Object.entries(copiedColumns)) {
    const { rows } = await sql<{ column_name: string }>`
      select column_name from information_schema.columns
      where table_schema = current_schema() and table_name = ${table} and is_generated = 'NEVER'`.execute(database.db)
    const known = [...copied, ...others[table as keyof typeof copiedColumns]]
    expect(rows.map((row) => row.column_name).toSorted()).toEqual(known.toSorted())
  }
})
