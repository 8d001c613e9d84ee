import { once } from 'node:events'

import { describe, expect, it } from 'vitest'
import { WebSocket } from 'ws'

import { startServer } from './fixture.ts'
import { transportNames, transports } from './transports.ts'
import { createGraphQLClient } from '../support/graphql-client.ts'

const clientOf = ({ keyName }: { readonly keyName: string }) => ({ id: keyName, tenantId: 'tenant' })
const tooMany = [expect.objectContaining({ extensions: { code: 'TOO_MANY_OPERATIONS' } })]
const rateLimited = [
  expect.objectContaining({
    extensions: {
      code: 'RATE_LIMITED',
      requestsPerSecond: expect.any(Number),
      remaining: 0,
      retryAfterMs: expect.any(Number),
    },
  }),
]

/** More requests than a slow machine could make within the limit. */
function atOnce<Answer>(ask: () => Promise<Answer>): Promise<Answer[]> {
  return Promise.all(Array.from({ length: 30 }, ask))
}

describe.each(['HTTP', 'SSE'] as const)('requests per second over %s', (transport) => {
  it('[QUO1] a key that sends too many requests is refused with RATE_LIMITED, and others are not', async () => {
    const ask = transports[transport]
    const { client } = await startServer({ clientOf, limits: { keyRequests: 1 } })
    const other = createGraphQLClient(client.url, { authorization: 'Bearer good' })
    // Two seconds' worth may come at once.
    const answers = await atOnce(() => ask(client, { query: '{ hello }' }))
    expect(answers.find(({ data }) => data !== undefined)!.data).toEqual({ hello: 'world' })
    expect(answers.find(({ errors }) => errors !== undefined)!.errors).toEqual(rateLimited)
    expect((await ask(other, { query: '{ hello }' })).data).toEqual({ hello: 'world' })
  })
})

describe.each(transportNames)('requests per second of a tenant over %s', (transport) => {
  const ask = transports[transport]

  it('[QUO1] the keys of a tenant share its limit', async () => {
    const { client } = await startServer({ clientOf, limits: { tenantRequests: 1 } })
    const other = createGraphQLClient(client.url, { authorization: 'Bearer good' })
    const answers = await Promise.all([
      atOnce(() => ask(client, { query: '{ hello }' })),
      atOnce(() => ask(other, { query: '{ hello }' })),
    ])
    expect(answers.flat().find(({ errors }) => errors !== undefined)!.errors).toEqual(rateLimited)
  })
})

describe('a socket whose operations are refused', () => {
  it('[QUO1] stays open, and its streams continue', async () => {
    const { client, ground } = await startServer({ clientOf, limits: { keyRequests: 2 } })
    const socket = client.webSocket()
    const stream = socket.stream('subscription { ticks }')
    await expect.poll(() => ground.sources.size).toBe(1)
    const answers = await atOnce(() => socket.request('{ hello }'))
    expect(answers.find(({ errors }) => errors !== undefined)!.errors).toEqual(rateLimited)
    for (const source of ground.sources) source.push(1)
    expect((await stream.next())!.data).toEqual({ ticks: 1 })
    await socket.dispose()
  })
})

