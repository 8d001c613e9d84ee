import type { McpServer } from '@modelcontextprotocol/sdk/server/mcp.js'
import { CallToolRequestSchema, ListToolsRequestSchema } from '@modelcontextprotocol/sdk/types.js'
import { afterAll, expect, test } from 'vitest'

import { storableJsonText } from '../../src/util/json.ts'
import { startTestApp } from '../support/app.ts'
import { watchThread } from '../support/blocked.ts'
import { talkTo } from '../support/talk.ts'
import { startMcpServer } from './mcp-server.ts'

/** What Postgres and headers refuse, and a prompt should not have. */
const odd = 'a\u0000b\ud800\r\nx-evil: 1'
const data = Buffer.alloc(20_000, 'A').toString('base64')

/** How the server answers calls, by the name of the tool. */
const results = new Map<string, () => object>()
let listed: object[] = []
const calls: string[] = []

function register(mcp: McpServer): void {
  mcp.registerTool('x', {}, () => ({ content: [] }))
  mcp.server.setRequestHandler(ListToolsRequestSchema, () => ({ tools: listed as never }))
  mcp.server.setRequestHandler(CallToolRequestSchema, ({ params }) => {
    calls.push(params.name)
    return results.get(params.name)!()
  })
}

const server = await startMcpServer(register)
const app = await startTestApp({ env: { HOLDPOINT_ALLOW_PRIVATE_NETWORK: '1' } })
const talk = talkTo(app)
afterAll(async () => {
  await app.stop()
  await server.stop()
})

const tools = 'server { id lastError tools { id name description } }'
const add = async (name: string) => {
  const document = `mutation ($input: AddMcpServerInput!) { addMcpServer(input: $input) { ${tools} } }`
  return (await app.data(document, { input: { name, url: server.url } })).addMcpServer.server
}
const refresh = async (id: string) => {
  const document = `mutation ($id: ID!) { refreshMcpServer(input: { id: $id }) { ${tools} } }`
  return (await app.data(document, { id })).refreshMcpServer.server
}

/** The result of a call, and what the model has read of it. */
async function call(name: string) {
  calls.splice(0)
  const agent = await talk.createAgent({ model: 'demo/scripted', tools: [name] })
  const run = await talk.start(agent, `call ${name} {}`)
  const shown = await talk.settled(
    run,
    `status attempts answer steps { toolCalls { result { status output json truncated
      content { kind text file { url name mediaType } } } } }`,
  )
  expect(shown).toMatchObject({ status: 'COMPLETED', attempts: 1 })
  expect(calls).toHaveLength(1)
  const next = await talk.start(agent, 'hello')
  expect(await talk.settled(next, 'status')).toMatchObject({ status: 'COMPLETED' })
  return { answer: shown.answer as string, ...shown.steps[0].toolCalls[0].result }
}

const mediaTypes = {
  nul: 'image/\u0000png',
  crlf: 'image/png\r\nx-evil: 1',
  check: 'image/✓',
  long: `image/${'x'.repeat(300_000)}`,
  quote: 'text/"><document>',
  none: '',
}

test('[RET66] a media type that is none is stored as that of unknown bytes, and its file can be downloaded', async () => {
  listed = Object.keys(mediaTypes).map((name) => ({ name, inputSchema: { type: 'object' } }))
  for (const [name, mimeType] of Object.entries(mediaTypes))
    results.set(name, () => ({ content: [{ type: 'image', data, mimeType }] }))
  for (const { id } of (await add('types')).tools) {
    await app.data('mutation ($id: ID!) { updateTool(input: { id: $id, idempotent: true }) { tool { id } } }', { id })
  }
  for (const name of Object.keys(mediaTypes)) {
    const result = await call(name)
    expect(result).toMatchObject({ status: 'SUCCESS', content: [{ file: { mediaType: 'application/octet-stream' } }] })
    expect(result.answer).toMatch(/^\S+ returned: \[document of type application\/octet-stream, 20 KB\. [^<\]]+\]$/)
    const response = await fetch(new URL(result.content[0].file.url, app.url))
    expect([response.status, response.headers.get('content-type')]).toEqual([200, 'application/octet-stream'])
    expect(await response.text()).toBe('A'.repeat(20_000))
  }
})

test('[MCP66] whatever texts a result has, it is stored within the limits of the tool', async () => {
  const long = `${odd}${'x'.repeat(300_000)}`
  const parts = [
    { type: 'text', text: long, annotations: { audience: ['user'], priority: 1 }, _meta: { [odd]: odd } },
    { type: 'image', data: '', mimeType: long },
    { type: 'resource', resource: { uri: `file:///${long}`, text: long, mimeType: long } },
    { type: 'resource', resource: { uri: `file:///${odd}`, blob: data, mimeType: 'application/pdf' } },
    { type: 'resource_link', uri: `file:///${long}`, name: long, title: long, description: long, mimeType: long },
  ]
  const found = new Map<string, object>([
    ['parts', { content: parts, structuredContent: { [odd]: odd }, _meta: { [odd]: long } }],
    ['failed', { content: parts.slice(0, 1), isError: true }],
    ['empty', { content: [], structuredContent: { [odd]: odd } }],
  ])
  listed = [...found.keys(), 'thrown'].map((name) => ({ name, inputSchema: { type: 'object' } }))
  for (const [name, result] of found) results.set(name, () => result)
  results.set('thrown', () => {
    throw new Error(long)
  })
  await add('texts')
  for (const [name, status] of Object.entries({
    parts: 'SUCCESS',
    failed: 'ERROR',
    empty: 'SUCCESS',
    thrown: 'ERROR',
  })) {
    const result = await call(name)
    expect(result.status).toBe(status)
    expect(result.output.length).toBeLessThan(50_100)
    expect(JSON.stringify(result.content).length).toBeLessThan(60_000)
    expect(storableJsonText(result)).toBe(JSON.stringify(result))
    expect(result.answer.length).toBeLessThan(60_000)
  }
})

