import { expect, it } from 'vitest'

import { HoldpointError } from '../../src/domain/errors.ts'
import { createGraphQLClient } from '../support/graphql-client.ts'
import { startServer, type TestServer } from './fixture.ts'

const url = 'http://localhost/graphql'

const subscribe = (fetch: TestServer['server']['fetch'], signal?: AbortSignal, headers: Record<string, string> = {}) =>
  fetch(url, {
    method: 'POST',
    headers: { 'content-type': 'application/json', accept: 'text/event-stream', ...headers },
    body: JSON.stringify({ query: 'subscription { ticks }' }),
    ...(signal && { signal }),
  })

it('[SRV95] the API answers the same with and without a socket: data, refusals, their status and headers', async () => {
  const { server, client, origin } = await startServer({ limits: { requestBytes: 1_000, keyRequests: 100 } })
  const inProcess = createGraphQLClient(url, server)
  const json = { 'content-type': 'application/json' }
  const asked: [string, RequestInit?][] = [
    ['{ hello viewer }'],
    ['{ hello', {}],
    ['{ fail(kind: "missing") }'],
    ['{ fail(kind: "bug") }'],
    ['mutation { save(name: "x") }'],
    ['{ hello }', { headers: { authorization: 'Bearer good' } }],
    ['{ hello }', { headers: { authorization: 'Bearer wrong' } }],
    ['{ hello }', { headers: { authorization: 'Bearer database-down' } }],
    ['{ hello }', { headers: { authorization: 'Bearer bug' } }],
    ['{ hello }', { headers: { origin: 'https://elsewhere.example' } }],
    ['{ hello }', { headers: { 'sec-fetch-site': 'cross-site' } }],
    ['{ hello }', { headers: { 'content-type': 'text/plain' } }],
    ['{ hello }', { headers: { accept: 'text/html;q=0.5' } }],
    ['subscription { ticks }', {}],
    [`{ hello } # ${'x'.repeat(1_000)}`],
    ['', { body: 'no JSON' }],
    ['', { method: 'GET', body: null }],
  ]
  for (const [query, init] of asked) {
    const [ours, overHttp] = await Promise.all([inProcess.request(query, {}, init), client.request(query, {}, init)])
    const shown = ({ headers, ...rest }: typeof ours) => ({
      ...rest,
      headers: Object.fromEntries(
        [...headers].filter(
          ([name]) => !/^(date|connection|keep-alive|x-request-id|content-length|transfer-)/.test(name),
        ),
      ),
    })
    const ids = /[0-9a-f]{8}-[0-9a-f-]{27}/g
    const plain = (one: typeof ours) => JSON.parse(JSON.stringify(shown(one)).replaceAll(ids, 'id'))
    expect(plain(ours), query).toEqual(plain(overHttp))
  }
  const elsewhere = await Promise.all([server.fetch('http://localhost/files/x'), fetch(`${origin}/nothing`)])
  expect(elsewhere.map(({ status }) => status)).toEqual([404, 404])
  const rebound = await server.fetch('http://evil.example/graphql', { method: 'POST', headers: json, body: '{}' })
  expect(rebound.status).toBe(401)
  const given = await server.fetch(url, { method: 'POST', headers: { ...json, 'x-request-id': 'mine' }, body: '{}' })
  expect(given.headers.get('x-request-id')).toBe('mine')
})

it('[SRV95] a stream is pulled by its reader, to its end', async () => {
  const { server, ground } = await startServer()
  const stream = await createGraphQLClient(url, server).events('subscription { ticks }')
  expect([stream.status, stream.headers.get('content-type')]).toEqual([200, 'text/event-stream'])
  const [ticker] = ground.sources
  for (let tick = 1; tick <= 3; tick += 1) ticker!.push(tick)
  for (let tick = 1; tick <= 3; tick += 1) expect(await stream.next()).toEqual({ data: { ticks: tick } })
  ticker!.end()
  expect(await stream.next()).toBeUndefined()
})

it('[SRV96] a stream ends when its reader leaves: by the signal, at any time, or by a cancel', async () => {
  const { server, ground } = await startServer()
  const early = new AbortController()
  early.abort(new Error('too early'))
  await expect(subscribe(server.fetch, early.signal)).rejects.toThrow('too early')

  const during = new AbortController()
  const refused = expect(subscribe(server.fetch, during.signal)).rejects.toThrow('changed my mind')
  during.abort(new Error('changed my mind'))
  await refused
  await expect.poll(() => ground.sources.size).toBe(0)

  const late = new AbortController()
  const reader = (await subscribe(server.fetch, late.signal)).body!.getReader()
  await reader.read()
  expect(ground.sources.size).toBe(1)
  const waiting = expect(reader.read()).rejects.toThrow('enough')
  late.abort(new Error('enough'))
  await waiting
  await expect.poll(() => ground.sources.size).toBe(0)

  const cancelled = (await subscribe(server.fetch)).body!
  expect(ground.sources.size).toBe(1)
  await cancelled.cancel()
  await expect.poll(() => ground.sources.size).toBe(0)
})

it('[SRV96] a request ends with its key, and a stream with its key or with the server', async () => {
  const good = new Set(['Bearer one'])
  const { server, ground } = await startServer({
    limits: { keyCheckMs: 20 },
    authenticate: async (authorization) => {
      if (authorization === null || good.has(authorization)) return { keyName: authorization ?? 'open' }
      throw new HoldpointError('UNAUTHENTICATED', 'The key is not valid.')
    },
  })
  const headers = { authorization: 'Bearer one' }
  const client = createGraphQLClient(url, { ...server, ...headers })
  const waiting = client.request('{ wait(gate: "a") }')
  const reader = (await subscribe(server.fetch, undefined, headers)).body!.getReader()
  await reader.read()
  await expect.poll(() => ground.gates.size).toBe(1)
  good.clear()
  await expect(reader.read()).rejects.toThrow('The key is not valid.')
  expect(await waiting).toMatchObject({ status: 401, errors: [{ extensions: { code: 'UNAUTHENTICATED' } }] })
  await expect.poll(() => ground.sources.size).toBe(0)

  const open = (await subscribe(server.fetch)).body!.getReader()
  await open.read()
  const cut = expect(open.read()).rejects.toThrow('has ended the answer')
  await server.close()
  await cut
  await expect.poll(() => ground.sources.size).toBe(0)
  const after = await createGraphQLClient(url, server).request('{ hello }')
  expect([after.status, after.errors![0]!.extensions.code]).toEqual([503, 'UNAVAILABLE'])
})
