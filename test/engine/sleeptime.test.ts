import { afterAll, expect, test } from 'vitest'

import type { ModelRequest } from '../../src/domain/models/model-request.ts'
import { defineTool } from '../../src/tools/registry.ts'
import { startTestApp } from '../support/app.ts'
import { addTurns } from '../support/many-turns.ts'
import { talkTo } from '../support/talk.ts'
import { createTalkingModel, type Reply } from '../support/talking-model.ts'

type Answer = (request: ModelRequest) => Reply | Promise<Reply> | undefined

/** What a test makes the foreground agent and the sleeptime agents do. By default they answer with one word. */
let foreground: Answer = () => undefined
let background: Answer = () => undefined
const isBackground = ({ messages }: ModelRequest) =>
  messages.some(
    (message) => message.role === 'user' && inputOf(message.content).startsWith('You work in the background'),
  )
const models = createTalkingModel({
  main: {
    window: 20_000,
    answer: async (request) =>
      (await (isBackground(request) ? background(request) : foreground(request))) ?? { text: 'Understood.' },
  },
})

function inputOf(content: readonly object[]): string {
  return content.map((part) => ('text' in part ? String(part.text) : '')).join('')
}

/** What a background request was given to read. */
function materialOf(request: ModelRequest | undefined): string {
  const last = request?.messages.findLast((message) => message.role === 'user')
  return last ? inputOf(last.content) : ''
}

const weather = defineTool({
  name: 'weather',
  description: 'Tells the weather.',
  parameters: { type: 'object', properties: { where: { type: 'string' } } },
  run: ({ where }) => `rain in ${where}`,
})

const app = await startTestApp({ providers: [models.provider], tools: [weather] })
const talk = talkTo(app)
const { tools } = await app.data('{ tools(filter: { nameContains: "weather" }) { nodes { id } } }')
const weatherId = tools.nodes[0].id
afterAll(() => app.stop())

async function createAgent(input: Record<string, unknown> = {}): Promise<string> {
  foreground = () => undefined
  background = () => undefined
  models.requests.length = 0
  const { createAgent } = await app.data(
    'mutation ($input: CreateAgentInput!) { createAgent(input: $input) { agent { id } } }',
    {
      input: {
        name: 'front',
        model: 'talk/main',
        includeBaseTools: false,
        blocks: [{ label: 'human', value: 'Unknown.' }],
        ...input,
      },
    },
  )
  return createAgent.agent.id
}

const groupFields = `id frequency turns lastProcessedMessage { position }
  sleeptimeAgents { id name model blocks { id label } tools { tool { name } requiresApproval } toolRules { kind tool }
    mainConversation { id } }`

async function createGroup(agentId: string, input: Record<string, unknown> = {}) {
  const { createSleeptimeGroup } = await app.data(
    `mutation ($input: CreateSleeptimeGroupInput!) { createSleeptimeGroup(input: $input) { group { ${groupFields} } } }`,
    { input: { agentId, ...input } },
  )
  return createSleeptimeGroup.group
}

async function groupOf(agent: string) {
  const data = await app.data(`query ($agent: ID!) { agent(id: $agent) { sleeptime { ${groupFields} } } }`, { agent })
  return data.agent.sleeptime
}

async function refusal(mutation: string, variables: object) {
  const { errors } = await app.request(mutation, variables)
  return errors?.[0]
}

async function say(agent: string, text: string, conversationId?: string) {
  const to = conversationId ? { conversationId } : { agentId: agent }
  const run = await talk.settled(await talk.start(agent, text, { to }))
  const { run: shown } = await app.data(
    'query ($id: ID!) { run(id: $id) { id status children { id status parent { id } agent { id } } } }',
    { id: run.id },
  )
  return shown
}

async function settledChildren(run: { readonly children: readonly { readonly id: string }[] }) {
  return Promise.all(run.children.map(({ id }) => talk.settled(id)))
}