test('[MCP66] of a list of tools only those that can be called are stored, at most 1,000, and a refresh keeps them', async () => {
  const inputSchema = { type: 'object' }
  listed = [
    {
      name: 'good',
      description: `${odd} good`,
      title: odd,
      annotations: { title: odd },
      _meta: { a: odd },
      inputSchema,
    },
    { name: odd, inputSchema },
    { name: 'half \ud800', inputSchema },
    { name: 'x'.repeat(501), inputSchema },
    { name: 'ü'.repeat(500), inputSchema },
    { name: '', inputSchema },
  ]
  const added = await add('lists')
  const names = added.tools.map(({ name }: { name: string }) => name)
  expect(names).toEqual(['good', '_'.repeat(64), '_'])
  expect(added.tools[0].description).toBe('ab\ufffd\r\nx-evil: 1 good')
  expect((await refresh(added.id)).tools).toEqual(added.tools)
  results.set('ü'.repeat(500), () => ({ content: [{ type: 'text', text: 'called' }] }))
  expect(await call('_'.repeat(64))).toMatchObject({ output: 'called' })

  listed = Array.from({ length: 1_001 }, (_, index) => ({ name: `many_${index}`, inputSchema }))
  expect((await refresh(added.id)).tools).toHaveLength(1_000)
})

test('[MCP66] a result is kept even if it cannot be stored that the server works again', async () => {
  listed = [{ name: 'back', inputSchema: { type: 'object' } }]
  results.set('back', () => ({ content: [{ type: 'text', text: 'again' }] }))
  await add('returned')
  await app.database.pool.query(`
    update mcp_servers set last_error = 'away' where name = 'returned';
    create function keep_error() returns trigger language plpgsql as $$
    begin raise exception 'a fault'; end $$;
    create trigger keeping before update on mcp_servers for each row execute function keep_error();`)
  expect(await call('back')).toMatchObject({ status: 'SUCCESS', output: 'again' })
  await app.database.pool.query('drop trigger keeping on mcp_servers')
})

test('[MCP66] the error of a server that cannot be used is cut, and shown as it is stored', async () => {
  listed = []
  const { id } = await add('errors')
  const broken = await startMcpServer((mcp) => {
    mcp.registerTool('x', {}, () => ({ content: [] }))
    mcp.server.setRequestHandler(ListToolsRequestSchema, () => {
      throw new Error(`${odd}${'x'.repeat(300_000)}`)
    })
  })
  await app.database.pool.query('update mcp_servers set url = $1 where name = $2', [broken.url, 'errors'])
  const { lastError } = await refresh(id)
  expect(lastError).toMatch(/^MCP error -?\d+: ab\ufffd\r\nx-evil: 1x+$/)
  expect(lastError).toHaveLength(2_000)
  const { node } = await app.data('query ($id: ID!) { node(id: $id) { ... on McpServer { lastError } } }', { id })
  expect(node).toEqual({ lastError })
  await broken.stop()
})

test('[MCP67] the schemas of its tools hold up nothing, and one that takes too long accepts any object', async () => {
  const properties = Object.fromEntries(
    Array.from({ length: 5_000 }, (_, i) => [`p${i}`, { type: 'string', pattern: `^a${i}`, minLength: 1 }]),
  )
  const pattern = 'a{1000}'.repeat(1_000)
  listed = [
    { name: 'large', inputSchema: { type: 'object' }, outputSchema: { type: 'object', properties } },
    { name: 'slow', inputSchema: { type: 'object', properties: { a: { pattern } } } },
    { name: 'fine', inputSchema: { type: 'object', properties: { a: { type: 'string' } } } },
  ]
  results.set('large', () => ({ content: [{ type: 'text', text: 'not structured' }] }))
  const watch = watchThread()
  await add('schemas')
  expect(watch.stop()).toBeLessThan(100)
  const shown = await app.data('{ mcpServers(last: 1) { nodes { tools { name parameters } } } }')
  expect(shown.mcpServers.nodes[0].tools).toEqual([
    { name: 'large', parameters: { type: 'object' } },
    { name: 'slow', parameters: { type: 'object' } },
    { name: 'fine', parameters: { type: 'object', properties: { a: { type: 'string' } } } },
  ])
  expect(await call('large')).toMatchObject({ status: 'SUCCESS', output: 'not structured' })
})
