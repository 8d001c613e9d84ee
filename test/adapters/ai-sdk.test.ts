import { Chat } from '@ai-sdk/react'
import { lastAssistantMessageIsCompleteWithApprovalResponses, lastAssistantMessageIsCompleteWithToolCalls } from 'ai'
import { afterAll, beforeAll, expect, test } from 'vitest'

import { createChatTransport } from '../../adapters/ai-sdk.ts'
import { startAdapterGround, type AdapterGround } from './ground.ts'

let ground: AdapterGround

beforeAll(async () => {
  ground = await startAdapterGround()
})
afterAll(async () => ground.stop())

async function openChat(id?: string): Promise<Chat<any>> {
  return new Chat<any>({
    id: id ?? (await ground.startConversation()),
    transport: createChatTransport(ground.client),
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

test('[ADA1] an answer with reasoning arrives in the chat', async () => {
  const chat = await openChat()
  await chat.sendMessage({ text: 'think Hm, a greeting.\nsay Hello from the other side.' })
  expect(chat.status).toBe('ready')
  expect(shown(chat)).toEqual([
    ['reasoning', 'Hm, a greeting.'],
    ['text', 'Hello from the other side.'],
  ])
  expect(chat.lastMessage!.id).toMatch(/^run_/)
})

test('[ADA1] a failed run is an error of the chat', async () => {
  const chat = await openChat()
  await chat.sendMessage({ text: 'fail rate_limit' })
  expect(chat.status).toBe('error')
  expect(chat.error!.message).not.toBe('')
})

test('[ADA2] an approval and a denial continue the run in the same message', async () => {
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

test('[ADA3] stop cancels the run, a resumed chat shows it whole, and regenerating makes another version', async () => {
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
})
