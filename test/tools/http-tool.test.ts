import { createHmac } from 'node:crypto'
import type { LookupAddress } from 'node:dns'
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { text } from 'node:stream/consumers'

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
import { deferred } from '../../src/util/deferred.ts'
import { someContext } from '../support/call-context.ts'
import type { Talk } from '../support/talk.ts'

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
    const closed = deferred()
    const arrived = deferred()
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

  test('[NET4] unless it is allowed, an HTTP tool reaches no private address', async () => {
    const guarded = await startGround()
    await guarded.app.data(upsert, { input: { name: 'web', implementation: { http: { url: `${origin}/` } } } })
    const agent = await guarded.talk.createAgent({ tools: ['web'] })
    const runId = await guarded.talk.start(agent, 'go')
    await guarded.call(['web', {}])
    await guarded.answer('done')
    const { steps } = await guarded.talk.settled(runId)
    expect(steps[0].toolCalls[0].result.output).toMatch(/127\.0\.0\.1 is not an address of the public internet/)
    expect(received).toEqual([])
    await guarded.app.stop()
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