test('[SLP1] an agent is made that shares the blocks, has the memory tools, a persona and a conversation of its own', async () => {
  const agent = await createAgent()
  const group = await createGroup(agent)
  expect(group).toMatchObject({ frequency: 1, turns: 0, lastProcessedMessage: null })
  const [made] = group.sleeptimeAgents
  expect(made).toMatchObject({ name: 'front (sleeptime)', model: 'talk/main' })
  expect(made.blocks.map((block: any) => block.label)).toEqual(['memory_persona', 'human'])
  expect(made.tools.map(({ tool }: any) => tool.name)).toEqual([
    'memory_insert',
    'memory_replace',
    'memory_rethink',
    'memory_finish_edits',
  ])
  expect(made.toolRules).toEqual([{ kind: 'TERMINAL', tool: 'memory_finish_edits' }])
  expect(
    await refusal('mutation ($id: ID!) { createSleeptimeGroup(input: { agentId: $id }) { group { id } } }', {
      id: agent,
    }),
  ).toMatchObject({ extensions: { code: 'BAD_USER_INPUT', field: 'input.agentId' } })

  // The other agent also gets a block that the agent gets later.
  const { createBlock } = await app.data(
    'mutation { createBlock(input: { label: "facts", value: "" }) { block { id } } }',
  )
  await app.data(
    'mutation ($agent: ID!, $block: ID!) { attachBlock(input: { agentId: $agent, blockId: $block }) { agent { id } } }',
    { agent, block: createBlock.block.id },
  )
  const { sleeptimeAgents } = await groupOf(agent)
  expect(sleeptimeAgents[0].blocks.map((block: any) => block.label)).toEqual(['memory_persona', 'human', 'facts'])
})

test('[SLP2] after a turn the sleeptime agent reads everything that was said and done, and the next step sees its edits', async () => {
  const agent = await createAgent({ tools: [{ toolId: weatherId, approvalOverride: true }] })
  await createGroup(agent)
  foreground = ({ messages }) =>
    messages.at(-1)?.role === 'tool' ? { text: 'It rains.' } : { calls: [{ name: 'weather', args: { where: 'Lund' } }] }
  background = ({ messages }) =>
    messages.at(-1)?.role === 'tool'
      ? { calls: [{ name: 'memory_finish_edits', args: {} }] }
      : { calls: [{ name: 'memory_rethink', args: { label: 'human', new_memory: 'Lives in Lund.' } }] }
  const run = await talk.start(agent, 'how is the weather?')
  const waiting = await talk.settled(run)
  await app.data(
    `mutation ($run: ID!, $call: ID!) { submitApprovals(input: { runId: $run, waitMs: 10000,
      decisions: [{ approve: { toolCallId: $call } }] }) { __typename } }`,
    { run, call: waiting.steps[0]!.toolCalls[0]!.id },
  )
  await talk.settled(run)
  const log = await talk.log(run)
  expect(log.slice(-2)).toEqual(['ChildRunStarted', 'RunStatusChanged COMPLETED'])
  const { run: shown } = await app.data(
    'query ($id: ID!) { run(id: $id) { children { id parent { id } messages { nodes { __typename } } } } }',
    { id: run },
  )
  expect(shown.children).toHaveLength(1)
  expect(shown.children[0].parent.id).toBe(run)
  const [child] = await settledChildren(shown)
  expect(child).toMatchObject({ status: 'COMPLETED', stopReason: 'TOOL_RULE' })

  const material = materialOf(models.requests.find(isBackground))
  for (const entry of [
    'user:\n> how is the weather?',
    'assistant asks to call weather:\n> {"where":"Lund"}',
    'decision about weather:\n> approved',
    'weather returned:\n> rain in Lund',
    'assistant:\n> It rains.',
  ])
    expect(material).toContain(entry)

  foreground = () => undefined
  await settledChildren(await say(agent, 'and me?'))
  const last = models.requests.findLast((request) => !isBackground(request))!
  expect(last.systemPrompt).toContain('Lives in Lund.')
})

