import { Chat } from '@ai-sdk/react'
import { lastAssistantMessageIsCompleteWithApprovalResponses, lastAssistantMessageIsCompleteWithToolCalls } from 'ai'
import { afterAll, test } from 'vitest'

import { createChatTransport, type ChatTransportOptions } from '../../adapters/ai-sdk.ts'
import { startAdapterGround } from './ground.ts'

const ground = await startAdapterGround()
afterAll(async () => ground.stop())

async function openChat(id?: string, options: ChatTransportOptions = {}): Promise<Chat<any>> {
  return new Chat<any>({
    id: id ?? (await ground.startConversation()),
    transport: createChatTransport(ground.client, options),
    sendAutomaticallyWhen: (options) =>
      lastAssistantMessageIsCompleteWithApprovalResponses(options) ||
      lastAssistantMessageIsCompleteWithToolCalls(options),
  })
}

const shown = (chat: Chat<any>) =>
  (chat.lastMessage?.role === 'assistant' ? chat.lastMessage.parts : [])
    .filter(({ type }: any) => type !== 'step-start')
    .map(({ type, text, toolName, state, output, errorText }: any) =>
      type === 'dynamic-tool' ? [toolName, state, output ?? errorText] : [type, text],
    )

// They wait for slow answers at the same time, each in a conversation of its own.
test.concurrent('[ADA1] an answer with reasoning arrives in the chat', async ({ expect }) => {
  const chat = await openChat()
  await chat.sendMessage({ text: 'think Hm, a greeting.\nsay Hello from the other side.' })
  expect(chat.status).toBe('ready')
  expect(shown(chat)).toEqual([
    ['reasoning', 'Hm, a greeting.'],
    ['text', 'Hello from the other side.'],
  ])
  expect(chat.lastMessage!.id).toMatch(/^run_/)
})

test.concurrent('[ADA1] a failed run is an error of the chat', async ({ expect }) => {
  const chat = await openChat()
  await chat.sendMessage({ text: 'fail rate_limit' })
  expect(chat.status).toBe('error')
  expect(chat.error!.message).not.toBe('')
})

test.concurrent('[ADA2] an approval and a denial continue the run in the same message', async ({ expect }) => {
  const chat = await openChat()
  await chat.sendMessage({ text: 'call pay {"amount": 5}' })
  expect(shown(chat)).toEqual([['pay', 'approval-requested', undefined]])
  const part = chat.lastMessage!.parts.find(({ type }: any) => type === 'dynamic-tool')
  await chat.addToolApprovalResponse({ id: part.approval.id, approved: true })
  await expect
    .poll(() => shown(chat))
    .toEqual([
      ['pay', 'output-available', 'paid 5'],
      ['text', expect.stringContaining('paid 5')],
    ])
  expect(chat.messages).toHaveLength(2)

  await chat.sendMessage({ text: 'call pay {"amount": 6}' })
  const second = chat.lastMessage!.parts.find(({ type }: any) => type === 'dynamic-tool')
  await chat.addToolApprovalResponse({ id: second.approval.id, approved: false, reason: 'Too much.' })
  await expect.poll(() => shown(chat)[1]?.[1]).toContain('Too much.')
  expect(shown(chat)[0]).toEqual(['pay', 'output-denied', undefined])
})

test.concurrent(
  '[ADA3] stop cancels the run, a resumed chat shows it whole, and regenerating makes another version',
  async ({ expect }) => {
    const long = `One two three ${'and another word '.repeat(15)}at last.`
    const chat = await openChat()
    const sending = chat.sendMessage({ text: `slow 100\nsay ${long}` })
    await expect.poll(() => shown(chat)[0]?.[1]).toContain('three')
    const other = await openChat(chat.id)
    const resuming = other.resumeStream()
    await expect.poll(() => shown(other)[0]?.[1]).toContain('One two')
    await chat.stop()
    await sending
    await resuming
    const status = 'query ($id: ID!) { run(id: $id) { status answer } }'
    const runOf = async () => (await ground.server.data(status, { id: other.lastMessage!.id })).run
    await expect.poll(async () => (await runOf()).status).toBe('CANCELLED')
    expect(shown(other)).toEqual([['text', (await runOf()).answer]])

    const first = other.lastMessage!.id
    await other.regenerate({ messageId: first })
    expect(other.lastMessage!.id).not.toBe(first)
    expect(shown(other)).toEqual([['text', long]])
  },
)

