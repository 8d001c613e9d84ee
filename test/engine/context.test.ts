import { afterAll, expect, test } from 'vitest'

import { defineTool } from '../../src/tools/registry.ts'
import { startTestApp } from '../support/app.ts'
import { talkTo } from '../support/talk.ts'
import { createGatedModel, gatedHandle } from '../support/gated-model.ts'

const model = createGatedModel()
const ask = defineTool({
  name: 'ask',
  description: 'Asks a person.',
  parameters: { type: 'object', properties: { what: { type: 'string' } } },
  run: ({ what }) => `answer to ${what}`,
})
const app = await startTestApp({ providers: [model.provider], tools: [ask] })
const talk = talkTo(app)
afterAll(async () => {
  model.assertAllTaken()
  await app.stop()
})

async function createAgent(input: Record<string, unknown> = {}): Promise<string> {
  const { tools } = await app.data('{ tools(filter: { nameContains: "ask" }) { nodes { id } } }')
  const { createAgent } = await app.data(
    'mutation ($input: CreateAgentInput!) { createAgent(input: $input) { agent { id } } }',
    {
      input: {
        name: 'a',
        model: gatedHandle,
        includeBaseTools: false,
        tools: [{ toolId: tools.nodes[0].id, approvalOverride: true }],
        instructions: 'Be kind.',
        blocks: [{ label: 'human', value: 'Likes tea.', description: 'Who you talk to.' }],
        ...input,
      },
    },
  )
  return createAgent.agent.id
}

async function contextOf(agent: string) {
  const { agent: shown } = await app.data(
    `query ($agent: ID!) { agent(id: $agent) { blocks { id } mainConversation { context {
      systemPrompt messages { __typename } request
      tokens { window total instructions blocks tools summary messages } } } } }`,
    { agent },
  )
  return { ...shown.mainConversation.context, blocks: shown.blocks }
}

test('[CTX1] the context shows what the model is sent, before, during and after a request', async () => {
  const agent = await createAgent()
  const idle = await contextOf(agent)
  expect(idle.messages).toEqual([])
  expect(idle.systemPrompt).toContain('Be kind.')
  expect(idle.systemPrompt).toContain('Likes tea.')

  const run = await talk.start(agent, 'hello')
  const call = await model.nextCall()
  const asked = await contextOf(agent)
  expect(asked.request).toEqual(model.provider.requestBody(call.request))
  expect(asked.systemPrompt).toBe(call.request.systemPrompt)
  call.say('hi')
  call.finish()
  await talk.settled(run)
  expect((await contextOf(agent)).messages).toEqual([{ __typename: 'UserMessage' }, { __typename: 'AssistantMessage' }])
})

test('[CTX4] the system prompt ends with the day, in the agent’s time zone', async () => {
  const days = []
  // Their clocks are 25 hours apart.
  for (const timezone of ['Pacific/Kiritimati', 'Pacific/Pago_Pago']) {
    const { systemPrompt } = await contextOf(await createAgent({ timezone }))
    const day = /<metadata>\n- Today is \w+day, (\d{4}-\d{2}-\d{2}) \(([\w/]+)\)\.\n<\/metadata>$/.exec(systemPrompt)!
    expect(day[2]).toBe(timezone)
    days.push(Date.parse(day[1]!))
  }
  expect(days[0]! - days[1]!).toBeGreaterThanOrEqual(86_400_000)
})

test('[CTX2] while a call waits, its step is not in the context: the exchange is well-formed', async () => {
  const agent = await createAgent()
  const run = await talk.start(agent, 'hello')
  const call = await model.nextCall()
  call.think('I should ask')
  call.say('Let me ask.')
  call.call('ask', { what: 'tea or coffee' })
  call.finish()
  const waiting = await talk.settled(run)
  expect(waiting.status).toBe('AWAITING_APPROVAL')
  const context = await contextOf(agent)
  expect(context.messages).toEqual([{ __typename: 'UserMessage' }])
  expect(context.request.messages).toHaveLength(1)

  await app.data(
    'mutation ($run: ID!, $call: ID!) { submitApprovals(input: { runId: $run, decisions: [{ approve: { toolCallId: $call } }] }) { __typename } }',
    { run, call: waiting.steps[0]!.toolCalls[0]!.id },
  )
  const next = await model.nextCall()
  const after = await contextOf(agent)
  expect(after.request).toEqual(model.provider.requestBody(next.request))
  expect(after.messages.at(-1)).toEqual({ __typename: 'ToolReturnMessage' })
  next.finish()
  await talk.settled(run)
})

test('[CTX3] the token counts of the parts add up to the total, and the window is the one that applies', async () => {
  const agent = await createAgent({ modelSettings: { contextWindow: 5_000 } })
  const run = await talk.start(agent, 'hello '.repeat(50))
  const call = await model.nextCall()
  const { tokens } = await contextOf(agent)
  const { window, total, instructions, blocks, tools, summary, messages } = tokens
  expect(window).toBe(5_000)
  expect(instructions + blocks + tools + summary + messages).toBe(total)
  expect(summary).toBe(0)
  for (const part of [instructions, blocks, tools]) expect(part).toBeGreaterThan(0)
  expect(messages).toBeGreaterThanOrEqual(50)
  call.finish()
  await talk.settled(run)
})

