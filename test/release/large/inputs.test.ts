import { afterAll, beforeAll, expect, test } from 'vitest'

import { startTestApp, type TestApp } from '../../support/app.ts'
import { talkTo } from '../../support/talk.ts'

let app: TestApp
let agentId: string
/** Its run waits for the client, so what is sent to it waits in the queue, and no model reads these long texts. */
let waitingId: string
let conversationId: string
let messageId: string
let runId: string
let toolCallId: string
let toolIds: string[]
let agentIds: string[]
beforeAll(async () => {
  app = await startTestApp()
  const talk = talkTo(app)
  const model = 'demo/scripted'
  agentId = await talk.createAgent({ model })
  waitingId = await talk.createAgent({ model })
  runId = await talk.start(waitingId, 'call look {}', { clientTools: [{ name: 'look' }] })
  toolCallId = (await talk.pending(runId))[0].id
  const done = await talk.settled(await talk.start(await talk.createAgent({ model }), 'say hi'))
  conversationId = done.conversation.id
  messageId = done.messages.nodes[0].id
  agentIds = await Promise.all(list(11, () => talk.createAgent({ model })))
  toolIds = []
  for (let first = 0; first < 201; first += 30) {
    const made = await app.data(
      `mutation { ${list(30, (index) => `t${index}: upsertTool(input: { name: "attached_${first + index}", implementation: { client: true } }) { tool { id } }`).join(' ')} }`,
    )
    toolIds.push(...Object.values(made).map(({ tool: { id } }: any) => id))
  }
})
afterAll(() => app.stop())

/** Characters with the most bytes, so that a limit of characters is as many bytes as possible. */
const text = (length: number): string => '語'.repeat(length)
/** JSON of exactly this many bytes. */
const json = (bytes: number, start: object = {}): object => {
  const empty = JSON.stringify({ ...start, title: '' }).length
  return { ...start, title: 'x'.repeat(bytes - empty) }
}
const list = <T>(length: number, one: (index: number) => T): T[] => Array.from({ length }, (_, index) => one(index))
const kb64 = 64 * 1024
const agent = (more: object) => ({ name: 'a', model: 'demo/scripted', includeBaseTools: false, ...more })
const send = (more: object) => ({
  to: { agentId: waitingId },
  whenBusy: 'ENQUEUE',
  messages: [{ text: 'hi' }],
  ...more,
})
const condition = (bytes: number) => tool({ approvalCondition: json(bytes, { type: 'object' }) })
const http = (more: object) => tool({ implementation: { http: { url: 'https://example.com/', ...more } } })
const url = (length: number) => 'https://example.com/'.padEnd(length, 'x')
const headers = (count: number) => Object.fromEntries(list(count, (index) => [`x-${index}`, 'v'.repeat(1_000)]))
const decide = (decision: object) => ({ runId, decisions: [decision] })
const blocks = (count: number) => list(count, (index) => ({ label: `b${index}`, value: text(5_000) }))
const ids = (count: number) => list(count, (index) => ({ deny: { toolCallId: `${toolCallId}${index}` } }))
const source = (length: number) => 'export default () => 1 //'.padEnd(length, '語')
const tool = (more: object) => ({ name: 't', implementation: { javascript: { source: source(50) } }, ...more })

const attached = (count: number) => toolIds.slice(0, count).map((toolId) => ({ toolId }))
const rule = (index: number) => ({ kind: 'MAX_CALLS', tool: 'attached_0', maxCalls: index + 1 })
const file = `data:text/plain;base64,${Buffer.from('hello').toString('base64')}`