test('[SLP3] after every few turns, counted in the database, one run reads everything since the last time', async () => {
  const agent = await createAgent()
  const { id } = await createGroup(agent, { frequency: 2 })
  const children: number[] = []
  for (let turn = 1; turn <= 5; turn += 1) {
    const run = await say(agent, `turn ${turn}`)
    await settledChildren(run)
    children.push(run.children.length)
  }
  expect(children).toEqual([0, 1, 0, 1, 0])
  const materials = models.requests.filter(isBackground).map(materialOf)
  expect(materials.map((text) => text.match(/turn \d/g))).toEqual([
    ['turn 1', 'turn 2'],
    ['turn 3', 'turn 4'],
  ])
  expect(await groupOf(agent)).toMatchObject({ turns: 5, lastProcessedMessage: { position: 8 } })

  await app.data('mutation ($id: ID!) { updateSleeptimeGroup(input: { id: $id, frequency: 3 }) { group { id } } }', {
    id,
  })
  const run = await say(agent, 'turn 6')
  expect(run.children).toHaveLength(1)
  await settledChildren(run)
  expect(materialOf(models.requests.findLast(isBackground)).match(/turn \d/g)).toEqual(['turn 5', 'turn 6'])
})

test('[SLP4] turns that fail or are cancelled count if they added messages, and a retried one counts once', async () => {
  const agent = await createAgent()
  await createGroup(agent)
  foreground = () => ({ failure: { type: 'LLM_ERROR' } })
  const failed = await say(agent, 'this fails')
  expect(failed).toMatchObject({ status: 'FAILED', children: [{ parent: { id: failed.id } }] })
  await settledChildren(failed)
  expect(materialOf(models.requests.findLast(isBackground))).toContain('> this fails')

  foreground = () => undefined
  await app.data('mutation ($id: ID!) { retryRun(input: { runId: $id }) { __typename } }', { id: failed.id })
  await talk.settled(failed.id)
  expect((await groupOf(agent)).turns).toBe(1)

  const asked = Promise.withResolvers<void>()
  foreground = () => (asked.resolve(), new Promise(() => {}))
  const hanging = await talk.start(agent, 'this hangs')
  // A waiting run that is cancelled before it begins adds nothing, and does not count as a turn.
  const waiting = await talk.start(agent, 'never begun', { whenBusy: 'ENQUEUE' })
  await asked.promise
  const cancel = 'mutation ($id: ID!) { cancelRun(input: { runId: $id }) { __typename } }'
  await app.data(cancel, { id: waiting })
  expect((await groupOf(agent)).turns).toBe(1)
  await app.data(cancel, { id: hanging })
  const { run } = await app.data('query ($id: ID!) { run(id: $id) { status children { id } } }', { id: hanging })
  expect(run).toMatchObject({ status: 'CANCELLED', children: [{}] })
  expect((await groupOf(agent)).turns).toBe(2)
  await settledChildren(run)
  // The retried turn's answer is read too.
  const material = materialOf(models.requests.findLast(isBackground))
  expect(material).toContain('> this hangs')
  expect(material).toContain('assistant:\n> Understood.')
})

test('[SLP5] there is one background run at a time: turns that end meanwhile are read by the next', async () => {
  const agent = await createAgent()
  await createGroup(agent)
  const asked = Promise.withResolvers<void>()
  const go = Promise.withResolvers<void>()
  let calls = 0
  background = async () => {
    calls += 1
    asked.resolve()
    if (calls === 1) await go.promise
    return { text: 'noted' }
  }
  const first = await say(agent, 'turn 1')
  await asked.promise
  const second = await say(agent, 'turn 2')
  const third = await say(agent, 'turn 3')
  expect(second.children[0].id).not.toBe(first.children[0].id)
  expect(third.children[0].id).toBe(second.children[0].id)
  expect(third.children[0]).toMatchObject({ status: 'QUEUED', parent: { id: second.id } })
  expect((await talk.log(third.id)).slice(-2)).toEqual(['ChildRunStarted', 'RunStatusChanged COMPLETED'])
  go.resolve()
  await settledChildren(third)
  const materials = models.requests.filter(isBackground).map((request) => materialOf(request).match(/turn \d/g))
  expect(materials).toEqual([['turn 1'], ['turn 2', 'turn 3']])
})

