import { spawn } from 'node:child_process'
import { createInterface } from 'node:readline'
import { fileURLToPath } from 'node:url'

import type { McpServer } from '@modelcontextprotocol/sdk/server/mcp.js'
import { ListToolsRequestSchema } from '@modelcontextprotocol/sdk/types.js'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { z } from 'zod'

import { McpConnections } from '../../src/tools/mcp.ts'
import { createNetworkGuard } from '../../src/util/network-guard.ts'
import { startGround, type Ground } from '../approvals/ground.ts'
import { someContext } from '../support/call-context.ts'
import type { Talk } from '../support/talk.ts'
import { startMcpServer, type TestMcpServer } from './mcp-server.ts'

let ground: Ground
let talk: Talk
let server: TestMcpServer
const started: PromiseWithResolvers<void> = Promise.withResolvers<void>()
let aborted: PromiseWithResolvers<void> = Promise.withResolvers<void>()

function register(mcp: McpServer): void {
  const numbers = { a: z.number(), b: z.number() }
  mcp.registerTool('add', { description: 'Adds.', inputSchema: numbers }, ({ a, b }) => ({
    content: [{ type: 'text', text: String(a + b) }],
  }))
  mcp.registerTool('roll_dice', { description: 'Another one of that name.' }, () => ({
    content: [{ type: 'text', text: 'four' }],
    isError: true,
  }))
  mcp.registerTool('wait.for-ever', {}, async ({ signal }) => {
    started.resolve()
    await new Promise<void>((resolve) => signal.addEventListener('abort', () => resolve()))
    aborted.resolve()
    return { content: [] }
  })
}

beforeAll(async () => {
  server = await startMcpServer((mcp) => register(mcp))
  ground = await startGround({ env: { HOLDPOINT_ALLOW_PRIVATE_NETWORK: '1' } })
  talk = ground.talk
})
afterAll(async () => {
  ground.check()
  await ground.app.stop()
  await server.stop()
})

const fields = 'server { id name url lastError tools { name kind description parameters mcpServer { name } } }'
const add = (input: object) =>
  ground.app.request(`mutation ($input: AddMcpServerInput!) { addMcpServer(input: $input) { ${fields} } }`, { input })
const refresh = (id: string) =>
  ground.app.data(`mutation ($id: ID!) { refreshMcpServer(input: { id: $id }) { ${fields} } }`, { id })

async function call(name: string, args: object) {
  const agent = await talk.createAgent({ tools: [name] })
  const runId = await talk.start(agent, 'go')
  await ground.call([name, args])
  await ground.answer('done')
  const run = await talk.settled(runId)
  return { status: run.status, ...run.steps[0].toolCalls[0] }
}

let id: string

test('[MCP1] a server is added with its tools; a tool whose name is taken gets the server’s name as a prefix', async () => {
  const { data, errors } = await add({ name: 'Calc', url: server.url, headers: { Authorization: 'Bearer hush' } })
  expect(errors).toBeUndefined()
  const added = data.addMcpServer.server
  id = added.id
  expect(added).toMatchObject({ name: 'Calc', url: server.url, lastError: null })
  expect(added.tools.map((tool: any) => tool.name)).toEqual(['add', 'Calc_roll_dice', 'wait_for-ever'])
  expect(added.tools[0]).toMatchObject({
    kind: 'MCP',
    description: 'Adds.',
    parameters: { type: 'object', required: ['a', 'b'] },
    mcpServer: { name: 'Calc' },
  })
  expect(server.headers.every((headers) => headers['authorization'] === 'Bearer hush')).toBe(true)
  expect(server.sessions.size).toBe(0)
})

