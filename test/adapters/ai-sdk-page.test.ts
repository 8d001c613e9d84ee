import { Chat } from '@ai-sdk/react'
import { lastAssistantMessageIsCompleteWithApprovalResponses, lastAssistantMessageIsCompleteWithToolCalls } from 'ai'
import { afterAll, test } from 'vitest'

import { createChatTransport, loadMessages, type ChatTransportOptions } from '../../adapters/ai-sdk.ts'
import { createClient, type Client } from '../../client/index.ts'
import { startAdapterGround } from './ground.ts'

const ground = await startAdapterGround()
afterAll(async () => ground.stop())

interface Page {
  readonly chat: Chat<any>
  /** How often the page has sent decisions. */
  decisions(): number
  stop(): void
}

/** What a page does: a chat, with the conversation followed if `follow` says so. */
async function openPage(
  id?: string,
  { follow = false, ...options }: ChatTransportOptions & { readonly follow?: boolean } = {},
): Promise<Page> {
  let decisions = 0
  const client: Client = createClient({
    url: ground.server.url,
    fetch(url, init) {
      if (String(init?.body).includes('mutation SubmitApprovals')) decisions += 1
      return fetch(url, init)
    },
  })
  const transport = createChatTransport(client, options)
  const chat: Chat<any> = new Chat<any>({
    id: id ?? (await ground.startConversation()),
    transport,
    sendAutomaticallyWhen: (given) =>
      lastAssistantMessageIsCompleteWithApprovalResponses(given) || lastAssistantMessageIsCompleteWithToolCalls(given),
  })
  const follower = follow
    ? transport.follow(chat.id, (update) => void (chat.messages = update(chat.messages)))
    : undefined
  return { chat, decisions: () => decisions, stop: () => follower?.stop() }
}

const partsOf = (message: any) =>
  (message?.parts ?? [])
    .filter(({ type }: any) => type !== 'step-start')
    .map(({ type, text, toolName, state, output, errorText }: any) =>
      type === 'dynamic-tool' ? [toolName, state, output ?? errorText] : text,
    )
const shown = (chat: Chat<any>) => chat.messages.map((message) => [message.role, ...partsOf(message)])
const callOf = (chat: Chat<any>) => chat.lastMessage!.parts.findLast(({ type }: any) => type === 'dynamic-tool')

test.concurrent.for([
  ['approve', 'output-available', 'paid 5'],
  ['deny', 'output-denied', undefined],
] as const)(
  '[ADA85] a decision that was made elsewhere (%s) is shown when the page approves the call, with one request',
  async ([decision, state, output], { expect }) => {
    const { chat, decisions } = await openPage()
    await chat.sendMessage({ text: 'call pay {"amount": 5}' })
    await ground.decideElsewhere(chat.id, decision)
    const ended = 'query ($id: ID!) { conversation(id: $id) { latestRun { status } } }'
    await expect
      .poll(async () => (await ground.server.data(ended, { id: chat.id })).conversation.latestRun.status)
      .toBe('COMPLETED')
    await chat.addToolApprovalResponse({ id: callOf(chat).approval.id, approved: true })
    await expect.poll(() => shown(chat)[1]).toEqual(['assistant', ['pay', state, output], expect.any(String)])
    await expect.poll(() => chat.status).toBe('ready')
    expect(callOf(chat).approval).toMatchObject({ approved: decision === 'approve' })
    expect(decisions()).toBe(1)
  },
)

test.concurrent(
  '[ADA86] `regenerate` without an id, with the id of a question and after a failure',
  async ({ expect }) => {
    const { chat } = await openPage()
    await chat.sendMessage({ text: 'say One.' })
    const [question, first] = chat.messages
    await chat.regenerate()
    expect(shown(chat)).toEqual([
      ['user', 'say One.'],
      ['assistant', 'One.'],
    ])
    expect(chat.lastMessage!.id).not.toBe(first.id)
    const second = chat.lastMessage!.id
    await chat.regenerate({ messageId: question.id })
    expect(shown(chat)).toEqual([
      ['user', 'say One.'],
      ['assistant', 'One.'],
    ])
    expect(chat.lastMessage!.id).not.toBe(second)
    expect(await ground.branchOf(chat.id)).toEqual({ texts: ['say One.', 'One.'], runs: 3 })

    await chat.sendMessage({ text: 'fail rate_limit' })
    expect(chat.status).toBe('error')
    await chat.regenerate()
    expect(chat.status).toBe('error')
    expect(await ground.branchOf(chat.id)).toMatchObject({ runs: 5 })
  },
)