test('[SLP6] the next background run reads what a failed one should have read', async () => {
  const agent = await createAgent()
  await createGroup(agent)
  background = () => ({ failure: { type: 'LLM_ERROR' } })
  const first = await say(agent, 'turn 1')
  expect(await settledChildren(first)).toMatchObject([{ status: 'FAILED' }])
  expect((await groupOf(agent)).lastProcessedMessage).toBe(null)
  background = () => undefined
  const second = await say(agent, 'turn 2')
  expect(await settledChildren(second)).toMatchObject([{ status: 'COMPLETED' }])
  expect(materialOf(models.requests.findLast(isBackground)).match(/turn \d/g)).toEqual(['turn 1', 'turn 2'])
  expect((await groupOf(agent)).lastProcessedMessage).toEqual({ position: 4 })
})

test('[SLP7] all conversations of the agent are read, each from where the last run stopped', async () => {
  const agent = await createAgent()
  await createGroup(agent, { frequency: 2 })
  const { createConversation } = await app.data(
    'mutation ($agent: ID!) { createConversation(input: { agentId: $agent, title: "Plans" }) { conversation { id } } }',
    { agent },
  )
  await say(agent, 'in the main one')
  const run = await say(agent, 'in the other one', createConversation.conversation.id)
  await settledChildren(run)
  const material = materialOf(models.requests.findLast(isBackground))
  expect(material).toMatch(
    /A conversation:\n\nuser:\n> in the main one[^]*titled "Plans":\n\nuser:\n> in the other one/,
  )
  await say(agent, 'once more')
  await settledChildren(await say(agent, 'again', createConversation.conversation.id))
  const next = materialOf(models.requests.findLast(isBackground))
  expect(next).not.toContain('in the main one')
  expect(next).toContain('> again')
})

test('[SLP13] one run reads 20 conversations, the longest unread first, and 500 messages of each', async () => {
  const agent = await createAgent()
  await createGroup(agent)
  const addConversation = async (title: string, turns: number): Promise<void> => {
    const { createConversation } = await app.data(
      'mutation ($input: CreateConversationInput!) { createConversation(input: $input) { conversation { id } } }',
      { input: { agentId: agent, title } },
    )
    await addTurns(app.database.pool, createConversation.conversation.id.slice('conv_'.length), turns)
  }
  await addConversation('Long', 251)
  for (let index = 0; index < 20; index += 1) await addConversation(`number ${index}`, 1)
  const titlesOf = (material: string) => [...material.matchAll(/titled "(.*)":/g)].map(([, title]) => title)
  await settledChildren(await say(agent, 'hello'))
  const first = materialOf(models.requests.findLast(isBackground))
  expect(first).toContain('titled "Long":\n\n[2 earlier messages are left out]')
  expect(titlesOf(first)).toEqual(['Long', ...Array.from({ length: 19 }, (_, index) => `number ${index}`)])
  await settledChildren(await say(agent, 'hello again'))
  expect(titlesOf(materialOf(models.requests.findLast(isBackground)))).toEqual(['number 19'])
})

