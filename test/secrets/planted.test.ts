import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'

import { afterAll, beforeAll, expect, test } from 'vitest'
import { WebSocket } from 'ws'

import type { OpenDatabase } from '../../src/store/database/open-database.ts'
import { createTestDatabase } from '../support/database.ts'
import { createGraphQLClient } from '../support/graphql-client.ts'
import { plantedMark } from '../support/kept-output.ts'
import { spawnMain, type ServerProcess } from '../support/server-process.ts'

/** Part of every secret in this test. */
const mark = plantedMark
const configured = `hp_${mark}_configured`

let database: OpenDatabase
let server: ServerProcess
let url: string
/** Everything that clients were sent. */
const answers: string[] = []
const refusing = createServer((_request, response) => void response.writeHead(401).end('{"error":{"message":"no"}}'))

beforeAll(async () => {
  await new Promise<void>((resolve) => refusing.listen(0, '127.0.0.1', resolve))
  database = await createTestDatabase()
  const provider = { OPENAI_API_KEY: `sk-${mark}`, OPENAI_BASE_URL: address('/v1') }
  server = spawnMain(['serve'], {
    DATABASE_URL: database.url,
    HOLDPOINT_API_KEY: configured,
    HOLDPOINT_SECRET_KEY: `${mark}-${'x'.repeat(32)}`,
    HOLDPOINT_ALLOW_PRIVATE_NETWORK: '1',
    LOG_LEVEL: 'trace',
    ...provider,
  })
  url = await server.ready()
})
afterAll(async () => {
  server.child.kill('SIGTERM')
  await server.ended
  refusing.closeAllConnections()
  refusing.close()
  await database.close()
})

function address(path: string): string {
  return `http://127.0.0.1:${(refusing.address() as AddressInfo).port}${path}`
}

async function post(body: unknown, headers: Record<string, string> = {}): Promise<any> {
  const response = await fetch(url, {
    method: 'POST',
    body: typeof body === 'string' ? body : JSON.stringify(body),
    headers: { 'content-type': 'application/json', authorization: `Bearer ${configured}`, ...headers },
  })
  const text = await response.text()
  answers.push(text)
  return JSON.parse(text).data
}

/** Opens a socket with this key, and waits until the server closes it or acknowledges it. */
async function connect(authorization: string): Promise<void> {
  const socket = new WebSocket(url.replace(/^http/, 'ws'), 'graphql-transport-ws')
  socket.on('open', () => socket.send(JSON.stringify({ type: 'connection_init', payload: { authorization } })))
  await new Promise<void>((resolve) => {
    socket.on('message', (data) => {
      answers.push(String(data))
      socket.close()
    })
    socket.on('close', (code, reason) => {
      answers.push(`${code} ${reason}`)
      resolve()
    })
  })
}

const headers = { authorization: `Bearer ${mark}`, 'x-key': mark }

test('[SEC4] secrets are in no log line, error, answer, audit entry or model request', async () => {
  const upsert =
    'mutation ($input: UpsertToolInput!) { upsertTool(input: $input) { tool { id name url headerNames } } }'
  const http = (path: string) => ({ http: { url: address(path), headers } })
  const tool = (name: string, implementation: object) => ({
    query: upsert,
    variables: { input: { name, parameters: { type: 'object' }, implementation } },
  })
  const refused = await post(tool('refused', http('/refused')))
  const gone = await post(tool('gone', { http: { url: 'http://127.0.0.1:9/', headers } }))
  // Bad input beside secrets: the error must not print the whole value.
  await post(tool('bad', { http: { url: 'ftp://x', headers } }))
  await post(tool('bad', { http: { url: address('/'), headers, other: 1 } }))
  await post(tool('bad', { http: { url: { headers }, headers } }))
  await post(tool('bad', { http: { url: address('/'), headers: { 'x-key': `${mark}\n` } } }))
  await post(tool('bad', { http: { url: address('/').replace('//', `//user:${mark}@`), headers } }))
  await post({
    query: 'mutation ($input: AddMcpServerInput!) { addMcpServer(input: $input) { server { id } } }',
    variables: { input: { name: 'm', url: address('/mcp'), headers } },
  })
  // Wrong keys, in the right place and in wrong ones.
  const wrong = `hp_${mark}_wrong`
  await post({ query: '{ viewer { keyName } }' }, { authorization: `Bearer ${wrong}` })
  await post({ query: '{ viewer { keyName } }' }, { authorization: wrong })
  await post(`{"query": "{ viewer { keyName } }", ${mark}`)
  await post({ query: 'query ($id: ID!) { node(id: $id) { id } }', variables: { id: 'x' }, extensions: { key: wrong } })
  for (const key of [wrong, `Bearer ${wrong}`, `Bearer ${configured}`]) await connect(key)

  // A turn whose tools fail, and one whose provider refuses the key.
  const toolIds = [refused, gone].map(({ upsertTool }) => ({ toolId: upsertTool.tool.id }))
  const create = 'mutation ($input: CreateAgentInput!) { createAgent(input: $input) { agent { id } } }'
  const send = `mutation ($input: SendMessageInput!) { sendMessage(input: $input) { ... on SendMessageSuccess { run {
    status error { message detail } steps { toolCalls { result { output stdout stderr } } error { message } }
    conversation { context { request systemPrompt } } } } } }`
  for (const model of ['demo/scripted', 'openai/gpt-5']) {
    const { createAgent } = await post({ query: create, variables: { input: { name: 'a', model, tools: toolIds } } })
    const messages = [{ text: 'call refused {}\ncall gone {}' }]
    const input = { to: { agentId: createAgent.agent.id }, messages, waitMs: 60_000 }
    const { sendMessage } = await post({ query: send, variables: { input } })
    expect(sendMessage.run.status).toBe(model === 'demo/scripted' ? 'COMPLETED' : 'FAILED')
  }
  await post({ query: '{ auditLog { nodes { action before after } } tools { nodes { id name url headerNames } } }' })
  await post({ query: '{ apiKeys { id name } viewer { actor { id name } } models { handle isConfigured } }' })
  // The database fails in the middle of a request.
  await database.pool.query(
    'select pg_terminate_backend(pid) from pg_stat_activity where pid <> pg_backend_pid() and datname = current_database()',
  )
  await post({ query: '{ apiKeys { id } }' })

  const client = createGraphQLClient(url, { authorization: `Bearer ${configured}` })
  await expect.poll(async () => (await client.request('{ __typename }')).status).toBe(200)
  expect(answers.filter((answer) => answer.includes(mark))).toEqual([])
  const written = `${server.stdout()}${server.stderr()}`
  expect(written.length).toBeGreaterThan(1_000)
  expect(written.split('\n').filter((line) => line.includes(mark))).toEqual([])
})
