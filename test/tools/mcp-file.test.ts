import { writeFile } from 'node:fs/promises'
import type { IncomingMessage, ServerResponse } from 'node:http'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import { fileURLToPath } from 'node:url'

import { afterAll, beforeAll, expect, test } from 'vitest'

import { readConfig } from '../../src/config/config.ts'
import { startGround, type Ground } from '../approvals/ground.ts'
import { makeTemporaryFolder } from '../support/temporary-folder.ts'
import { startMcpServer, type TestMcpServer } from './mcp-server.ts'

let folder: string
let remote: TestMcpServer
let ground: Ground
let path: string
const granted: string[] = []
const authorized = ['Bearer granted', 'Bearer static']

/** An authorization server next to the MCP server: client credentials, and a token that the MCP server requires. */
function authorize(request: IncomingMessage, response: ServerResponse): boolean {
  const origin = `http://${request.headers.host}`
  const answer = (body: object) => response.setHeader('content-type', 'application/json').end(JSON.stringify(body))
  if (request.url?.startsWith('/.well-known/oauth-protected-resource')) {
    answer({ resource: `${origin}/mcp`, authorization_servers: [origin] })
  } else if (request.url?.startsWith('/.well-known/')) {
    const endpoints = { authorization_endpoint: `${origin}/authorize`, token_endpoint: `${origin}/token` }
    answer({ issuer: origin, ...endpoints, response_types_supported: ['code'] })
  } else if (request.url === '/token') {
    void text(request).then((body) => {
      granted.push(`${request.headers.authorization ?? ''} ${body}`)
      const refresh_token = body.includes('refresh_token') ? `refresh ${granted.length}` : undefined
      answer({ access_token: 'granted', token_type: 'Bearer', expires_in: 3_600, refresh_token })
    })
  } else if (!authorized.includes(request.headers.authorization ?? '')) {
    const where = `Bearer resource_metadata="${origin}/.well-known/oauth-protected-resource"`
    response.writeHead(401, { 'www-authenticate': where }).end()
  } else return true
  return false
}

const file = async (contents: string) => {
  const name = join(folder, `${Math.random()}.yaml`)
  await writeFile(name, contents)
  return name
}

beforeAll(async () => {
  folder = await makeTemporaryFolder()
  remote = await startMcpServer(
    (mcp) => mcp.registerTool('greet', {}, () => ({ content: [{ type: 'text', text: 'hello' }] })),
    { authorize },
  )
  const script = fileURLToPath(new URL('mcp-stdio.ts', import.meta.url))
  path = await file(`servers:
  local:
    command: ${process.execPath}
    args: [${script}, --loud]
    env: { GREETING: hi }
    envVariables: [PASSED]
    requiresApproval: true
  remote:
    url: ${remote.url}
    oauth: { clientId: me, clientSecretVariable: CRM_SECRET, scope: tools, issuer: '${new URL(remote.url).origin}' }
  person:
    url: ${remote.url}
    oauth: { clientId: me, refreshTokenVariable: REFRESH, issuer: '${new URL(remote.url).origin}' }
  token: { url: ${remote.url}, tokenVariable: TOKEN }
  gone: { command: /no/such/program }
`)
  const env = {
    HOLDPOINT_MCP: path,
    PASSED: 'on',
    HIDDEN: 'secret',
    CRM_SECRET: 'shh',
    REFRESH: 'first',
    TOKEN: 'static',
  }
  ground = await startGround({ env: { HOLDPOINT_ALLOW_PRIVATE_NETWORK: '1', ...env } })
})
afterAll(async () => {
  ground.check()
  await ground.app.stop()
  await remote.stop()
})

const servers = async () => {
  const { mcpServers } = await ground.app.data('{ mcpServers { nodes { id name url lastError requiresApproval } } }')
  return new Map<string, any>(mcpServers.nodes.map((server: any) => [server.name, server]))
}
const refresh = async (name: string) => {
  const { refreshMcpServer } = await ground.app.data(
    `mutation ($id: ID!) { refreshMcpServer(input: { id: $id }) {
      server { lastError tools { name requiresApproval } } } }`,
    { id: (await servers()).get(name).id },
  )
  return refreshMcpServer.server
}
async function call(name: string, approvalOverride = false) {
  const agent = await ground.talk.createAgent({ tools: [{ name, approvalOverride }] })
  const runId = await ground.talk.start(agent, 'go')
  await ground.call([name, {}])
  await ground.answer('done')
  return (await ground.talk.settled(runId)).steps[0].toolCalls[0]
}

test('[MCP12] a program of the file is started with its arguments and variables, and keeps running', async () => {
  expect((await servers()).get('local')).toMatchObject({ url: 'stdio:local', requiresApproval: true })
  expect(await refresh('local')).toEqual({
    lastError: null,
    tools: [
      { name: 'look', requiresApproval: true },
      { name: 'die', requiresApproval: true },
    ],
  })
  const seen = { arguments: ['--loud'], GREETING: 'hi', PASSED: 'on' }
  expect(JSON.parse((await call('look')).result.output)).toEqual({ calls: 1, ...seen })
  expect(JSON.parse((await call('look')).result.output)).toEqual({ calls: 2, ...seen })
})