test.concurrent('[ADA86] a message that never arrived is sent by `regenerate`', async ({ expect }) => {
  let isCut = true
  const client = createClient({
    url: ground.server.url,
    fetch: (url, init) => (isCut ? Promise.reject(new TypeError('fetch failed')) : fetch(url, init)),
  })
  const chat = new Chat<any>({ id: await ground.startConversation(), transport: createChatTransport(client) })
  await chat.sendMessage({ text: 'say Arrived.' })
  expect(chat.status).toBe('error')
  isCut = false
  await chat.regenerate()
  expect(shown(chat)).toEqual([
    ['user', 'say Arrived.'],
    ['assistant', 'Arrived.'],
  ])
})

test.concurrent(
  '[ADA87] a message that is edited becomes the server’s branch, by id and by what the page keeps',
  async ({ expect }) => {
    const { chat } = await openPage()
    await chat.sendMessage({ text: 'say One.' })
    await chat.sendMessage({ text: 'say Two.' })
    const messageId = chat.messages[2].id
    await chat.sendMessage({ text: 'say Three.', messageId })
    await chat.sendMessage({ text: 'say Four.', messageId })
    expect(shown(chat).map((texts) => texts[1])).toEqual(['say One.', 'One.', 'say Four.', 'Four.'])
    expect((await ground.branchOf(chat.id)).texts).toEqual(['say One.', 'One.', 'say Four.', 'Four.'])

    // As assistant-ui does: the page is cut, and the new text is sent as a message of its own.
    chat.messages = chat.messages.slice(0, 2)
    await chat.sendMessage({ text: 'say Five.' })
    expect((await ground.branchOf(chat.id)).texts).toEqual(['say One.', 'One.', 'say Five.', 'Five.'])
    await chat.sendMessage({ text: 'say Six.' })
    expect((await ground.branchOf(chat.id)).texts.slice(4)).toEqual(['say Six.', 'Six.'])
  },
)

test.concurrent('[ADA97] a message that is submitted twice is sent once', async ({ expect }) => {
  const transport = createChatTransport(createClient({ url: ground.server.url }))
  const chatId = await ground.startConversation()
  const submit = async () => {
    const message = { id: 'same', role: 'user' as const, parts: [{ type: 'text' as const, text: 'say One.' }] }
    const stream = await transport.sendMessages({
      ...{ chatId, messages: [message], trigger: 'submit-message', messageId: undefined, abortSignal: undefined },
    })
    const chunks = await Array.fromAsync(stream)
    return chunks.flatMap((chunk) => (chunk.type === 'text-delta' ? chunk.delta : [])).join('')
  }
  expect([await submit(), await submit()]).toEqual(['One.', 'One.'])
  expect((await ground.branchOf(chatId)).texts).toEqual(['say One.', 'One.'])
  const { conversation } = await ground.server.data(
    'query ($id: ID!) { conversation(id: $id) { runs { totalCount } } }',
    {
      id: chatId,
    },
  )
  expect(conversation.runs.totalCount).toBe(1)
})

test.concurrent('[ADA87] a message that somebody else sent meanwhile is not replaced', async ({ expect }) => {
  const { chat } = await openPage()
  await chat.sendMessage({ text: 'say One.' })
  const other = await openPage(chat.id)
  await other.chat.sendMessage({ text: 'say Other.' })
  await chat.sendMessage({ text: 'say Two.' })
  expect((await ground.branchOf(chat.id)).texts).toEqual([
    'say One.',
    'One.',
    'say Other.',
    'Other.',
    'say Two.',
    'Two.',
  ])
})

test.concurrent(
  '[ADA88] `stop` before the first answer cancels the run, and the next message is not refused',
  async ({ expect }) => {
    const { chat } = await openPage()
    const sending = chat.sendMessage({ text: `slow 100\nsay ${'word '.repeat(300)}` })
    const stopping = chat.stop()
    const next = chat.sendMessage({ text: 'say Next.' })
    await Promise.all([sending, stopping, next])
    expect(chat.status).toBe('ready')
    expect(shown(chat).at(-1)).toEqual(['assistant', 'Next.'])
  },
)