test('[SLP8] tools that may wait are refused for sleeptime agents, when the group is created and later', async () => {
  const agent = await createAgent()
  const waits = await createAgent({ name: 'waits', tools: [{ toolId: weatherId, approvalOverride: true }] })
  const create = `mutation ($agent: ID!, $ids: [ID!]) {
    createSleeptimeGroup(input: { agentId: $agent, sleeptimeAgentIds: $ids }) { group { id } } }`
  const refused = await refusal(create, { agent, ids: [waits] })
  expect(refused).toMatchObject({ extensions: { code: 'BAD_USER_INPUT', field: 'input.sleeptimeAgentIds.0' } })
  expect(refused!.message).toContain('weather')
  expect(await refusal(create, { agent, ids: [agent] })).toMatchObject({ extensions: { code: 'BAD_USER_INPUT' } })

  const helper = await createAgent({ name: 'helper' })
  const group = await createGroup(agent, { sleeptimeAgentIds: [helper] })
  expect(group.sleeptimeAgents.map(({ id }: any) => id)).toEqual([helper])
  const attach = `mutation ($agent: ID!, $tool: ID!, $approval: Boolean) {
    attachTool(input: { agentId: $agent, toolId: $tool, approvalOverride: $approval }) { agent { id } } }`
  expect(await refusal(attach, { agent: helper, tool: weatherId, approval: true })).toMatchObject({
    extensions: { field: 'input.toolId' },
  })
  expect(await refusal(attach, { agent: helper, tool: weatherId, approval: false })).toBe(undefined)
  const approve = `mutation ($agent: ID!, $tool: ID!) {
    setToolApproval(input: { agentId: $agent, toolId: $tool, requiresApproval: true }) { agent { id } } }`
  expect(await refusal(approve, { agent: helper, tool: weatherId })).toMatchObject({
    extensions: { code: 'BAD_USER_INPUT' },
  })
  const rules = `mutation ($agent: ID!) {
    updateAgent(input: { id: $agent, toolRules: [{ kind: REQUIRES_APPROVAL, tool: "weather" }] }) { agent { id } } }`
  expect(await refusal(rules, { agent: helper })).toMatchObject({ extensions: { field: 'input.toolRules' } })
  const { agent: after } = await app.data('query ($id: ID!) { agent(id: $id) { toolRules { kind } } }', { id: helper })
  expect(after.toolRules).toEqual([])
})

test('[SLP9] a call in a background run that would wait nevertheless is denied at once', async () => {
  const agent = await createAgent()
  const helper = await createAgent({ name: 'helper', tools: [{ toolId: weatherId, approvalOverride: null }] })
  await createGroup(agent, { sleeptimeAgentIds: [helper] })
  // Changing the tool itself bypasses the check of the group.
  const update = `mutation ($tool: ID!, $on: Boolean!) { updateTool(input: { id: $tool, requiresApproval: $on }) { tool { id } } }`
  await app.data(update, { tool: weatherId, on: true })
  background = ({ messages }) =>
    messages.at(-1)?.role === 'tool' ? undefined : { calls: [{ name: 'weather', args: { where: 'Lund' } }] }
  const [child] = await settledChildren(await say(agent, 'hello'))
  await app.data(update, { tool: weatherId, on: false })
  expect(child).toMatchObject({ status: 'COMPLETED' })
  expect(child!.steps[0]!.toolCalls[0]).toMatchObject({ status: 'DENIED' })
  expect(child!.steps[0]!.toolCalls[0]!.result!.output).toContain('nobody watches')
  expect(await talk.log(child!.id)).toContainEqual(expect.stringMatching(/^ToolCallChanged \w+ DENIED$/))
})

