import { spawn } from 'node:child_process'
import { once } from 'node:events'

import { describe, expect, it } from 'vitest'
import { WebSocket } from 'ws'

import { startServer, type TestServer } from './fixture.ts'

describe('event streams', () => {
  it('[SRV19] carry a subscription to its end, unbuffered by proxies', async () => {
    const { client, ground } = await startServer()
    const stream = await client.events('subscription { ticks }')
    expect(stream.headers.get('content-type')).toBe('text/event-stream')
    expect(stream.headers.get('x-accel-buffering')).toBe('no')
    await expect.poll(() => ground.sources.size).toBe(1)
    const ticker = [...ground.sources][0]!
    for (let i = 1; i <= 1000; i++) ticker.push(i)
    for (let i = 1; i <= 1000; i++) expect(await stream.next()).toEqual({ data: { ticks: i } })
    ticker.end()
    expect(await stream.next()).toBeUndefined()
  })

  it('[SRV19] can be had by GET, and by a query too', async () => {
    const { client, ground } = await startServer()
    const get = (query: string): Promise<Response> =>
      fetch(`${client.url}?${new URLSearchParams({ query })}`, { headers: { accept: 'text/event-stream' } })
    expect(await (await get('{ hello }')).text()).toContain(
      'event: next\ndata: {"data":{"hello":"world"}}\n\nevent: complete',
    )
    const subscribed = await get('subscription { ticks }')
    await expect.poll(() => ground.sources.size).toBe(1)
    ;[...ground.sources][0]!.push(1)
    ;[...ground.sources][0]!.end()
    expect(await subscribed.text()).toContain('data: {"data":{"ticks":1}}')
  })

  it('[SRV20] release their source when the client goes away, also one that has stopped reading', async () => {
    const { client, ground } = await startServer()
    const streams = await Promise.all(Array.from({ length: 20 }, () => client.events('subscription { ticks }')))
    await expect.poll(() => ground.sources.size).toBe(20)
    for (const stream of streams) stream.close()
    await expect.poll(() => ground.sources.size).toBe(0)

    // A long name makes long events: 30 MB are more than any buffer holds.
    const stuck = await client.events(`subscription { ${'a'.repeat(100_000)}: ticks }`)
    await expect.poll(() => ground.sources.size).toBe(1)
    for (let i = 0; i < 300; i++) [...ground.sources][0]!.push(i)
    await stuck.next()
    stuck.close()
    await expect.poll(() => ground.sources.size).toBe(0)
  })

  it('[SRV18] are cut without `complete` when the server closes, and their sources released', async () => {
    const { server, client, ground } = await startServer()
    const streams = await Promise.all(Array.from({ length: 5 }, () => client.events('subscription { ticks }')))
    const ends = streams.map((stream) => expect(stream.next()).rejects.toThrow())
    await expect.poll(() => ground.sources.size).toBe(5)
    await server.close()
    await Promise.all(ends)
    await expect.poll(() => ground.sources.size).toBe(0)
  })
})

describe('streams of a socket', () => {
  it('[SRV20] release their source when the client completes them', async () => {
    const { client, ground } = await startServer()
    const socket = client.webSocket()
    for (let i = 0; i < 20; i++) {
      const stream = socket.stream('subscription { ticks }')
      const first = stream.next()
      await expect.poll(() => ground.sources.size).toBe(1)
      ;[...ground.sources][0]!.push(i)
      await first
      await stream.close()
      await expect.poll(() => ground.sources.size).toBe(0)
    }
    await socket.dispose()
  })

  it('[SRV20] release their source when the socket breaks', async () => {
    const { client, ground } = await startServer()
    const socket = client.webSocket()
    const waiting = Array.from({ length: 10 }, () => socket.stream('subscription { ticks }').next())
    await expect.poll(() => ground.sources.size).toBe(10)
    socket.client.terminate()
    await Promise.allSettled(waiting)
    await expect.poll(() => ground.sources.size).toBe(0)
  })

  it('[SRV20] release their source when a socket that has stopped reading breaks', async () => {
    const server = await startServer()
    const { socket, subscribe } = await openSocket(server)
    // A long name makes long messages.
    subscribe(`subscription { ${'a'.repeat(100_000)}: ticks }`)
    await expect.poll(() => server.ground.sources.size).toBe(1)
    const ticker = [...server.ground.sources][0]!
    let taken = 0
    const { next } = ticker
    ticker.next = () => ((taken += 1), next())
    socket.pause()
    const pushed = 300
    for (let event = 0; event < pushed; event += 1) ticker.push(event)
    // Waits until no more is accepted: the last write waits for the reader.
    for (let before = -1; before !== taken; await new Promise((resolve) => setTimeout(resolve, 100))) before = taken
    expect(taken).toBeLessThan(pushed)
    socket.terminate()
    await expect.poll(() => server.ground.sources.size).toBe(0)
  })
})