test.concurrent('[ADA89] JSON and files of results arrive as they are', async ({ expect }) => {
  const clipboard = { name: 'clipboard', description: 'The clipboard.', parameters: { type: 'object' } }
  const { chat } = await openPage(undefined, { clientTools: [clipboard] })
  await chat.sendMessage({ text: 'call inspect {}' })
  expect(callOf(chat).output).toEqual({ colour: 'red', sizes: [1, 2] })
  await chat.sendMessage({ text: 'call picture {}' })
  expect(callOf(chat).output).toMatchObject([
    { type: 'text', text: 'A dot.' },
    { type: 'file', mediaType: 'image/png', url: expect.stringMatching(/^(data:|\/files\/)/) },
  ])
  await chat.sendMessage({ text: 'call clipboard {}' })
  await chat.addToolOutput({ tool: 'clipboard', toolCallId: callOf(chat).toolCallId, output: { lines: ['a', 'b'] } })
  await expect.poll(() => partsOf(chat.lastMessage).length).toBe(2)
  expect(callOf(chat).output).toEqual({ lines: ['a', 'b'] })
})

test.concurrent(
  '[ADA90] with `whenBusy: INTERRUPT` a message denies the waiting call and goes next',
  async ({ expect }) => {
    const page = await openPage(undefined, { whenBusy: 'INTERRUPT', follow: true })
    const { chat } = page
    await chat.sendMessage({ text: 'call pay {"amount": 5}' })
    await chat.sendMessage({ text: 'say Never mind.' })
    expect(shown(chat).at(-1)).toEqual(['assistant', 'Never mind.'])
    await expect
      .poll(() => shown(chat)[1]![1])
      .toEqual(['pay', expect.stringMatching(/output-(denied|error)/), expect.toSatisfy(() => true)])
    page.stop()
    const refused = await openPage()
    await refused.chat.sendMessage({ text: 'call pay {"amount": 5}' })
    await refused.chat.sendMessage({ text: 'say Never mind.' })
    expect(refused.chat.error!.message).toMatch(/wait/)
    // A page that follows drops what was refused, and the call can still be answered.
    const again = await openPage(refused.chat.id, { follow: true })
    await expect.poll(() => again.chat.messages.length).toBe(2)
    await again.chat.sendMessage({ text: 'say Never mind.' })
    await expect.poll(() => shown(again.chat).at(-1)).toEqual(['assistant', ['pay', 'approval-requested', undefined]])
    await again.chat.addToolApprovalResponse({ id: callOf(again.chat).approval.id, approved: true })
    await expect.poll(() => shown(again.chat).at(-1)![1]).toEqual(['pay', 'output-available', 'paid 5'])
    again.stop()
  },
)

test.concurrent('[ADA91] history is loaded page by page, with tools, decisions, files and ids', async ({ expect }) => {
  const { chat } = await openPage()
  const files = [
    {
      type: 'file' as const,
      mediaType: 'text/plain',
      filename: 'a.txt',
      url: `data:text/plain;base64,${btoa('words')}`,
    },
  ]
  await chat.sendMessage({ text: 'say One.', files })
  await chat.sendMessage({ text: 'call inspect {}' })
  await chat.sendMessage({ text: 'think Hm.\ncall pay {"amount": 5}' })
  await chat.addToolApprovalResponse({ id: callOf(chat).approval.id, approved: false, reason: 'Too much.' })
  await expect.poll(() => shown(chat).at(-1)!.length).toBe(4)

  const loaded: any[] = []
  let before: string | undefined
  do {
    const page = await loadMessages(ground.client, chat.id, { pageSize: 2, ...(before && { before }) })
    loaded.unshift(...page.messages)
    before = page.before
  } while (before !== undefined)
  expect(loaded.map(({ id, role }) => [id, role])).toEqual(chat.messages.map(({ id, role }) => [id, role]))
  expect(loaded.map(partsOf).slice(1)).toEqual(chat.messages.map(partsOf).slice(1))
  expect(loaded[0].parts).toMatchObject([
    { type: 'file', mediaType: 'text/plain', filename: 'a.txt' },
    { text: 'say One.' },
  ])
  expect(loaded.at(-1).parts.find(({ type }: any) => type === 'dynamic-tool').approval).toMatchObject({
    approved: false,
    reason: 'Too much.',
  })
})