test('[SHR1] a block that is edited during a run is part of the next step, with its size and limit', async () => {
  const agent = await createAgent({
    tools: [],
    blocks: [{ label: 'human', value: 'Likes tea.', charLimit: 500 }],
  })
  const { blocks } = await contextOf(agent)
  const first = await talk.start(agent, 'hello')
  const call = await model.nextCall()
  expect(call.request.systemPrompt).toMatch(/label="human" characters="10" limit="500"/)
  await app.data('mutation ($id: ID!) { updateBlock(input: { id: $id, value: "Likes coffee." }) { __typename } }', {
    id: blocks[0].id,
  })
  // The current request was already sent. The next step reads the block again.
  call.call('nothing_of_that_name', {})
  call.finish()
  const second = await model.nextCall()
  expect(second.request.systemPrompt).toContain('Likes coffee.')
  expect(second.request.systemPrompt).toContain('characters="13"')
  second.finish()
  await talk.settled(first)
})

test('[SHR2] a block that two agents share is edited for both', async () => {
  const one = await createAgent()
  const { blocks } = await contextOf(one)
  const two = await createAgent({ blocks: [], blockIds: [blocks[0].id] })
  await app.data('mutation ($id: ID!) { updateBlock(input: { id: $id, value: "Moved to Lund." }) { __typename } }', {
    id: blocks[0].id,
  })
  expect((await contextOf(one)).systemPrompt).toContain('Moved to Lund.')
  expect((await contextOf(two)).systemPrompt).toContain('Moved to Lund.')
})

test('[SHR3] an edit of an old version is refused with the current block', async () => {
  const agent = await createAgent()
  const { blocks } = await contextOf(agent)
  const update = `mutation ($id: ID!, $value: String!) {
    updateBlock(input: { id: $id, value: $value, expectedVersion: 1 }) { __typename
      ... on UpdateBlockSuccess { block { version } } ... on BlockChangedRefusal { block { value version } } } }`
  const both = await Promise.all(
    ['A', 'B'].map((value) => app.data(update, { id: blocks[0].id, value }).then((data) => data.updateBlock)),
  )
  const kept = both.findIndex(({ __typename }) => __typename === 'UpdateBlockSuccess')
  expect(both[1 - kept]).toMatchObject({
    __typename: 'BlockChangedRefusal',
    block: { value: ['A', 'B'][kept], version: 2 },
  })
})

test('[SHR4] deleting an agent deletes its runs, conversations and messages; its blocks and tools stay', async () => {
  const agent = await createAgent()
  const { blocks } = await contextOf(agent)
  const run = await talk.start(agent, 'hello')
  const call = await model.nextCall()
  call.say('half')
  await app.data('mutation ($id: ID!) { deleteAgent(input: { id: $id }) { deletedId } }', { id: agent })
  await call.aborted
  expect(
    await app.data(
      'query ($run: ID!, $agent: ID!, $block: ID!) { run(id: $run) { id } agent(id: $agent) { id } block(id: $block) { label agents { id } } }',
      { run, agent, block: blocks[0].id },
    ),
  ).toEqual({ run: null, agent: null, block: { label: 'human', agents: [] } })
})

test('[SHR5] deleting a conversation deletes everything that belonged to its runs', async () => {
  const agent = await createAgent()
  const { createConversation } = await app.data(
    'mutation ($input: CreateConversationInput!) { createConversation(input: $input) { conversation { id } } }',
    { input: { agentId: agent } },
  )
  const { id } = createConversation.conversation
  const { sendMessage } = await app.data(
    `mutation ($id: ID!) { sendMessage(input: { to: { conversationId: $id }, messages: [{ text: "hello" }] }) {
      ... on SendMessageSuccess { run { id } } } }`,
    { id },
  )
  const call = await model.nextCall()
  call.call('ask', { what: 'this' })
  call.finish()
  await talk.settled(sendMessage.run.id)
  const runId = sendMessage.run.id.slice('run_'.length)
  const conversationId = id.slice('conv_'.length)
  const rows = async () => {
    const { rows: counts } = await app.database.pool.query(
      `select (select count(*) from run_log where run_id = $1) as log, (select count(*) from steps where run_id = $1) as steps,
        (select count(*) from tool_calls where run_id = $1) as calls,
        (select count(*) from messages where conversation_id = $2) as messages`,
      [runId, conversationId],
    )
    return Object.values(counts[0]).map(Number)
  }
  for (const count of await rows()) expect(count).toBeGreaterThan(0)
  await app.data('mutation ($id: ID!) { deleteConversation(input: { id: $id }) { deletedId } }', { id })
  expect(await rows()).toEqual([0, 0, 0, 0])
})
