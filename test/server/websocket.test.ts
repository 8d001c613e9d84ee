import { once } from 'node:events'
import type { Socket } from 'node:net'

import { describe, expect, it } from 'vitest'
import { WebSocket } from 'ws'

import { startServer } from './fixture.ts'

describe('operations of one socket', () => {
  it('[SRV14] fail by themselves: the socket and its other streams live on', async () => {
    const { client, ground } = await startServer()
    const socket = client.webSocket()
    const stream = socket.stream('subscription { ticks }')
    const first = stream.next()
    await expect.poll(() => ground.sources.size).toBe(1)
    const bad = [
      ['{ hello', {}],
      ['', {}],
      ['{ helo }', {}],
      [`{ ${'hello '.repeat(2000)} }`, {}],
      ['{ people(first: 200) { friends(first: 200) { name friends(first: 1) { name } } } }', {}],
      ['query ($input: PersonInput!) { greet(input: $input) }', { input: 5 }],
      ['query A { hello } query B { hello }', {}],
      ['{ fail(kind: "bug") }', {}],
      ['mutation { fail(kind: "string") }', {}],
      ['subscription { ticks(failing: "bug") }', {}],
      ['subscription { ticks(failing: "string") }', {}],
      ['subscription ($failing: String) { ticks(failing: $failing) }', { failing: {} }],
    ] as const
    for (const [query, variables] of bad) {
      const { errors } = await socket.request(query, variables)
      expect(errors).toEqual([
        expect.objectContaining({ extensions: expect.objectContaining({ code: expect.any(String) }) }),
      ])
    }
    ;[...ground.sources][0]!.push(1)
    expect(await first).toEqual({ data: { ticks: 1 } })
    expect((await socket.request('{ hello }')).data).toEqual({ hello: 'world' })
    await stream.close()
    await socket.dispose()
  })

  it('[SRV14] fail by themselves if the context cannot be created', async () => {
    const { client } = await startServer({
      createContext: () => {
        throw new Error('secret: context')
      },
    })
    const socket = client.webSocket()
    for (let i = 0; i < 2; i++) {
      const { errors } = await socket.request('{ hello }')
      expect(errors).toEqual([
        expect.objectContaining({ extensions: { code: 'INTERNAL_SERVER_ERROR', errorId: expect.any(String) } }),
      ])
    }
    await socket.dispose()
  })

  it('[SRV15] may be 50 at once: one more is refused, and accepted after another has completed', async () => {
    const { client, ground } = await startServer()
    const socket = client.webSocket()
    const streams = Array.from({ length: 50 }, () => socket.stream('subscription { ticks }'))
    const waiting = streams.map((stream) => stream.next())
    await expect.poll(() => ground.sources.size).toBe(50)
    const { errors } = await socket.request('{ hello }')
    expect(errors).toEqual([expect.objectContaining({ extensions: { code: 'TOO_MANY_OPERATIONS' } })])
    await streams[0]!.close()
    await expect.poll(() => ground.sources.size).toBe(49)
    expect((await socket.request('{ hello }')).data).toEqual({ hello: 'world' })
    await socket.dispose()
    await Promise.allSettled(waiting)
    await expect.poll(() => ground.sources.size).toBe(0)
  })

  it('[SRV15] are answered each by itself, many in parallel over many sockets', async () => {
    const { client, ground } = await startServer()
    const sockets = Array.from({ length: 10 }, () => client.webSocket())
    const asked = sockets.flatMap((socket, s) =>
      Array.from({ length: 40 }, async (_, i) => {
        const name = `${s}-${i}`
        const { data } = await socket.request('query ($gate: String!) { wait(gate: $gate) }', { gate: name })
        expect(data).toEqual({ wait: `${name} done` })
      }),
    )
    await expect.poll(() => ground.gates.size).toBe(400)
    for (const [name, gate] of [...ground.gates].toReversed()) gate.resolve(`${name} done`)
    await Promise.all(asked)
    expect(ground.contexts).toHaveLength(400)
    await Promise.all(sockets.map((socket) => socket.dispose()))
  })
})

