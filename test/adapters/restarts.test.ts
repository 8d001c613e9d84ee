import { HttpAgent } from '@ag-ui/client'
import { Chat } from '@ai-sdk/react'
import { afterAll, beforeAll, expect, test } from 'vitest'

import { createAgUiHandler } from '../../adapters/ag-ui.ts'
import { createChatTransport } from '../../adapters/ai-sdk.ts'
import type { OpenDatabase } from '../../src/store/database/open-database.ts'
import { startTestApp } from '../support/app.ts'
import { createTestDatabase } from '../support/database.ts'
import { createGatedModel, gatedHandle } from '../support/gated-model.ts'
import { startAdapterGround, type AdapterGround } from './ground.ts'

const model = createGatedModel()
let database: OpenDatabase
let ground: AdapterGround

beforeAll(async () => {
  database = await createTestDatabase()
  // An API without a worker: the workers of the test come and go.
  ground = await startAdapterGround({ database, providers: [model.provider], env: { HOLDPOINT_WORKERS: '0' } })
})
afterAll(async () => {
  model.assertAllTaken()
  await ground.stop()
  await database.close()
})

const startWorker = () =>
  startTestApp({ database, providers: [model.provider], role: 'worker', env: { HOLDPOINT_DRAIN_MS: '0' } })

/** Writes half an answer, stops the worker, and lets the next one write the whole answer. */
async function restart(hasShown: (text: string) => Promise<void>): Promise<void> {
  const first = await startWorker()
  const call = await model.nextCall()
  call.say('Half a sen')
  await hasShown('Half a sen')
  await first.stop()
  const second = await startWorker()
  const again = await model.nextCall()
  again.say('The whole ')
  await hasShown('The whole ')
  again.say('answer.')
  again.finish()
  await hasShown('The whole answer.')
  await second.stop()
}

test('[ADA80] a step that starts again in mid-text leaves no text twice in the chat of the AI SDK', async () => {
  const id = await ground.startConversation({ model: gatedHandle })
  const chat = new Chat<any>({ id, transport: createChatTransport(ground.client) })
  const texts = () =>
    (chat.lastMessage?.role === 'assistant' ? chat.lastMessage.parts : []).flatMap((part: any) => part.text ?? [])
  const sending = chat.sendMessage({ text: 'hello' })
  await restart(async (text) => {
    await expect.poll(texts).toEqual([text])
  })
  await sending
  expect(texts()).toEqual(['The whole answer.'])
})

test('[ADA80] a step that starts again in mid-text leaves no text twice in an AG-UI client', async () => {
  const handle = createAgUiHandler(ground.client)
  const threadId = await ground.startConversation({ model: gatedHandle })
  const agent = new HttpAgent({
    url: 'http://localhost/',
    threadId,
    fetch: async (url, init) => handle(new Request(url, init)),
  })
  agent.addMessage({ id: crypto.randomUUID(), role: 'user', content: 'hello' })
  const texts = () => agent.messages.flatMap(({ role, content }) => (role === 'assistant' ? [content] : []))
  const running = agent.runAgent()
  await restart(async (text) => {
    await expect.poll(texts).toEqual([text])
  })
  await running
  expect(texts()).toEqual(['The whole answer.'])
})
