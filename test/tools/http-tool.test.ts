import { createHmac } from 'node:crypto'
import type { LookupAddress } from 'node:dns'
import { writeFile } from 'node:fs/promises'
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http'
import { createServer as createTcpServer, type AddressInfo, type Socket } from 'node:net'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import { gzipSync } from 'node:zlib'

import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest'

import type { ToolOfKind } from '../../src/domain/tools/tool.ts'
import { callHttpTool } from '../../src/tools/http-tool.ts'
import {
  createNetworkGuard,
  isPublicAddress,
  PrivateAddressError,
  type GuardedNetwork,
} from '../../src/util/network-guard.ts'
import { findTenantSecret } from '../../src/store/access/tenants.ts'
import { createSecretBox } from '../../src/util/secret-box.ts'
import { startGround, type Ground } from '../approvals/ground.ts'
import { errorMessage } from '../../src/util/error-message.ts'
import { someContext } from '../support/call-context.ts'
import { captureLog } from '../support/captured-log.ts'
import type { Talk } from '../support/talk.ts'
import { makeTemporaryFolder } from '../support/temporary-folder.ts'

interface Received {
  readonly request: IncomingMessage
  readonly body: string
}

type Handler = (received: Received, response: ServerResponse) => void

let ground: Ground
let talk: Talk
let server: Server
let origin: string
let handler: Handler = (_received, response) => void response.end('ok')
const received: Received[] = []