const limits: readonly (readonly [what: string, mutation: string, input: (more: number) => object])[] = [
  ['instructions', 'createAgent', (more) => agent({ instructions: text(200_000 + more) })],
  ['description of an agent', 'createAgent', (more) => agent({ description: text(10_000 + more) })],
  ['metadata', 'createAgent', (more) => agent({ metadata: json(kb64 + more) })],
  ['tags', 'createAgent', (more) => agent({ tags: list(50 + more, (index) => `${index}`.padEnd(64, 'x')) })],
  ['response schema', 'createAgent', (more) => agent({ modelSettings: { responseSchema: json(kb64 + more) } })],
  ['name of an agent', 'createAgent', (more) => agent({ name: text(200 + more) })],
  ['blocks of an agent', 'createAgent', (more) => agent({ blocks: blocks(100 + more) })],
  ['tools of an agent', 'createAgent', (more) => agent({ tools: attached(200 + more) })],
  ['tools of an agent, changed', 'updateAgent', (more) => ({ id: agentId, tools: attached(200 + more) })],
  ['rules of an agent', 'createAgent', (more) => agent({ tools: attached(1), toolRules: list(200 + more, rule) })],
  [
    'fallbacks',
    'createAgent',
    (more) => agent({ modelSettings: { fallbacks: list(10 + more, () => 'demo/scripted') } }),
  ],
  ['output tokens', 'createAgent', (more) => agent({ modelSettings: { maxOutputTokens: 1_000_000 + more } })],
  ['context window', 'createAgent', (more) => agent({ modelSettings: { contextWindow: 10_000_000 + more } })],
  ['reasoning budget', 'createAgent', (more) => agent({ modelSettings: { reasoningBudget: 1_000_000 + more } })],
  ['prompt of summaries', 'createAgent', (more) => agent({ compaction: { prompt: text(50_000 + more) } })],
  ['key of an agent', 'upsertAgent', (more) => ({ key: text(200 + more), agent: agent({}) })],
  ['title of a conversation', 'createConversation', (more) => ({ agentId, title: text(500 + more) })],
  ['metadata of a conversation', 'createConversation', (more) => ({ agentId, metadata: json(kb64 + more) })],
  ['title, changed', 'updateConversation', (more) => ({ id: conversationId, title: text(500 + more) })],
  ['metadata, changed', 'updateConversation', (more) => ({ id: conversationId, metadata: json(kb64 + more) })],
  ['title of a fork', 'forkConversation', (more) => ({ messageId, title: text(500 + more) })],
  ['metadata of a fork', 'forkConversation', (more) => ({ messageId, metadata: json(kb64 + more) })],
  ['name of a file', 'uploadFile', (more) => ({ conversationId, dataUrl: file, name: text(200 + more) })],
  ['label of a block', 'createBlock', (more) => ({ label: 'l'.repeat(64 + more), value: '' })],
  ['description of a block', 'createBlock', (more) => ({ label: 'd', value: '', description: text(10_000 + more) })],
  ['limit of a block', 'createBlock', (more) => ({ label: 'c', value: '', charLimit: 1_000_000 + more })],
  ['name of a tool', 'upsertTool', (more) => tool({ name: 'n'.repeat(64 + more) })],
  ['description of a tool', 'upsertTool', (more) => tool({ description: text(10_000 + more) })],
  ['condition of a tool', 'upsertTool', (more) => condition(kb64 + more)],
  ['tags of a tool', 'upsertTool', (more) => tool({ tags: list(50 + more, (index) => `${index}`.padEnd(64, 'x')) })],
  ['tag of a tool', 'upsertTool', (more) => tool({ tags: [text(64 + more)] })],
  ['limit of results', 'upsertTool', (more) => tool({ returnCharLimit: 10_000_000 + more })],
  ['timeout of a tool', 'upsertTool', (more) => tool({ timeoutMs: 86_400_000 + more })],
  ['address of a tool', 'upsertTool', (more) => http({ url: url(2_000 + more) })],
  ['headers of a tool', 'upsertTool', (more) => http({ headers: headers(50 + more) })],
  ['value of a block', 'createBlock', (more) => ({ label: 'b', charLimit: 1_000_000, value: text(1_000_000 + more) })],
  [
    'source of a tool',
    'upsertTool',
    (more) => tool({ implementation: { javascript: { source: source(500_000 + more) } } }),
  ],
  ['parameters of a tool', 'upsertTool', (more) => tool({ parameters: json(kb64 + more, { type: 'object' }) })],
  ['text of a message', 'sendMessage', (more) => send({ messages: [{ text: text(200_000 + more) }] })],
  ['messages', 'sendMessage', (more) => send({ messages: list(100 + more, () => ({ text: text(10_000) })) })],
  [
    'parts of a message',
    'sendMessage',
    (more) => send({ messages: [{ content: list(50 + more, () => ({ text: text(50_000) })) }] }),
  ],
  ['text of a part', 'sendMessage', (more) => send({ messages: [{ content: [{ text: text(200_000 + more) }] }] })],
  ['id of a message', 'sendMessage', (more) => send({ messages: [{ text: 'hi', clientId: text(200 + more) }] })],
  ['idempotency key', 'sendMessage', (more) => send({ idempotencyKey: text(200 + more) })],
  ['steps', 'sendMessage', (more) => send({ maxSteps: 1_000 + more })],
  [
    'schema of a client tool',
    'sendMessage',
    (more) => send({ clientTools: [{ name: 't', parameters: json(kb64 + more, { type: 'object' }) }] }),
  ],
  ['name of a client tool', 'sendMessage', (more) => send({ clientTools: [{ name: 't'.repeat(64 + more) }] })],
  [
    'key of an edit',
    'editMessage',
    (more) => ({ messageId, message: { text: 'hi' }, idempotencyKey: text(200 + more) }),
  ],
  ['decisions', 'submitApprovals', (more) => ({ runId, decisions: ids(200 + more) })],
  [
    'reason of a denial',
    'submitApprovals',
    (more) => decide({ deny: { toolCallId: 'x', reason: text(10_000 + more) } }),
  ],
  [
    'note of an approval',
    'submitApprovals',
    (more) => decide({ approve: { toolCallId: 'x', note: text(10_000 + more) } }),
  ],
  [
    'follow-up',
    'submitApprovals',
    (more) => ({ runId, decisions: ids(1), followUp: list(100 + more, () => ({ text: text(10_000) })) }),
  ],
  ['key of a decision', 'submitApprovals', (more) => ({ runId, decisions: ids(1), idempotencyKey: text(200 + more) })],
  ['claimant', 'claimToolCall', (more) => ({ toolCallId, claimantId: text(200 + more) })],
  ['lease of a claim', 'claimToolCall', (more) => ({ toolCallId, claimantId: text(200), leaseMs: 3_600_000 + more })],
  [
    'sleeptime agents',
    'createSleeptimeGroup',
    (more) => ({ agentId, sleeptimeAgentIds: agentIds.slice(0, 10 + more) }),
  ],
  ['name of a key', 'createApiKey', (more) => ({ name: text(200 + more), scopes: ['READ'] })],
  ['metadata of a run', 'sendMessage', (more) => send({ metadata: json(kb64 + more) })],
  ['response schema of a run', 'sendMessage', (more) => send({ responseSchema: json(kb64 + more) })],
  [
    'client tools',
    'sendMessage',
    (more) => send({ clientTools: list(128 + more, (index) => ({ name: `t${index}`, description: text(10_000) })) }),
  ],
]

test.each(limits)(
  '[SRV40] %s: the limit can be reached, and one more is refused with the field',
  async (_what, name, input) => {
    const type = `${name[0]!.toUpperCase()}${name.slice(1)}Input`
    const mutation = `mutation ($input: ${type}!) { ${name}(input: $input) { __typename } }`
    const reached = await app.request(mutation, { input: input(0) })
    expect(reached.errors).toBeUndefined()
    const exceeded = await app.request(mutation, { input: input(1) })
    expect(exceeded.errors).toMatchObject([
      { extensions: { code: 'BAD_USER_INPUT', field: expect.stringMatching(/^input\./) } },
    ])
  },
)