describe('sockets', () => {
  it('[SRV16] take the key in connection_init', async () => {
    const { client } = await startServer()
    const socket = client.webSocket({ authorization: 'Bearer good' })
    expect((await socket.request('{ viewer }')).data).toEqual({ viewer: 'good' })
    await socket.dispose()
    const open = client.webSocket()
    expect((await open.request('{ viewer }')).data).toEqual({ viewer: 'open' })
    await open.dispose()
  })

  it('[SRV16] are closed with 4401 for a bad key, and with 1013 if keys cannot be looked up', async () => {
    const { client } = await startServer()
    expect((await client.webSocket({ authorization: 'Bearer bad' }).closed).code).toBe(4401)
    expect((await client.webSocket({ authorization: 'Bearer database-down' }).closed).code).toBe(1013)
  })

  it('[SRV81] are closed with the id under which a bug is logged, and with nothing else about it', async () => {
    const { client, ground } = await startServer()
    const { code, reason } = await client.webSocket({ authorization: 'Bearer bug' }).closed
    const { errorId } = ground.logged.find(({ msg }) => msg === 'internal error')!
    expect([code, reason]).toEqual([1013, `INTERNAL_SERVER_ERROR: Internal error. The server logged it as ${errorId}.`])
  })

  it('[SRV17] are refused to pages of another origin, with the reason in the body and in the log', async () => {
    const { origin, ground } = await startServer({ allowedOrigins: ['https://app.example'] })
    const open = async (path: string, headers: Record<string, string>): Promise<{ status: number; body: string }> => {
      const socket = new WebSocket(origin.replace('http', 'ws') + path, 'graphql-transport-ws', { headers })
      socket.on('error', () => {})
      const answer = await Promise.race([
        once(socket, 'open').then(() => ({ status: 101, body: '' })),
        once(socket, 'unexpected-response').then(async ([, response]) => ({
          status: response.statusCode as number,
          body: (await response.toArray()).join(''),
        })),
      ])
      socket.terminate()
      return answer
    }
    for (const foreign of ['https://evil.example', 'null', 'http://127.0.0.1:1']) {
      const { status, body } = await open('/graphql', { origin: foreign })
      expect(status).toBe(403)
      expect(body).toContain(`Pages of ${foreign} may not use this server`)
      expect(body).toContain('HOLDPOINT_ALLOWED_ORIGINS')
      expect(ground.logged.at(-1)).toMatchObject({
        origin: foreign,
        requestId: expect.any(String),
        msg: expect.stringContaining('refused a WebSocket'),
      })
    }
    expect((await open('/graphql', { 'sec-fetch-site': 'cross-site' })).status).toBe(403)
    expect((await open('/graphql', { origin: 'https://app.example' })).status).toBe(101)
    expect((await open('/graphql', { origin })).status).toBe(101)
    expect((await open('/graphql', {})).status).toBe(101)
    expect((await open('/nope', { 'x-request-id': 'nope-1' })).status).toBe(404)
    expect(ground.logged.at(-1)).toMatchObject({
      requestId: 'nope-1',
      msg: 'refused a WebSocket: WebSockets are at /graphql.',
    })
    expect((await open('/graphql', { host: 'evil.example#.localhost' })).status).toBe(400)
  })

  it('[SRV17] without a key are closed with 4401 if they use a host name that anyone could point here', async () => {
    const { client } = await startServer()
    const headers = { host: 'evil.example', origin: 'http://evil.example' }
    expect((await client.webSocket({ headers }).closed).code).toBe(4401)
    const keyed = client.webSocket({ headers, authorization: 'Bearer good' })
    expect((await keyed.request('{ viewer }')).data).toEqual({ viewer: 'good' })
    await keyed.dispose()
  })

  it.each([
    { what: 'no JSON', message: 'nonsense', code: 4400 },
    {
      what: 'a message that only servers send',
      message: '{"type":"next","id":"1","payload":{"data":null}}',
      code: 4400,
    },
    {
      what: 'an operation before connection_init',
      message: '{"type":"subscribe","id":"1","payload":{"query":"{ hello }"}}',
      code: 4401,
    },
  ])('[SRV14] are closed with $code for $what', async ({ message, code }) => {
    const { origin } = await startServer()
    const socket = new WebSocket(`${origin.replace('http', 'ws')}/graphql`, 'graphql-transport-ws')
    await once(socket, 'open')
    socket.send(message)
    const [closed] = await once(socket, 'close')
    expect(closed).toBe(code)
  })

  it('[SRV31] whose client has left before the answer are not logged as a lost database', async () => {
    const { origin, ground } = await startServer()
    const socket = new WebSocket(`${origin.replace('http', 'ws')}/graphql`, 'graphql-transport-ws')
    socket.on('error', () => {})
    await once(socket, 'open')
    socket.send('{"type":"connection_init"}')
    await once(socket, 'message')
    socket.send('{"type":"subscribe","id":"1","payload":{"query":"{ wait(gate: \\"a\\") }"}}')
    await expect.poll(() => ground.gates.has('a')).toBe(true)
    // The answer is written in the same tick, before the server can notice that the connection is gone.
    ;(socket as unknown as { _socket: Socket })._socket.resetAndDestroy()
    ground.gates.get('a')!.resolve('done')
    await once(socket, 'close')
    await new Promise(setImmediate)
    expect(ground.logged.filter(({ level }) => level >= 40)).toEqual([])
  })

  it('[SRV18] are told to reconnect (1012) when the server closes, and their streams are released', async () => {
    const { server, client, ground } = await startServer()
    const sockets = Array.from({ length: 5 }, () => client.webSocket())
    const ends = sockets.map((socket) => expect(socket.stream('subscription { ticks }').next()).rejects.toThrow('1012'))
    await expect.poll(() => ground.sources.size).toBe(5)
    await server.close()
    for (const socket of sockets) expect((await socket.closed).code).toBe(1012)
    await Promise.all(ends)
    expect(ground.sources.size).toBe(0)
  })

  it('[SRV18] that do not answer the close are cut off', async () => {
    const { server, origin } = await startServer()
    const socket = new WebSocket(`${origin.replace('http', 'ws')}/graphql`, 'graphql-transport-ws')
    await once(socket, 'open')
    socket.pause()
    await server.close()
    socket.terminate()
  })
})

describe('a proxy that drops the headers for an upgrade', () => {
  it('[SRV64] is named instead of a missing key', async () => {
    const { origin } = await startServer()
    const headers = { 'sec-websocket-key': 'dGhlIHNhbXBsZSBub25jZQ==', 'sec-websocket-version': '13' }
    const answer = await fetch(`${origin}/graphql`, { headers })
    expect([answer.status, answer.headers.get('upgrade')]).toEqual([426, 'websocket'])
    const { errors } = (await answer.json()) as { errors: { message: string; extensions: object }[] }
    expect(errors[0]!.extensions).toEqual({ code: 'BAD_REQUEST' })
    expect(errors[0]!.message).toContain('`Upgrade: websocket` and `Connection: Upgrade`')
  })
})