test('[MCP2] its tools are called over one connection, and their errors are error returns', async () => {
  expect(await call('add', { a: 2, b: 40 })).toMatchObject({ status: 'SUCCEEDED', result: { output: '42' } })
  expect(await call('Calc_roll_dice', {})).toMatchObject({
    status: 'FAILED',
    result: { status: 'ERROR', output: 'four' },
  })
  expect(server.sessions.size).toBe(1)
  expect((await call('add', { a: 'x' })).result.output).toMatch(/don't fit its parameters/)
})

test('[MCP3] a call is told to stop when its run is cancelled or its time is up', async () => {
  const agent = await talk.createAgent({ tools: ['wait_for-ever'] })
  const runId = await talk.start(agent, 'go')
  await ground.call(['wait_for-ever', {}])
  await started.promise
  expect(await talk.cancel({ runId })).toMatchObject({ run: { status: 'CANCELLED' } })
  await aborted.promise

  aborted = Promise.withResolvers<void>()
  await ground.app.data('mutation ($input: UpdateToolInput!) { updateTool(input: $input) { tool { id } } }', {
    input: { id: await talk.toolId('wait_for-ever'), timeoutMs: 100 },
  })
  expect((await call('wait_for-ever', {})).result.output).toBe('wait_for-ever did not finish within 100 ms.')
  await aborted.promise
})

test('[MCP4] if a server has lost the session, a new one is opened and the call is made once', async () => {
  server.forgetSessions()
  expect(await call('add', { a: 1, b: 1 })).toMatchObject({ result: { output: '2' } })
})

test('[MCP5] a server that is down gives error returns and sets its lastError, and is used again when it is back', async () => {
  const { port } = new URL(server.url)
  await server.stop()
  const down = await call('add', { a: 1, b: 1 })
  expect(down).toMatchObject({
    status: 'FAILED',
    result: { status: 'ERROR', output: expect.stringMatching(/^The MCP server Calc cannot be reached: /) },
  })
  expect((await call('add', { a: 1, b: 1 })).result.output).toMatch(
    /^The MCP server Calc cannot be reached: .*ECONNREFUSED/,
  )
  const shown = await refresh(id)
  expect(shown.refreshMcpServer.server).toMatchObject({
    lastError: expect.stringContaining('ECONNREFUSED'),
    tools: expect.objectContaining({ length: 3 }),
  })
  server = await startMcpServer((mcp) => register(mcp), { port: Number(port) })
  expect(await call('add', { a: 1, b: 1 })).toMatchObject({ result: { output: '2' } })
  const { mcpServers } = await ground.app.data('{ mcpServers { nodes { lastError } } }')
  expect(mcpServers.nodes).toEqual([{ lastError: null }])
})

test('[UPD1] a refresh that lists the same tools does not change them', async () => {
  const times = async () => (await ground.app.data('{ tools(filter: { kinds: [MCP] }) { nodes { updatedAt } } }')).tools
  const before = await times()
  expect((await refresh(id)).refreshMcpServer.server).toMatchObject({ lastError: null })
  expect(await times()).toEqual(before)
})

test('[MCP6] a refresh keeps what is still there, with its settings, and drops what is gone unless rules name it', async () => {
  const toolId = await talk.toolId('add')
  await ground.app.data('mutation ($input: UpdateToolInput!) { updateTool(input: $input) { tool { id } } }', {
    input: { id: toolId, requiresApproval: true },
  })
  const agent = await talk.createAgent({
    tools: ['wait_for-ever'],
    toolRules: [{ kind: 'MAX_CALLS', tool: 'wait_for-ever', maxCalls: 1 }],
  })
  const old = server
  server = await startMcpServer((mcp) => {
    mcp.registerTool('add', { description: 'Adds better.' }, () => ({ content: [] }))
    mcp.registerTool('subtract', {}, () => ({ content: [] }))
  })
  await ground.app.database.pool.query('update mcp_servers set url = $1', [server.url])
  const { tools } = (await refresh(id)).refreshMcpServer.server
  expect(tools.map((tool: any) => tool.name).toSorted()).toEqual(['add', 'subtract', 'wait_for-ever'])
  expect(tools.find((tool: any) => tool.name === 'add').description).toBe('Adds better.')
  const { tool } = await ground.app.data('query ($id: ID!) { tool(id: $id) { requiresApproval } }', { id: toolId })
  expect(tool.requiresApproval).toBe(true)

  const remove = 'mutation ($id: ID!) { removeMcpServer(input: { id: $id }) { deletedId } }'
  const { errors } = await ground.app.request(remove, { id })
  expect(errors![0]).toMatchObject({ extensions: { code: 'BAD_USER_INPUT', field: 'input.id' } })
  await ground.app.data('mutation ($input: UpdateAgentInput!) { updateAgent(input: $input) { agent { id } } }', {
    input: { id: agent, toolRules: [] },
  })
  expect(await ground.app.data(remove, { id })).toEqual({ removeMcpServer: { deletedId: id } })
  expect(await ground.app.data('{ tools(filter: { kinds: [MCP] }) { nodes { id } } }')).toEqual({
    tools: { nodes: [] },
  })
  await old.stop()
})

test('[MCP7] a server that cannot be reached, or whose name is taken, is not added', async () => {
  const codes = async (input: object) => (await add(input)).errors?.map(({ extensions }) => extensions['field'])
  expect(await codes({ name: 'x', url: 'http://127.0.0.1:9/' })).toEqual(['input.url'])
  expect(await codes({ name: 'x', url: 'ftp://x' })).toEqual(['input.url'])
  expect(await codes({ name: '', url: server.url })).toEqual(['input.name'])
  expect(await codes({ name: 'x', url: server.url, headers: { a: 1 } })).toEqual(['input.headers.a'])
  expect((await add({ name: 'x', url: server.url })).errors).toBeUndefined()
  expect(await codes({ name: 'x', url: server.url })).toEqual(['input.name'])
  expect((await ground.app.data('{ mcpServers { nodes { name } } }')).mcpServers.nodes).toEqual([{ name: 'x' }])
})

test('[MCP8] a schema that is too deep or too large, and a long description, are stored as something usable', async () => {
  const deep = (levels: number): object =>
    levels === 0 ? { type: 'string' } : { type: 'object', properties: { a: deep(levels - 1) } }
  const wide = { type: 'object', description: 'x'.repeat(300_000) }
  const odd = await startMcpServer((mcp) => {
    mcp.registerTool('odd', {}, () => ({ content: [] }))
    const tools = [
      { name: 'deep', inputSchema: deep(1_000) },
      { name: 'wide', inputSchema: wide },
      { name: 'wordy', description: '👋'.repeat(20_000), inputSchema: { type: 'object' } },
    ]
    mcp.server.setRequestHandler(ListToolsRequestSchema, () => ({ tools }))
  })
  const { data, errors } = await add({ name: 'Odd', url: odd.url })
  await odd.stop()
  expect(errors).toBeUndefined()
  const [first, second, third] = data.addMcpServer.server.tools
  expect([first.parameters, second.parameters]).toEqual([{ type: 'object' }, { type: 'object' }])
  expect(third.description).toMatch(/^(👋){5000} …$/u)
})

test('[MCP16] of a list that does not end 20 pages are read, and an answer of more than 20 MB is an error return', async () => {
  const endless = await startMcpServer((mcp) => {
    mcp.registerTool('page_1', {}, () => ({ content: [{ type: 'text', text: 'x'.repeat(21 * 1024 ** 2) }] }))
    mcp.server.setRequestHandler(ListToolsRequestSchema, ({ params }) => {
      const page = Number(params?.cursor ?? 1)
      const tools = [{ name: `page_${page}`, inputSchema: { type: 'object' as const } }]
      return { tools, nextCursor: String(page + 1) }
    })
  })
  const { data } = await add({ name: 'Endless', url: endless.url })
  const names = data.addMcpServer.server.tools.map(({ name }: { name: string }) => name)
  expect(names).toHaveLength(20)
  expect((await call('page_1', {})).result).toMatchObject({
    status: 'ERROR',
    output: expect.stringContaining('more than 20 MB'),
  })
  await endless.stop()
})

const address = (url: string) => ({ url, headers: {} })
const slowCall = {
  name: 'slow',
  args: {},
  context: someContext,
  signal: new AbortController().signal,
  timeoutMs: 600_000,
}

test('[MCP9] a connection in use is not closed as idle, however long the call takes', async () => {
  const running = Promise.withResolvers<void>()
  const gate = Promise.withResolvers<void>()
  const slow = await startMcpServer((mcp) => {
    mcp.registerTool('slow', {}, async () => {
      running.resolve()
      await gate.promise
      return { content: [{ type: 'text', text: 'done' }] }
    })
  })
  // A timer from the start of a call would close the connection at once.
  const connections = new McpConnections(createNetworkGuard({ allowPrivate: true }), { idleMs: 0 })
  const answer = connections.callTool('s', address(slow.url), slowCall)
  await running.promise
  const second = connections.callTool('s', address(slow.url), slowCall)
  await new Promise((resolve) => setImmediate(resolve))
  gate.resolve()
  expect(await Promise.all([answer, second])).toMatchObject([{ output: 'done' }, { output: 'done' }])
  await connections.closeAll()
  await slow.stop()
})

test('[OPS70] once the connections are closed, a call opens no other', async () => {
  const connections = new McpConnections(createNetworkGuard({ allowPrivate: true }))
  const calling = connections.callTool('s', address(server.url), { ...slowCall, name: 'roll_dice' })
  await Promise.allSettled([calling, connections.closeAll()])
  const late = connections.callTool('s', address(server.url), { ...slowCall, name: 'roll_dice' })
  await expect(late).rejects.toThrow('The server is stopping.')
})

test('[MCP10] a server that dies in the middle of a call fails the call at once and sets its lastError', async () => {
  const script = fileURLToPath(new URL('mcp-process.ts', import.meta.url))
  const child = spawn(process.execPath, [script], { stdio: ['ignore', 'pipe', 'inherit'] })
  const lines = createInterface({ input: child.stdout })[Symbol.asyncIterator]()
  const { data } = await add({ name: 'Mortal', url: (await lines.next()).value })
  const agent = await talk.createAgent({ tools: ['hang'] })
  const runId = await talk.start(agent, 'go')
  await ground.call(['hang', {}])
  expect((await lines.next()).value).toBe('running')
  child.kill('SIGKILL')
  await ground.answer('done')
  const run = await talk.settled(runId)
  expect(run.steps[0].toolCalls[0]).toMatchObject({
    status: 'FAILED',
    result: { output: expect.stringMatching(/^The MCP server Mortal cannot be reached: /) },
  })
  const { node } = await ground.app.data('query ($id: ID!) { node(id: $id) { ... on McpServer { lastError } } }', {
    id: data.addMcpServer.server.id,
  })
  expect(node.lastError).toMatch(/./)
})

test('[MCP10] an answer whose stream breaks is not waited for', async () => {
  const answering = Promise.withResolvers<void>()
  const guard = createNetworkGuard({ allowPrivate: true })
  const network = {
    ...guard,
    fetch: async (...given: Parameters<typeof guard.fetch>) => {
      const response = await guard.fetch(...given)
      if (String(given[1]?.body).includes('tools/call')) answering.resolve()
      return response
    },
  }
  const broken = await startMcpServer((mcp) => {
    mcp.registerTool('slow', {}, async (extra) => {
      await extra.sendNotification({ method: 'notifications/progress', params: { progressToken: 1, progress: 0 } })
      return new Promise(() => {})
    })
  })
  const connections = new McpConnections(network)
  const answer = connections.callTool('s', address(broken.url), slowCall)
  await answering.promise
  const [outcome] = await Promise.allSettled([answer, broken.stop()])
  expect(outcome).toMatchObject({
    status: 'rejected',
    reason: { name: 'McpUnreachableError', message: expect.stringMatching(/^The connection was lost while the call/) },
  })
  await connections.closeAll()
})

test('[MCP11] tools that run only as tasks are not offered', async () => {
  const tasks = await startMcpServer((mcp) => {
    mcp.registerTool('plain', {}, () => ({ content: [] }))
    const inputSchema = { type: 'object' as const }
    const tools = [
      { name: 'plain', inputSchema },
      { name: 'either', inputSchema, execution: { taskSupport: 'optional' as const } },
      { name: 'task_only', inputSchema, execution: { taskSupport: 'required' as const } },
    ]
    mcp.server.setRequestHandler(ListToolsRequestSchema, () => ({ tools }))
  })
  const { data } = await add({ name: 'Tasks', url: tasks.url })
  expect(data.addMcpServer.server.tools.map(({ name }: { name: string }) => name)).toEqual(['plain', 'either'])
  await tasks.stop()
})