const clipboard = { name: 'clipboard', description: 'The clipboard.', parameters: { type: 'object' } }
const toolPart = (chat: Chat<any>, name: string) =>
  chat.lastMessage!.parts.find(({ toolName }: any) => toolName === name)

test.concurrent(
  '[ADA81] a tool of the page is answered with `addToolOutput`, beside a call that waits for approval',
  async ({ expect }) => {
    const chat = await openChat(undefined, { clientTools: [clipboard] })
    await chat.sendMessage({ text: 'call clipboard {}' })
    expect(shown(chat)).toEqual([['clipboard', 'input-available', undefined]])
    const { toolCallId } = toolPart(chat, 'clipboard')
    await chat.addToolOutput({ tool: 'clipboard', toolCallId, output: 'a shopping list' })
    await expect.poll(() => shown(chat).at(-1)).toEqual(['text', expect.stringContaining('a shopping list')])
    expect(chat.messages).toHaveLength(2)

    await chat.sendMessage({ text: 'call clipboard {}\ncall pay {"amount": 5}' })
    const [waits, approval] = [toolPart(chat, 'clipboard').toolCallId, toolPart(chat, 'pay').approval.id]
    await chat.addToolApprovalResponse({ id: approval, approved: true })
    // One answer alone, sent by hand: the run still waits, and the chat is ready for the other answer.
    await chat.sendMessage()
    expect(chat.status).toBe('ready')
    await chat.addToolOutput({ tool: 'clipboard', toolCallId: waits, state: 'output-error', errorText: 'Not allowed.' })
    await expect.poll(() => shown(chat).at(-1)?.[1]).toContain('paid 5')
    expect(shown(chat).at(-1)![1]).toContain('Not allowed.')
  },
)

test.concurrent('[ADA82] images and documents of a message reach the model', async ({ expect }) => {
  const chat = await openChat()
  const files = [
    { type: 'file' as const, mediaType: 'image/png', url: `data:image/png;base64,${btoa('pixels')}` },
    { type: 'file' as const, mediaType: 'text/plain', url: `data:text/plain;base64,${btoa('words')}` },
  ]
  await chat.sendMessage({ text: 'say Seen.', files })
  expect(shown(chat)).toEqual([['text', expect.stringContaining('words')]])
  const { run } = await ground.server.data(
    'query ($id: ID!) { run(id: $id) { input { content { kind text imageUrl documentUrl } } } }',
    {
      id: chat.lastMessage!.id,
    },
  )
  expect(run.input[0].content).toMatchObject([
    { kind: 'IMAGE', imageUrl: files[0]!.url },
    { kind: 'DOCUMENT', documentUrl: files[1]!.url },
    { kind: 'TEXT', text: 'say Seen.' },
  ])
})

test.concurrent(
  '[ADA83] text that is stored stays in the chat when a call is cancelled while it is written',
  async ({ expect }) => {
    const chat = await openChat()
    const sending = chat.sendMessage({
      text: `slow 20\nsay Before the call.\ncall pay {"amount": 5, "note": "${'long '.repeat(200)}"}`,
    })
    await expect.poll(() => chat.lastMessage!.parts.some(({ state }: any) => state === 'input-streaming')).toBe(true)
    const other = await openChat(chat.id)
    const resuming = other.resumeStream()
    await expect.poll(() => shown(other)[0]?.[1]).toBe('Before the call.')
    await chat.stop()
    await Promise.all([sending, resuming])
    expect(shown(other)).toEqual([['text', 'Before the call.']])
  },
)