beforeAll(async () => {
  server = createServer((request, response) => {
    void text(request).then((body) => {
      received.push({ request, body })
      handler({ request, body }, response)
    })
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  origin = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  ground = await startGround({ env: { HOLDPOINT_ALLOW_PRIVATE_NETWORK: '1' } })
  talk = ground.talk
})
afterEach(() => void received.splice(0))
afterAll(async () => {
  await ground.app.stop()
  server.closeAllConnections()
  server.close()
})

const upsert = 'mutation ($input: UpsertToolInput!) { upsertTool(input: $input) { tool { id url headerNames } } }'

/** The result of calling an HTTP tool. */
async function call(path: string, given: Record<string, unknown> = {}, args: unknown = { city: 'Ulm' }) {
  const { headers, ...settings } = given
  await ground.app.data(upsert, {
    input: {
      name: 'web',
      parameters: { type: 'object' },
      implementation: { http: { url: new URL(path, origin).href, ...(headers !== undefined && { headers }) } },
      ...settings,
    },
  })
  const agent = await talk.createAgent({ tools: ['web'] })
  const runId = await talk.start(agent, 'go')
  await ground.call(['web', args])
  await ground.answer('done')
  const run = await talk.settled(runId)
  return { run, agent, call: run.steps[0].toolCalls[0] }
}

describe('an HTTP tool', () => {
  test('[HTL1] posts its arguments with who calls, an idempotency key and a signature that the receiver can check', async () => {
    handler = (_received, response) => void response.end('it rains')
    const { run, agent, call: done } = await call('/weather', { headers: { 'X-Api-Key': 'secret' } })
    expect(done).toMatchObject({ status: 'SUCCEEDED', result: { status: 'SUCCESS', output: 'it rains' } })
    const [{ request, body }] = received as [Received]
    expect([request.method, request.url, JSON.parse(body)]).toEqual(['POST', '/weather', { city: 'Ulm' }])
    const { headers } = request
    expect(headers).toMatchObject({
      'content-type': 'application/json',
      'x-api-key': 'secret',
      'idempotency-key': done.id,
      'holdpoint-call': done.id,
      'holdpoint-run': run.id,
      'holdpoint-agent': agent,
    })
    const secret = (await findTenantSecret(ground.app.database.db, createSecretBox([])))!
    const signed = createHmac('sha256', secret).update(`${headers['holdpoint-timestamp']}.${body}`)
    expect(headers['holdpoint-signature']).toBe(`v1=${signed.digest('hex')}`)
    expect(Math.abs(Date.now() / 1000 - Number(headers['holdpoint-timestamp']))).toBeLessThan(60)
  })

  test('[HTL2] whose server answers anything but 2xx returns an error with the status and the body', async () => {
    handler = (_received, response) => void response.writeHead(422).end('no such city')
    const { run, call: done } = await call('/')
    expect(done).toMatchObject({
      status: 'FAILED',
      result: { status: 'ERROR', output: expect.stringMatching(/422.*no such city/) },
    })
    expect(run.status).toBe('COMPLETED')
  })

  test('[HTL2] that is answered too late or not at all returns an error', async () => {
    handler = () => undefined
    expect((await call('/', { timeoutMs: 100 })).call.result.output).toBe('web did not finish within 100 ms.')
    handler = (_received, response) => void response.destroy()
    expect((await call('/')).call.result).toMatchObject({ status: 'ERROR', output: expect.stringMatching(/./) })
  })

  test('[HTL3] whose answer exceeds its limit is cut, and an answer of more than 10 MB is refused', async () => {
    handler = (_received, response) => void response.end('x'.repeat(5_000))
    expect((await call('/', { returnCharLimit: 100 })).call.result).toMatchObject({
      truncated: true,
      output: expect.stringMatching(/^x{100}\n\[cut after 100 characters\]$/),
    })
    handler = (_received, response) => void response.end(Buffer.alloc(11 * 1024 ** 2, 'x'))
    expect((await call('/')).call.result.output).toBe("The tool's server answered with more than 10 MB.")
  })

  test('[HTL3] whose arguments are larger than 1 MB is not called', async () => {
    const network = createNetworkGuard({ allowPrivate: true })
    const tool = { url: `${origin}/`, headers: {} } as ToolOfKind<'HTTP'>
    const { signal } = new AbortController()
    const calling = (text: string) =>
      callHttpTool(network, tool, { args: { text }, secret: 's', context: someContext, signal })
    handler = (_received, response) => void response.end('done')
    const most = 'x'.repeat(1024 ** 2 - '{"text":""}'.length)
    expect(await calling(most)).toMatchObject({ ok: true, output: 'done' })
    await expect(calling(`${most}x`)).rejects.toThrow('The arguments are larger than 1 MB, the most that can be sent.')
    expect(received).toHaveLength(1)
    network.close()
  })

  test('[HTL4] follows redirects, but sends its secrets only to its own origin', async () => {
    const other = createServer((request, response) => response.end(`secret: ${request.headers['x-api-key']}`))
    await new Promise<void>((resolve) => other.listen(0, '127.0.0.1', resolve))
    const elsewhere = `http://127.0.0.1:${(other.address() as AddressInfo).port}/`
    handler = ({ request }, response) => {
      if (request.url === '/same') return void response.writeHead(307, { location: '/kept' }).end()
      if (request.url === '/other') return void response.writeHead(308, { location: elsewhere }).end()
      if (request.url === '/round') return void response.writeHead(302, { location: '/round' }).end()
      response.end(`${request.method} secret: ${request.headers['x-api-key']}`)
    }
    const headers = { 'X-Api-Key': 'hush' }
    expect((await call('/same', { headers })).call.result.output).toBe('POST secret: hush')
    expect((await call('/other', { headers })).call.result.output).toBe('secret: undefined')
    expect((await call('/round', { headers })).call.result.output).toMatch(/more than 5 times/)
    other.close()
  })

  test('[HTL5] is told to stop when its run is cancelled', async () => {
    const closed = Promise.withResolvers<void>()
    const arrived = Promise.withResolvers<void>()
    handler = (_received, response) => {
      response.on('close', () => closed.resolve())
      arrived.resolve()
    }
    const agent = await talk.createAgent({ tools: ['web'] })
    const runId = await talk.start(agent, 'go')
    await ground.call(['web', {}])
    await arrived.promise
    expect(await talk.cancel({ runId })).toMatchObject({ run: { status: 'CANCELLED' } })
    await closed.promise
    expect((await talk.run(runId)).steps[0].toolCalls[0]).toMatchObject({ status: 'CANCELLED' })
  })
})

/** Writes the same bytes until the client closes the connection. */
function flood(socket: Socket, bytes: string): void {
  while (!socket.destroyed && socket.write(bytes.repeat(1_000)));
  if (!socket.destroyed) socket.once('drain', () => flood(socket, bytes))
}

const chunked = 'HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n2\r\nok\r\n'
const withLength = (status: string, length: number, more = '') =>
  `HTTP/1.1 ${status}\r\n${more}content-length: ${length}\r\n\r\n`
const bomb = gzipSync(Buffer.alloc(50 * 1024 ** 2))
const interim = 'HTTP/1.1 103 Early Hints\r\nlink: <a>\r\n\r\n'

/** What a server does with a connection, and what the call gives. */
const oddities: Record<string, [answer: (socket: Socket) => void, outcome: string | RegExp]> = {
  'switches to another protocol': [
    (socket) => socket.write('HTTP/1.1 101 Switching Protocols\r\nconnection: upgrade\r\nupgrade: websocket\r\n\r\n'),
    /answered 101 and switched to another protocol/,
  ],
  'answers 101 without a protocol': [(socket) => socket.write('HTTP/1.1 101 Nothing\r\n\r\n'), /the status 101\.$/],
  'sends interim responses first': [(socket) => socket.write(`${interim}${interim}${withLength('200 OK', 2)}ok`), 'ok'],
  'sends interim responses without end': [(socket) => flood(socket, interim), /too many interim responses/],
  'sends a body with 204': [(socket) => socket.write(`${withLength('204 No Content', 4)}body`), ''],
  'sends an endless body with 205': [
    (socket) => {
      socket.write('HTTP/1.1 205 Reset Content\r\ntransfer-encoding: chunked\r\n\r\n')
      flood(socket, '2\r\nok\r\n')
    },
    '',
  ],
  'sends a body with 304': [(socket) => socket.write(`${withLength('304 Not Modified', 4)}body`), /304 Not Modified:$/],
  'answers with a status that is none': [
    (socket) => socket.write(`${withLength('999 Odd', 2)}ok`),
    /the status 999\.$/,
  ],
  'has an odd reason': [(socket) => socket.write(`${withLength('500 a\u0001b', 2)}ok`), /answered 500 ab: ok$/],
  'sends endless headers': [
    (socket) => {
      socket.write('HTTP/1.1 200 OK\r\n')
      flood(socket, 'a: b\r\n')
    },
    /Header overflow/,
  ],
  'sends trailers': [(socket) => socket.write(`${chunked}0\r\na: b\r\n\r\n`), 'ok'],
  'sends endless trailers': [
    (socket) => {
      socket.write(`${chunked}0\r\n`)
      flood(socket, 'a: b\r\n')
    },
    /broke off its answer/,
  ],
  'announces more than it sends': [(socket) => socket.end(`${withLength('200 OK', 9)}ok`), /broke off its answer/],
  'sends more than it announces': [
    (socket) => socket.write(`${withLength('200 OK', 2)}ok${withLength('200 OK', 4)}evil`),
    'ok',
  ],
  'sends one answer': [(socket) => socket.write(`${withLength('200 OK', 2)}ok`), 'ok'],
  'compresses its answer': [
    (socket) => socket.write(withLength('200 OK', bomb.length, 'content-encoding: gzip\r\n')) && socket.write(bomb),
    /compressed its answer \(gzip\)/,
  ],
  'only says that it has encoded its answer': [
    (socket) => socket.write(`${withLength('200 OK', 2, 'content-encoding: utf-8\r\n')}ok`),
    'ok',
  ],
  'sends nothing': [(socket) => socket.end(), /socket hang up/],
  'sends no HTTP': [(socket) => socket.end('hello\r\n\r\n'), /Parse Error/],
}

test('[HTL66] whatever a server does with a connection ends a call at once, and keeps no connection busy', async () => {
  const open = new Set<Socket>()
  let answer: (socket: Socket) => void = () => undefined
  const raw = createTcpServer((socket) => {
    open.add(socket)
    socket.on('close', () => open.delete(socket))
    socket.on('error', () => undefined)
    socket.on('data', (data) => data.includes('POST /') && answer(socket))
  })
  await new Promise<void>((resolve) => raw.listen(0, '127.0.0.1', resolve))
  const network = createNetworkGuard({ allowPrivate: true })
  const tool = { url: `http://127.0.0.1:${(raw.address() as AddressInfo).port}/`, headers: {} } as ToolOfKind<'HTTP'>
  const { signal } = new AbortController()
  for (const [what, oddity] of Object.entries(oddities)) {
    answer = oddity[0]
    const given = { args: {}, secret: 's', context: someContext, signal }
    const outcome = await callHttpTool(network, tool, given).then(
      ({ output }) => output,
      (error: unknown) => errorMessage(error),
    )
    if (typeof oddity[1] === 'string') expect([what, outcome]).toEqual([what, oddity[1]])
    else expect(`${what}: ${outcome}`).toMatch(oddity[1])
  }
  // One is kept for the next call.
  await expect.poll(() => open.size).toBeLessThanOrEqual(1)
  network.close()
  raw.close()
}, 30_000)

describe('the network', () => {
  test('[NET1] private, loopback, link-local, shared and reserved addresses are not public, however they are written', () => {
    const closed = [
      '127.0.0.1',
      '10.1.2.3',
      '172.31.0.1',
      '192.168.1.1',
      '169.254.169.254',
      '100.64.0.1',
      '0.0.0.0',
      '255.255.255.255',
      '224.0.0.1',
      '::1',
      '::',
      'fc00::1',
      'fd12:3456::1',
      'fe80::1',
      'fe80::1%eth0',
      'ff02::1',
      '::ffff:127.0.0.1',
      '::ffff:a9fe:a9fe',
      '::127.0.0.1',
      '::ffff:0:127.0.0.1',
      '::ffff:0:7f00:1',
      '64:ff9b::7f00:1',
      '2002:7f00:1::',
      'no address',
    ]
    expect(closed.filter(isPublicAddress)).toEqual([])
    expect(['1.1.1.1', '8.8.8.8', '2606:4700:4700::1111', '::ffff:8.8.8.8'].every(isPublicAddress)).toBe(true)
  })

  test('[NET2] an address that is not public is refused before anything is sent, in every notation', async () => {
    const guard = createNetworkGuard({ allowPrivate: false })
    const { port } = server.address() as AddressInfo
    for (const host of ['127.0.0.1', '[::1]', '[::ffff:127.0.0.1]', '0x7f.1', '2130706433', 'localhost']) {
      await expect(guard.fetch(`http://${host}:${port}/`)).rejects.toThrow(PrivateAddressError)
    }
    expect(received).toEqual([])
    guard.close()
  })

  test('[NET3] a name is resolved once, and the connection goes to the address that was checked', async () => {
    handler = (_received, response) => void response.end('reached')
    const answers = ['93.184.216.34', '127.0.0.1']
    const asked: string[] = []
    const { port } = server.address() as AddressInfo
    const lookup = (host: string, _options: object, callback: (error: null, found: LookupAddress[]) => void) => {
      asked.push(host)
      callback(null, [{ address: answers[asked.length - 1] ?? '127.0.0.1', family: 4 }])
    }
    // A name server that returns a public address first and a private one after that.
    const guard = createNetworkGuard({ allowPrivate: false, lookup })
    const signal = AbortSignal.timeout(300)
    await expect(guard.fetch(`http://rebind.test:${port}/`, { signal })).rejects.toThrow()
    expect(asked).toHaveLength(1)
    await expect(guard.fetch(`http://rebind.test:${port}/`)).rejects.toThrow(PrivateAddressError)
    expect(received).toEqual([])
    guard.close()
  })

  test('[NET4][NET66] unless it is allowed, no tool reaches a private address; operators are told the setting, models are not', async () => {
    const captured = captureLog()
    const path = join(await makeTemporaryFolder(), 'mcp.yaml')
    await writeFile(path, `servers: { filed: { url: ${origin}/ } }`)
    const { app, talk, ...guarded } = await startGround({ env: { HOLDPOINT_MCP: path }, log: captured.log })
    const refusal = '127.0.0.1 is not an address of the public internet, and this server connects to no other.'
    const remedy = 'HOLDPOINT_ALLOW_PRIVATE_NETWORK=1 allows such addresses.'
    const tool = (url: string) => ({ name: 'web', implementation: { http: { url } } })
    const upserted = await app.request(upsert, { input: tool(`${origin}/`) })
    expect(upserted.errors![0]).toMatchObject({
      message: `input.implementation.http.url: ${refusal} ${remedy}`,
      extensions: { code: 'BAD_USER_INPUT', field: 'input.implementation.http.url' },
    })
    // By its name, which is resolved.
    expect((await app.request(upsert, { input: tool('http://localhost/') })).errors![0]!.message).toContain(remedy)
    await app.data(upsert, { input: tool('https://name-without-address.invalid/') })
    const update = 'mutation ($input: UpdateToolInput!) { updateTool(input: $input) { tool { id } } }'
    const { implementation } = tool(`${origin}/`)
    const updated = await app.request(update, { input: { id: await talk.toolId('web'), implementation } })
    expect(updated.errors![0]!.message).toContain(remedy)
    const add = 'mutation ($input: AddMcpServerInput!) { addMcpServer(input: $input) { server { id } } }'
    const added = await app.request(add, { input: { name: 'm', url: `${origin}/` } })
    expect(added.errors![0]!.message).toBe(`input.url: The server cannot be reached at this URL: ${refusal} ${remedy}`)

    const filed = await captured.until('an MCP server cannot be reached', { mcpServer: 'filed' })
    expect(filed['reason']).toBe(`${refusal} ${remedy}`)

    // As if both had been stored while private addresses were allowed.
    await app.database.pool.query(`update tools set url = $1 where name = 'web'`, [`${origin}/`])
    await app.database.pool.query(
      `with server as (
         insert into mcp_servers (id, tenant_id, name, url, headers, created_at)
         select gen_random_uuid(), tenant_id, 'm', $1, '{}', now() from tools where name = 'web' returning *)
       insert into tools select (jsonb_populate_record(tools, jsonb_build_object(
         'id', gen_random_uuid(), 'name', 'remote', 'kind', 'MCP', 'url', null, 'headers', null,
         'mcp_server_id', server.id, 'mcp_tool_name', 'remote'))).* from tools, server where tools.name = 'web'`,
      [`${origin}/`],
    )
    const agent = await talk.createAgent({ tools: ['web', 'remote'] })
    const runId = await talk.start(agent, 'go')
    await guarded.call(['web', {}], ['remote', {}])
    const { request } = await guarded.answer('done')
    const { steps } = await talk.settled(runId)
    expect(steps[0].toolCalls.map(({ result }: any) => result.output)).toEqual([
      refusal,
      `The MCP server m cannot be reached: ${refusal}`,
    ])
    expect(JSON.stringify(request)).not.toContain('HOLDPOINT_')
    expect(captured.with('a tool failed')).toMatchObject([
      { tool: 'web', reason: `${refusal} ${remedy}` },
      { tool: 'remote', reason: `The MCP server m cannot be reached: ${refusal} ${remedy}` },
    ])
    const { mcpServers } = await app.data('{ mcpServers { nodes { lastError } } }')
    expect(mcpServers.nodes).toEqual([{ lastError: `${refusal} ${remedy}` }, { lastError: `${refusal} ${remedy}` }])
    expect(received).toEqual([])
    await app.stop()
  })

  test('[NET4] a redirect to an address that is not public is refused', async () => {
    const guard = createNetworkGuard({ allowPrivate: false })
    const network: GuardedNetwork = {
      ...guard,
      fetch: async (url, init) =>
        new URL(url).host === 'public.test'
          ? new Response(null, { status: 307, headers: { location: `${origin}/` } })
          : guard.fetch(url, init),
    }
    const tool = { url: 'https://public.test/', headers: {} } as ToolOfKind<'HTTP'>
    const { signal } = new AbortController()
    const given = { args: {}, secret: 's', context: someContext, signal }
    await expect(callHttpTool(network, tool, given)).rejects.toThrow(PrivateAddressError)
    expect(received).toEqual([])
    guard.close()
  })
})