/** A raw socket: the test writes and reads every message. */
async function openSocket({ origin }: TestServer) {
  const socket = new WebSocket(`${origin.replace('http', 'ws')}/graphql`, 'graphql-transport-ws')
  const received: string[] = []
  socket.on('message', (data) => received.push(String(data)))
  await once(socket, 'open')
  socket.send('{"type":"connection_init"}')
  await expect.poll(() => received.shift()).toBe('{"type":"connection_ack"}')
  const subscribe = (query: string) => socket.send(JSON.stringify({ type: 'subscribe', id: '1', payload: { query } }))
  const complete = () => socket.send('{"type":"complete","id":"1"}')
  return { socket, received, subscribe, complete }
}

describe('an id that the client has completed', () => {
  it.each([
    { what: 'a stream', first: 'subscription { ticks }' },
    { what: 'a query', first: '{ wait(gate: "first") }' },
  ])('[SRV27] can be used again at once, and gets nothing of $what that had it before', async ({ first }) => {
    const server = await startServer()
    const { sources, gates } = server.ground
    const { socket, received, subscribe, complete } = await openSocket(server)
    subscribe(first)
    await expect.poll(() => sources.size + gates.size).toBe(1)
    complete()
    subscribe('subscription { ticks }')
    // While the subscription is still being prepared.
    complete()
    subscribe('subscription { ticks(each: "never") }')
    await expect.poll(() => [sources.size, server.ground.sourcesOpened]).toEqual([1, first.startsWith('{') ? 2 : 3])
    gates.get('first')?.resolve('too late')
    for (const value of [7, 8]) {
      ;[...sources][0]!.push(value)
      await expect.poll(() => received.shift()).toBe(`{"id":"1","type":"next","payload":{"data":{"ticks":${value}}}}`)
    }
    socket.close()
    await expect.poll(() => sources.size).toBe(0)
    expect(received).toEqual([])
  })
})

describe('the process', () => {
  it('[SRV13] ends by itself once the server is closed', async () => {
    const script = `
      import { GraphQLObjectType, GraphQLSchema, GraphQLString } from 'graphql'
      import { createClient } from 'graphql-ws'
      import { WebSocket } from 'ws'
      import { createHttpServer } from './src/server/http.ts'
      import { createLog } from './src/util/log.ts'
      const source = () => {
        let finish
        const ended = new Promise((resolve) => (finish = resolve))
        return {
          next: () => ended.then(() => ({ done: true })),
          return: async () => (finish(), { done: true }),
          [Symbol.asyncIterator]() { return this },
        }
      }
      const field = { type: GraphQLString, resolve: () => 'world', subscribe: source }
      const type = (name) => new GraphQLObjectType({ name, fields: { hello: field } })
      const server = createHttpServer({
        schema: new GraphQLSchema({ query: type('Query'), subscription: type('Subscription') }),
        authenticate: async () => ({}), createContext: () => ({}), log: createLog('silent'), graphiql: true, ready: async () => true,
      })
      const { port } = await server.listen('127.0.0.1', 0)
      const url = 'http://127.0.0.1:' + port + '/graphql'
      const headers = { 'content-type': 'application/json' }
      await (await fetch(url, { method: 'POST', headers, body: '{"query":"{ hello }"}' })).json()
      const body = '{"query":"subscription { hello }"}'
      const stream = await fetch(url, { method: 'POST', headers: { ...headers, accept: 'text/event-stream' }, body })
      stream.text().catch(() => {})
      const client = createClient({ url: url.replace('http', 'ws'), webSocketImpl: WebSocket, retryAttempts: 0 })
      await new Promise((resolve) => {
        client.on('connected', resolve)
        client.subscribe({ query: 'subscription { hello }' }, { next() {}, error() {}, complete() {} })
      })
      await server.close()
      console.log('closed')
    `
    const child = spawn(process.execPath, ['--input-type=module', '-e', script], {
      stdio: ['ignore', 'pipe', 'inherit'],
    })
    const output = child.stdout.toArray()
    const [code] = await once(child, 'exit')
    expect([code, (await output).join('')]).toEqual([0, 'closed\n'])
  })
})