test.concurrent('[ADA91] after a reload the page goes on where it was, with a call that waits', async ({ expect }) => {
  const before = await openPage()
  await before.chat.sendMessage({ text: 'call pay {"amount": 5}' })
  const page = await openPage(before.chat.id, { follow: true })
  await expect
    .poll(() => shown(page.chat))
    .toEqual([
      ['user', 'call pay {"amount": 5}'],
      ['assistant', ['pay', 'approval-requested', undefined]],
    ])
  await page.chat.addToolApprovalResponse({ id: callOf(page.chat).approval.id, approved: true })
  await expect
    .poll(() => shown(page.chat)[1])
    .toEqual(['assistant', ['pay', 'output-available', 'paid 5'], expect.stringContaining('paid 5')])
  expect(page.chat.messages).toHaveLength(2)
  page.stop()
})

test.concurrent(
  '[ADA92] ids of a page name conversations with the agent, the same after a reload',
  async ({ expect }) => {
    const { id: agentId } = await ground.startAgent()
    const chatId = crypto.randomUUID()
    const { chat } = await openPage(chatId, { agentId })
    await chat.sendMessage({ text: 'say One.' })
    const again = await openPage(chatId, { agentId, follow: true })
    await expect
      .poll(() => shown(again.chat))
      .toEqual([
        ['user', 'say One.'],
        ['assistant', 'One.'],
      ])
    again.stop()
    const { agent } = await ground.server.data(
      'query ($id: ID!) { agent(id: $id) { conversations { totalCount nodes { metadata } } } }',
      { id: agentId },
    )
    expect(agent.conversations.nodes.filter(({ metadata }: any) => metadata.chatId === chatId)).toHaveLength(1)
  },
)

test.concurrent(
  '[ADA93] an open page shows decisions, messages and answers of others as they happen',
  async ({ expect }) => {
    const page = await openPage(undefined, { follow: true })
    const { chat } = page
    await chat.sendMessage({ text: 'call pay {"amount": 5}' })
    await ground.decideElsewhere(chat.id, 'deny')
    await expect
      .poll(() => shown(chat)[1])
      .toEqual(['assistant', ['pay', 'output-denied', undefined], expect.any(String)])
    const other = await openPage(chat.id)
    const sending = other.chat.sendMessage({ text: `slow 30\nsay ${'word '.repeat(40)}end.` })
    await expect.poll(() => shown(chat).at(-1)).toEqual(['assistant', expect.stringMatching(/^word word(?!.*end)/)])
    await sending
    await expect.poll(() => shown(chat).at(-1)).toEqual(['assistant', expect.stringContaining('end.')])
    expect(chat.messages.map(({ id }) => id).slice(2)).toEqual(other.chat.messages.map(({ id }) => id))
    expect(chat.status).toBe('ready')
    // Another branch, which does not have the page's own run, is shown too.
    await chat.sendMessage({ text: 'say Own.' })
    await ground.server.data('mutation ($input: RegenerateInput!) { regenerate(input: $input) { __typename } }', {
      input: { runId: chat.messages[1].id },
    })
    await expect.poll(() => chat.messages.length).toBe(2)
    await expect.poll(() => shown(chat)[1]).toEqual(['assistant', ['pay', 'approval-requested', undefined]])
    page.stop()
  },
)

test.concurrent(
  '[ADA94] answers carry the model, times, usage and stop reason, and names of files come in',
  async ({ expect }) => {
    const { chat } = await openPage()
    await chat.sendMessage({
      text: 'say Seen.',
      files: [
        { type: 'file', mediaType: 'image/png', filename: 'a.png', url: `data:image/png;base64,${btoa('pixels')}` },
      ],
    })
    expect(chat.lastMessage!.metadata).toMatchObject({
      model: 'demo/scripted',
      stopReason: 'END_TURN',
      usage: { steps: 1 },
      finishedAt: expect.any(String),
    })
    const { run } = await ground.server.data(
      'query ($id: ID!) { run(id: $id) { input { clientId content { kind file { name mediaType } } } } }',
      { id: chat.lastMessage!.id },
    )
    expect(run.input[0]).toMatchObject({
      clientId: chat.messages[0].id,
      content: [{ kind: 'IMAGE', file: { name: 'a.png', mediaType: 'image/png' } }, { kind: 'TEXT' }],
    })
  },
)
