import { createHmac } from 'node:crypto'
import { readFile } from 'node:fs/promises'
import { createServer, type IncomingHttpHeaders, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { text } from 'node:stream/consumers'

import { afterAll, afterEach, beforeAll, expect, test } from 'vitest'

import { openActor } from '../../src/domain/access/actor.ts'
import { findTenantSecret } from '../../src/store/access/tenants.ts'
import { createSecretBox } from '../../src/util/secret-box.ts'
import { defineTool } from '../../src/tools/registry.ts'
import { startGround, type Ground } from '../approvals/ground.ts'
import { approve, type Talk } from '../support/talk.ts'
import { startMcpServer, type TestMcpServer } from './mcp-server.ts'

interface Received {
  readonly headers: IncomingHttpHeaders
  readonly body: string
}

let ground: Ground
let talk: Talk
let server: Server
let mcp: TestMcpServer
let origin: string
const told: unknown[] = []
const received: Received[] = []
const inCode = defineTool({
  name: 'in_code',
  description: '',
  parameters: { type: 'object' },
  run: (_args, { signal: _signal, ...context }) => void told.push(context),
})

beforeAll(async () => {
  server = createServer((request, response) => {
    void text(request).then((body) => {
      received.push({ headers: request.headers, body })
      const location = `http://localhost:${(server.address() as AddressInfo).port}/`
      if (request.url === '/elsewhere') response.writeHead(307, { location }).end()
      else response.end('ok')
    })
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  origin = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  mcp = await startMcpServer((registering) => {
    registering.registerTool('in_mcp', {}, ({ _meta }) => {
      told.push(_meta?.['holdpoint/context'])
      return { content: [{ type: 'text', text: 'ok' }] }
    })
  })
  ground = await startGround({ env: { HOLDPOINT_ALLOW_PRIVATE_NETWORK: '1' }, tools: [inCode] })
  talk = ground.talk
  await ground.app.data(
    'mutation ($url: String!) { addMcpServer(input: { name: "m", url: $url }) { server { id } } }',
    {
      url: mcp.url,
    },
  )
})
afterEach(() => {
  told.length = 0
  received.length = 0
  ground.check()
})
afterAll(async () => {
  await ground.app.stop()
  await mcp.stop()
  server.closeAllConnections()
  server.close()
})

/** A run that calls the tool once, approved if it needs approval. */
async function callOnce(
  name: string,
  options: { readonly approvalOverride?: boolean; readonly metadata?: object } = {},
) {
  const { approvalOverride = true, metadata = { ticket: 7 } } = options
  const agent = await talk.createAgent({ tools: [{ name, approvalOverride }] })
  const runId = await talk.start(agent, 'go', { metadata })
  await ground.call([name, {}])
  if (approvalOverride) await talk.submit(runId, [approve((await talk.pending(runId))[0])])
  await ground.answer('done')
  const run = await talk.settled(runId)
  const { toolCalls } = run.steps[0]
  expect(toolCalls).toMatchObject([{ status: 'SUCCEEDED' }])
  const conversationId = run.conversation.id
  return {
    callId: toolCalls[0].id,
    context: { runId, agentId: agent, conversationId, metadata, sentBy: openActor, approvedBy: [openActor] },
  }
}

async function upsertHttpTool(path: string): Promise<void> {
  await ground.app.data('mutation ($input: UpsertToolInput!) { upsertTool(input: $input) { tool { id } } }', {
    input: { name: 'by_http', implementation: { http: { url: new URL(path, origin).href } } },
  })
}

const contextIn = ({ headers }: Received) =>
  JSON.parse(Buffer.from(String(headers['holdpoint-context']), 'base64url').toString())

/** The code in docs/tools.md that checks a call, as the address of a module. */
async function documentedReceiver(): Promise<string> {
  const page = await readFile(new URL('../../docs/tools.md', import.meta.url), 'utf8')
  const [, code] = /```js\n([^`]*createHmac[^]*?)```/.exec(page)!
  return `data:text/javascript,${encodeURIComponent(code!)}`
}

test('[WHO1] tools in code, HTTP and MCP know conversation, metadata, sender and approver', async () => {
  const code = await callOnce('in_code')
  expect(told.splice(0)).toEqual([{ idempotencyKey: code.callId, traceparent: null, ...code.context }])
  const byMcp = await callOnce('in_mcp')
  expect(told.splice(0)).toEqual([{ callId: byMcp.callId, ...byMcp.context }])
  await upsertHttpTool('/')
  const byHttp = await callOnce('by_http')
  expect(received.map(contextIn)).toEqual([{ callId: byHttp.callId, ...byHttp.context }])
  expect(received[0]!.headers['holdpoint-conversation']).toBe(byHttp.context.conversationId)

  const unapproved = await callOnce('in_code', { approvalOverride: false })
  const context = { ...unapproved.context, traceparent: null, approvedBy: [] }
  expect(told).toEqual([{ idempotencyKey: unapproved.callId, ...context }])
})

test('[WHO2] the context of an HTTP call is signed; large metadata is left out, and no other origin is told', async () => {
  await upsertHttpTool('/')
  await callOnce('by_http')
  const [{ headers, body }] = received.splice(0) as [Received]
  const secret = (await findTenantSecret(ground.app.database.db, createSecretBox([])))!
  const signed = [headers['holdpoint-timestamp'], headers['holdpoint-context'], body].join('.')
  const expected = `v1=${createHmac('sha256', secret).update(signed).digest('hex')}`
  expect(headers['holdpoint-context-signature']).toBe(expected)
  const { contextOfCall } = await import(/* @vite-ignore */ await documentedReceiver())
  expect(contextOfCall(headers, body, secret)).toEqual(contextIn({ headers, body }))
  expect(() => contextOfCall(headers, `${body} `, secret)).toThrow('not from Holdpoint')

  const { context } = await callOnce('by_http', { metadata: { text: 'ü'.repeat(5_000) } })
  expect(contextIn(received.splice(0)[0]!)).toMatchObject({ ...context, metadata: null })

  await upsertHttpTool('/elsewhere')
  await callOnce('by_http')
  const [first, second] = received as [Received, Received]
  expect(contextIn(first)).toMatchObject({ metadata: { ticket: 7 } })
  expect(Object.keys(second.headers).filter((name) => name.startsWith('holdpoint-context'))).toEqual([])
  expect(second.headers['holdpoint-run']).toBe(first.headers['holdpoint-run'])
})
