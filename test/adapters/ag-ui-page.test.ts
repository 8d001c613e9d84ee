import { HttpAgent } from '@ag-ui/client'
import { afterAll, test } from 'vitest'

import { createAgUiHandler, type AgUiOptions } from '../../adapters/ag-ui.ts'
import { startAdapterGround } from './ground.ts'

const ground = await startAdapterGround()
afterAll(async () => ground.stop())

async function openAgent(threadId?: string, options: AgUiOptions = {}): Promise<HttpAgent> {
  const handle = createAgUiHandler(ground.client, options)
  return new HttpAgent({
    url: 'http://localhost/',
    threadId: threadId ?? (await ground.startConversation()),
    fetch: async (url, init) => handle(new Request(url, init)),
  })
}

async function say(agent: HttpAgent, content: string, id: string = crypto.randomUUID()): Promise<void> {
  agent.addMessage({ id, role: 'user', content })
  await agent.runAgent()
}

const shown = (agent: HttpAgent) =>
  agent.messages.map((message: any) =>
    message.toolCalls
      ? [message.role, ...message.toolCalls.map((call: any) => call.function.name)]
      : [message.role, message.content],
  )
const texts = (agent: HttpAgent) =>
  agent.messages.flatMap(({ role, content }) => (role === 'tool' ? [] : (content ?? [])))

async function interruptsOf(run: (subscriber: object) => Promise<unknown>): Promise<any[]> {
  let interrupts: any[] = []
  await run({ onRunFinishedEvent: (params: any) => void (interrupts = params.interrupts ?? []) })
  return interrupts
}

const silent = { type: 'object' }
const clipboard = { name: 'clipboard', description: 'The clipboard.', parameters: silent }

test.concurrent(
  '[ADA95] an interrupt is answered by `resume` and a tool message for one call, as CopilotKit does',
  async ({ expect }) => {
    const agent = await openAgent()
    agent.addMessage({ id: crypto.randomUUID(), role: 'user', content: 'call pay {"amount": 5}' })
    const [interrupt] = await interruptsOf((subscriber) => agent.runAgent({}, subscriber))
    agent.addMessage({
      id: crypto.randomUUID(),
      role: 'tool',
      toolCallId: interrupt.toolCallId,
      content: '{"approved":true}',
    })
    await agent.runAgent({ resume: [{ interruptId: interrupt.id, status: 'resolved', payload: { approved: true } }] })
    expect(shown(agent)).toEqual([
      ['user', 'call pay {"amount": 5}'],
      ['assistant', 'pay'],
      ['tool', 'paid 5'],
      ['assistant', expect.stringContaining('paid 5')],
    ])
  },
)

test.concurrent('[ADA95] a call of a frontend tool has one tool message', async ({ expect }) => {
  const agent = await openAgent()
  agent.addMessage({ id: crypto.randomUUID(), role: 'user', content: 'call clipboard {}' })
  await agent.runAgent({ tools: [clipboard] })
  const toolCallId = (agent.messages.at(-1) as any).toolCalls[0].id
  agent.addMessage({ id: crypto.randomUUID(), role: 'tool', toolCallId, content: 'a list' })
  await agent.runAgent({ tools: [clipboard] })
  expect(shown(agent).slice(1)).toEqual([
    ['assistant', 'clipboard'],
    ['tool', 'a list'],
    ['assistant', expect.stringContaining('a list')],
  ])
})

test.concurrent(
  '[ADA85] a decision that was made elsewhere is shown when an AG-UI client resumes',
  async ({ expect }) => {
    const agent = await openAgent()
    agent.addMessage({ id: crypto.randomUUID(), role: 'user', content: 'call pay {"amount": 5}' })
    const [interrupt] = await interruptsOf((subscriber) => agent.runAgent({}, subscriber))
    await ground.decideElsewhere(agent.threadId, 'deny')
    const errors: string[] = []
    await agent.runAgent(
      { resume: [{ interruptId: interrupt.id, status: 'resolved', payload: { approved: true } }] },
      { onRunErrorEvent: ({ event }) => void errors.push(event.message) },
    )
    expect(errors).toEqual([])
    expect(shown(agent).slice(2)).toEqual([
      ['tool', expect.stringContaining('No.')],
      ['assistant', expect.any(String)],
    ])
  },
)