test('[MCP12] a program that dies fails the call at once, sets lastError, and is started again', async () => {
  expect((await call('die')).result.output).toMatch(/^The MCP server local cannot be reached: /)
  expect((await servers()).get('local').lastError).toMatch(/./)
  expect(JSON.parse((await call('look')).result.output)).toMatchObject({ calls: 1 })
  expect((await servers()).get('local').lastError).toBeNull()
  expect((await refresh('gone')).lastError).toMatch(/ENOENT/)
})

test('[MCP12] the API cannot name a program', async () => {
  const { errors } = await ground.app.request(
    'mutation { addMcpServer(input: { name: "x", url: "stdio:local" }) { server { id } } }',
  )
  expect(errors![0]!.extensions).toMatchObject({ code: 'BAD_USER_INPUT', field: 'input.url' })
})

test('[MCP13] a remote server gets tokens for the client of the file, and its tools can be called', async () => {
  const { lastError, tools } = await refresh('remote')
  expect([lastError, tools[0].requiresApproval]).toEqual([null, false])
  expect((await call(tools[0].name)).result).toMatchObject({ status: 'SUCCESS', output: 'hello' })
  expect(granted.join('\n')).toContain(
    `Basic ${Buffer.from('me:shh').toString('base64')} grant_type=client_credentials`,
  )
})

test('[MCP80] a remote server gets tokens for a refresh token, which its issuer may replace', async () => {
  const { lastError, tools } = await refresh('person')
  expect(lastError).toBeNull()
  expect((await call(tools[0].name)).result).toMatchObject({ status: 'SUCCESS', output: 'hello' })
  // The connections of a process share the token.
  const refreshed = () => granted.filter((grant) => grant.includes('grant_type=refresh_token'))
  expect(refreshed()).toEqual([expect.stringMatching(/^ grant_type=refresh_token&refresh_token=first&.*client_id=me/)])
  authorized[0] = 'none'
  await refresh('person')
  expect(refreshed()[1]).toMatch(/^ grant_type=refresh_token&refresh_token=refresh\+\d+&/)
  authorized[0] = 'Bearer granted'
})

test('[MCP80] a remote server may be given a token that does not expire', async () => {
  const before = granted.length
  const { lastError, tools } = await refresh('token')
  expect(lastError).toBeNull()
  expect((await call(tools[0].name)).result).toMatchObject({ status: 'SUCCESS' })
  expect(granted).toHaveLength(before)
})

test('[MCP14] tools of a server that asks for approval require it from the beginning, until somebody changes that', async () => {
  const plain = await startMcpServer((mcp) => mcp.registerTool('wipe', {}, () => ({ content: [] })))
  const { addMcpServer } = await ground.app.data(
    `mutation ($url: String!) { addMcpServer(input: { name: "careful", url: $url, requiresApproval: true }) {
      server { requiresApproval tools { id requiresApproval } } } }`,
    { url: plain.url },
  )
  expect(addMcpServer.server).toMatchObject({ requiresApproval: true, tools: [{ requiresApproval: true }] })
  await ground.app.data(
    'mutation ($id: ID!) { updateTool(input: { id: $id, requiresApproval: false }) { tool { id } } }',
    { id: addMcpServer.server.tools[0].id },
  )
  expect((await refresh('careful')).tools).toEqual([{ name: 'wipe', requiresApproval: false }])
  await plain.stop()
})

test.each([
  ['[]', 'HOLDPOINT_MCP: the file must be an object with servers ('],
  ['servers: { a: {} }', 'HOLDPOINT_MCP: servers.a must be an object with either a "command" or a "url" ('],
  ['servers: { a: { url: "http://x", command: x } }', 'servers.a must be an object with either a "command" or a "url"'],
  ['servers: { a: { command: x, headers: {} } }', 'servers.a has no field "headers": expected command, args, env,'],
  ['servers: { a: { command: x, args: y } }', 'servers.a.args must be a list'],
  ['servers: { a: { url: "ftp://x" } }', 'servers.a.url must be an address that begins with http:// or https://'],
  ['servers: { a: { command: x, env: { A: 1 } } }', 'servers.a.env.A must be a text'],
  [
    'servers: { a: { url: "http://x", oauth: { clientId: i, issuer: y, clientSecretVariable: V } } }',
    'servers.a.oauth.clientSecretVariable names the variable V, which is not set',
  ],
  [
    'servers: { a: { url: "http://x", oauth: { clientId: i, issuer: y } } }',
    'servers.a.oauth needs a "clientSecret" or a "refreshToken"',
  ],
  [
    'servers: { a: { url: "http://x", tokenVariable: V } }',
    'servers.a.tokenVariable names the variable V, which is not set',
  ],
  [
    'servers: { a: { url: "http://x", oauth: { clientId: i, clientSecret: s } } }',
    'servers.a.oauth.issuer is missing: expected a text',
  ],
  [
    `servers: { a: { url: "http://x", tokenVariable: PATH, oauth: { clientId: i, clientSecret: s, issuer: y } } }`,
    'servers.a takes either "tokenVariable" or "oauth"',
  ],
])('[MCP15] a mistake in the file stops the start: %s', async (contents, message) => {
  const wrong = await file(contents)
  expect(() => readConfig({ HOLDPOINT_MCP: wrong, PATH: '/bin' })).toThrow(message)
})