test('[SLP10] deleting the foreground agent, or the group, removes the group and what was made for it, and nothing else', async () => {
  const remains = async (ids: Record<string, string>) =>
    Object.fromEntries(
      await Promise.all(
        Object.entries(ids).map(async ([name, id]) => {
          const { node } = await app.data('query ($id: ID!) { node(id: $id) { id } }', { id })
          return [name, node !== null]
        }),
      ),
    )
  const idsOf = async (agent: string) => {
    const group = await createGroup(agent)
    const [made] = group.sleeptimeAgents
    const blocks = Object.fromEntries(made.blocks.map((block: any) => [block.label, block.id]))
    return { agent, group: group.id, made: made.id, ...blocks }
  }
  const first = await idsOf(await createAgent())
  await say(first.agent, 'hello')
  await app.data('mutation ($id: ID!) { deleteAgent(input: { id: $id }) { deletedId } }', { id: first.agent })
  expect(await remains(first)).toEqual({ agent: false, group: false, made: false, memory_persona: false, human: true })

  const second = await idsOf(await createAgent())
  const turn = await say(second.agent, 'hello')
  const { deleteSleeptimeGroup } = await app.data(
    'mutation ($id: ID!) { deleteSleeptimeGroup(input: { id: $id }) { deletedId } }',
    { id: second.group },
  )
  expect(deleteSleeptimeGroup.deletedId).toBe(second.group)
  expect(await remains(second)).toEqual({ agent: true, group: false, made: false, memory_persona: false, human: true })
  expect(await say(second.agent, 'still there?')).toMatchObject({ status: 'COMPLETED', children: [] })
  // The log of the turn can still be read.
  const { run } = await app.data(
    `query ($id: ID!) { run(id: $id) { events(types: [CHILD_RUN_STARTED]) { nodes {
      ... on ChildRunStarted { child { id status startedAt usage { totalTokens } } } } } } }`,
    { id: turn.id },
  )
  const child = { id: turn.children[0].id, status: 'CANCELLED', startedAt: null, usage: { totalTokens: 0 } }
  expect(run.events.nodes).toEqual([{ child }])
})

test('[SLP11] agents that work for each other do not deadlock', async () => {
  const one = await createAgent({ name: 'one' })
  const two = await createAgent({ name: 'two' })
  await createGroup(one, { sleeptimeAgentIds: [two] })
  await createGroup(two, { sleeptimeAgentIds: [one] })
  for (let round = 0; round < 3; round += 1) {
    const runs = await Promise.all(
      [one, two].map((agent) => talk.start(agent, `round ${round}`, { whenBusy: 'ENQUEUE' })),
    )
    for (const run of runs) expect(await talk.settled(run)).toMatchObject({ status: 'COMPLETED' })
  }
  expect([(await groupOf(one)).turns, (await groupOf(two)).turns]).toEqual([3, 3])
})

test('[PAS12] a sleeptime agent works on the archive of the agent that it works for', async () => {
  const agent = await createAgent()
  const [made] = (await createGroup(agent)).sleeptimeAgents
  for (const toolName of ['archival_memory_insert', 'archival_memory_search'])
    await app.data('mutation ($input: AttachToolInput!) { attachTool(input: $input) { __typename } }', {
      input: { agentId: made.id, toolName },
    })
  const returned: string[] = []
  background = ({ messages }) => {
    const last = messages.at(-1)
    if (last?.role !== 'tool')
      return { calls: [{ name: 'archival_memory_insert', args: { content: 'Ada likes tea' } }] }
    returned.push(last.returns[0]!.output)
    return returned.length === 1
      ? { calls: [{ name: 'archival_memory_search', args: { query: 'tea' } }] }
      : { calls: [{ name: 'memory_finish_edits', args: {} }] }
  }
  const run = await talk.settled(await talk.start(agent, 'I like tea.'), 'children { id }')
  await talk.settled(run.children[0].id)
  expect(returned).toEqual(['The text was stored in the archival memory.', expect.stringContaining('Ada likes tea')])
  const query = 'query ($id: ID!) { agent(id: $id) { passages { nodes { text } } } }'
  expect((await app.data(query, { id: agent })).agent.passages.nodes).toEqual([{ text: 'Ada likes tea' }])
  expect((await app.data(query, { id: made.id })).agent.passages.nodes).toEqual([])
})