test.concurrent(
  '[ADA87] edit and regenerate of an AG-UI client make another version of the turn',
  async ({ expect }) => {
    const agent = await openAgent()
    await say(agent, 'say One.')
    await say(agent, 'say Two.')
    const answer = agent.messages.at(-1)!.id
    agent.setMessages(agent.messages.slice(0, 3))
    await agent.runAgent()
    expect(texts(agent)).toEqual(['say One.', 'One.', 'say Two.', 'Two.'])
    expect(agent.messages.at(-1)!.id).not.toBe(answer)
    expect(await ground.branchOf(agent.threadId)).toEqual({ texts: texts(agent), runs: 3 })

    // An edit with a new id, then one that keeps its id.
    agent.setMessages(agent.messages.slice(0, 2))
    await say(agent, 'say Three.', 'edited')
    agent.setMessages(agent.messages.slice(0, 2))
    await say(agent, 'say Four.', 'edited')
    expect(texts(agent)).toEqual(['say One.', 'One.', 'say Four.', 'Four.'])
    expect(await ground.branchOf(agent.threadId)).toEqual({ texts: texts(agent), runs: 5 })
  },
)

test.concurrent(
  '[ADA91] without messages an AG-UI client gets the conversation, and the interrupt of a call that waits',
  async ({ expect }) => {
    const agent = await openAgent()
    await say(agent, 'think Hm.\ncall inspect {}')
    await say(agent, 'call pay {"amount": 5}')
    const later = await openAgent(agent.threadId)
    const interrupts = await interruptsOf((subscriber) => later.runAgent({}, subscriber))
    expect(shown(later)).toEqual(shown(agent))
    expect(later.messages.map(({ id }) => id)).toEqual(agent.messages.map(({ id }) => id))
    await later.runAgent({
      resume: [{ interruptId: interrupts[0].id, status: 'resolved', payload: { approved: true } }],
    })
    expect(shown(later).slice(-2)).toEqual([
      ['tool', 'paid 5'],
      ['assistant', expect.stringContaining('paid 5')],
    ])
    const last = await openAgent(agent.threadId)
    await last.runAgent()
    expect(shown(last)).toEqual(shown(later))
  },
)

test.concurrent('[ADA92] ids of threads name conversations with the agent', async ({ expect }) => {
  const { id: agentId } = await ground.startAgent()
  const threadId = crypto.randomUUID()
  const agent = await openAgent(threadId, { agentId })
  await say(agent, 'say One.')
  const later = await openAgent(threadId, { agentId })
  await later.runAgent()
  expect(texts(later)).toEqual(['say One.', 'One.'])
})

test.concurrent('[ADA90] a message instead of an answer to an interrupt denies the call', async ({ expect }) => {
  const agent = await openAgent()
  agent.addMessage({ id: crypto.randomUUID(), role: 'user', content: 'call pay {"amount": 5}' })
  const [interrupt] = await interruptsOf((subscriber) => agent.runAgent({}, subscriber))
  agent.addMessage({ id: crypto.randomUUID(), role: 'user', content: 'say Never mind.' })
  await agent.runAgent({ resume: [{ interruptId: interrupt.id, status: 'cancelled' }] })
  expect(shown(agent).slice(2)).toEqual([
    ['tool', expect.stringContaining('Not run')],
    ['user', 'say Never mind.'],
    ['assistant', 'Never mind.'],
  ])
})

test.concurrent(
  '[ADA96] context, state, system messages and forwarded properties reach the server, once each',
  async ({ expect }) => {
    const agent = await openAgent()
    agent.addMessage({ id: 'rules', role: 'system', content: 'Be brief.' })
    const given = { context: [{ description: 'Page', value: 'Orders' }], forwardedProps: { plan: 'free' } }
    agent.state = { cart: 2 }
    for (const content of ['say One.', 'say Two.']) {
      agent.addMessage({ id: crypto.randomUUID(), role: 'user', content })
      await agent.runAgent(given)
    }
    const { conversation } = await ground.server.data(
      'query ($id: ID!) { conversation(id: $id) { latestRun { metadata } messages(filter: { types: [SYSTEM] }) { nodes { ... on SystemMessage { text } } } } }',
      { id: agent.threadId },
    )
    expect(conversation.latestRun.metadata).toEqual({ forwardedProps: { plan: 'free' } })
    expect(conversation.messages.nodes.map(({ text }: any) => text)).toEqual([
      'Page: Orders\nState of the application: {"cart":2}',
      'Be brief.',
    ])
  },
)

test.concurrent(
  '[ADA88] after `abortRun` before the first event, the next message is not refused',
  async ({ expect }) => {
    const agent = await openAgent(undefined, { cancelOnDisconnect: true })
    const running = say(agent, `slow 100\nsay ${'word '.repeat(300)}`).catch(() => {})
    agent.abortRun()
    await running
    const errors: string[] = []
    agent.addMessage({ id: crypto.randomUUID(), role: 'user', content: 'say Next.' })
    await agent.runAgent({}, { onRunErrorEvent: ({ event }) => void errors.push(event.message) })
    expect(errors).toEqual([])
    expect(texts(agent).at(-1)).toBe('Next.')
  },
)
