import { afterAll, beforeAll, expect, test } from 'vitest'

import { createChatTransport } from '../../adapters/ai-sdk.ts'
import { createClient, followConversation, type TranscriptState } from '../../client/index.ts'
import { startTestApp, type TestApp } from '../support/app.ts'
import { startMcpServer, type TestMcpServer } from './mcp-server.ts'

let server: TestMcpServer
let worker: TestApp
let api: TestApp
let conversationId: string
/** What the tool reports next, and whether it returns. */
let gate = Promise.withResolvers<object | undefined>()

beforeAll(async () => {
  server = await startMcpServer((mcp) =>
    mcp.registerTool('dig', { description: 'Digs.' }, async ({ sendNotification, _meta }) => {
      for (let report = await gate.promise; report; report = await gate.promise) {
        gate = Promise.withResolvers()
        const params = { progressToken: _meta!.progressToken!, progress: 0, ...report }
        await sendNotification({ method: 'notifications/progress', params })
      }
      return { content: [{ type: 'text', text: 'dug' }] }
    }),
  )
  const env = { HOLDPOINT_ALLOW_PRIVATE_NETWORK: '1' }
  api = await startTestApp({ env: { ...env, HOLDPOINT_WORKERS: '0' } })
  worker = await startTestApp({ env, database: api.database, role: 'worker' })
  await api.data('mutation { addMcpServer(input: { name: "Pit", url: "' + server.url + '" }) { server { id } } }')
  const { createAgent } = await api.data(
    'mutation { createAgent(input: { name: "Ada", model: "demo/scripted", includeBaseTools: false, tools: [{ toolName: "dig" }] }) { agent { mainConversation { id } } } }',
  )
  conversationId = createAgent.agent.mainConversation.id
})
afterAll(async () => {
  await worker.stop()
  await api.stop()
  await server.stop()
})

const callsQuery = '{ toolCalls(last: 1) { nodes { status progress { progress total message } } } }'
const lastCall = async () => (await api.data(callsQuery)).toolCalls.nodes[0]

test('[PRG1] [PRG2] what a tool of an MCP server reports is shown in another process, in streams and chats, until it has ended', async () => {
  const client = createClient({ url: api.url })
  let state: TranscriptState | undefined
  const follower = followConversation(client, conversationId, { onChange: (transcript) => (state = transcript.state) })
  const entry = () => state?.entries.find(({ kind }) => kind === 'call') as any
  const chunks: any[] = []
  const stream = await createChatTransport(client).sendMessages({
    trigger: 'submit-message',
    chatId: conversationId,
    messageId: undefined,
    messages: [{ id: 'm1', role: 'user', parts: [{ type: 'text', text: 'call dig {}' }] }],
    abortSignal: undefined,
  })
  const read = (async () => {
    for await (const chunk of stream as any) chunks.push(chunk)
  })()
  gate.resolve({ progress: 1, total: 4, message: 'Earth' })
  await expect.poll(async () => (await lastCall()).progress).toEqual({ progress: 1, total: 4, message: 'Earth' })
  await expect.poll(() => entry()?.progress).toEqual({ progress: 1, total: 4, message: 'Earth' })
  gate.resolve({ progress: 2 })
  await expect.poll(() => entry()?.progress).toEqual({ progress: 2, total: null, message: null })
  expect(entry().call.status).toBe('RUNNING')
  gate.resolve(undefined)
  await read
  expect(await lastCall()).toEqual({ status: 'SUCCEEDED', progress: null })
  await expect.poll(() => entry()?.call.status).toBe('SUCCEEDED')
  expect(entry().progress).toBeUndefined()
  expect(chunks.filter(({ type }) => type === 'data-progress').map(({ data }) => data.progress)).toEqual([1, 2])
  follower.stop()
  const { conversation } = await api.data(
    'query ($id: ID!) { conversation(id: $id) { latestRun { events(types: [TOOL_CALL_PROGRESSED]) { nodes { __typename } } } } }',
    { id: conversationId },
  )
  expect(conversation.latestRun.events.nodes).toEqual([])
})

test('[PRG1] reports are passed on at most four times a second per call, the latest last', async () => {
  gate = Promise.withResolvers()
  const client = createClient({ url: api.url })
  const seen: { readonly at: number; readonly progress: number }[] = []
  const follower = followConversation(client, conversationId, {
    onEvent: (event) => {
      if (event.__typename === 'ToolCallProgressed')
        seen.push({ at: Date.parse(event.at), progress: event.progress.progress })
    },
  })
  await api.data(
    'mutation ($id: ID!) { sendMessage(input: { to: { conversationId: $id }, messages: [{ text: "call dig {}" }] }) { __typename } }',
    { id: conversationId },
  )
  for (let progress = 1; progress <= 200; progress += 1) {
    const { promise } = gate
    gate.resolve({ progress })
    await expect.poll(() => gate.promise === promise, { interval: 1 }).toBe(false)
  }
  await expect.poll(() => seen.at(-1)?.progress).toBe(200)
  const lastedMs = seen.at(-1)!.at - seen[0]!.at
  expect(seen.length).toBeLessThanOrEqual(2 + lastedMs / 200)
  gate.resolve(undefined)
  await expect.poll(async () => (await lastCall()).status).toBe('SUCCEEDED')
  follower.stop()
})