describe('what a key may have open', () => {
  it('[QUO2] a socket too many is closed with 1013 and the reason, and a closed one makes room', async () => {
    const { client } = await startServer({ clientOf, limits: { keySockets: 2 } })
    const sockets = [client.webSocket(), client.webSocket()]
    for (const socket of sockets) await socket.request('{ hello }')
    const third = client.webSocket()
    await third.request('{ hello }').catch(() => {})
    const { code, reason } = await third.closed
    expect([code, reason]).toEqual([1013, expect.stringContaining('TOO_MANY_OPERATIONS: This key')])
    const other = createGraphQLClient(client.url, { authorization: 'Bearer good' }).webSocket()
    expect((await other.request('{ hello }')).data).toEqual({ hello: 'world' })
    await sockets[0]!.dispose()
    await expect
      .poll(async () => {
        const next = client.webSocket()
        const answer = await next.request('{ hello }').catch(() => undefined)
        await next.dispose()
        return answer?.data
      })
      .toEqual({ hello: 'world' })
    await Promise.all([other.dispose(), sockets[1]!.dispose()])
  })

  it('[QUO3] subscriptions are counted over sockets and event streams together, and ended ones make room', async () => {
    const { client, ground } = await startServer({ clientOf, limits: { keySubscriptions: 2 } })
    const query = 'subscription { ticks }'
    const socket = client.webSocket()
    const first = socket.stream(query)
    await expect.poll(() => ground.sources.size).toBe(1)
    const second = await client.events(query)
    await expect.poll(() => ground.sources.size).toBe(2)

    expect((await transports.HTTP(client, { query: '{ hello }' })).data).toEqual({ hello: 'world' })
    expect((await transports.SSE(client, { query })).errors).toEqual(tooMany)
    expect((await socket.request(query)).errors).toEqual(tooMany)
    expect(ground.sourcesOpened).toBe(2)

    second.close()
    await expect.poll(() => ground.sources.size).toBe(1)
    const third = await client.events(query)
    await expect.poll(() => ground.sources.size).toBe(2)
    // One that ends by itself makes room too.
    for (const source of ground.sources) source.end()
    expect(await third.next()).toBeUndefined()
    expect(await first.next()).toBeUndefined()
    const again = [socket.stream(query), socket.stream(query)]
    await expect.poll(() => ground.sources.size).toBe(2)
    await Promise.all(again.map((stream) => stream.close()))
    await socket.dispose()
  })

  it('[QUO90] sockets and event streams whose client leaves while its key is checked take no place', async () => {
    const arrived = { count: 0, gate: Promise.withResolvers<void>() }
    const { client, origin, ground } = await startServer({
      clientOf,
      limits: { keySockets: 1, keySubscriptions: 1, keyCheckMs: 50 },
      authenticate: async (authorization) => {
        if (authorization === null) return { keyName: 'open' }
        arrived.count += 1
        await arrived.gate.promise
        return { keyName: authorization }
      },
    })
    const authorization = 'Bearer good'
    const keyed = createGraphQLClient(client.url, { authorization })
    const leaving = new WebSocket(client.url.replace('http', 'ws'), 'graphql-transport-ws')
    await once(leaving, 'open')
    leaving.send(JSON.stringify({ type: 'connection_init', payload: { authorization } }))
    await expect.poll(() => arrived.count).toBe(1)
    const leave = new AbortController()
    const query = 'subscription { ticks }'
    const stream = fetch(`${origin}/graphql?query=${query}`, {
      headers: { authorization, accept: 'text/event-stream' },
      signal: leave.signal,
    })
    await expect.poll(() => arrived.count).toBe(2)
    leaving.terminate()
    leave.abort()
    await expect(stream).rejects.toThrow('aborted')
    // By then the server knows.
    for (let time = 0; time < 3; time += 1) await client.data('{ hello }')
    arrived.gate.resolve()
    await expect.poll(() => ground.sourcesOpened).toBe(1)
    await expect.poll(() => ground.sources.size).toBe(0)

    // Nobody checks the key of somebody who has left.
    arrived.count = 0
    await new Promise((resolve) => setTimeout(resolve, 200))
    expect(arrived.count).toBe(0)
    const socket = keyed.webSocket()
    const next = socket.stream(query)
    await expect.poll(() => ground.sources.size).toBe(1)
    for (const source of ground.sources) source.push(1)
    expect((await next.next())!.data).toEqual({ ticks: 1 })
    await socket.dispose()
  })

  it('[QUO3] a subscription that fails to start takes no place', async () => {
    const { client } = await startServer({ clientOf, limits: { keySubscriptions: 1 } })
    const query = 'subscription { ticks(failing: "input") }'
    for (const ask of [transports.SSE, transports.WebSocket, transports.SSE]) {
      expect((await ask(client, { query })).errors![0]!.extensions.code).toBe('BAD_USER_INPUT')
    }
  })
})

describe.each(transportNames)('an overloaded server over %s', (transport) => {
  it('[QUO4] refuses new operations with UNAVAILABLE before anything is looked up', async () => {
    let overloaded = false
    const { client, ground } = await startServer({ clientOf, isOverloaded: () => overloaded })
    const socket = client.webSocket()
    await socket.request('{ hello }')
    const before = ground.contexts.length
    overloaded = true
    const ask = transport === 'WebSocket' ? () => socket.request('{ hello }') : transports[transport]
    const { errors } = await ask(client, { query: '{ hello }' })
    expect(errors).toEqual([expect.objectContaining({ extensions: { code: 'UNAVAILABLE' } })])
    expect(ground.contexts).toHaveLength(before)
    overloaded = false
    expect((await socket.request('{ hello }')).data).toEqual({ hello: 'world' })
    await socket.dispose()
  })
})
