import { once, type EventEmitter } from 'node:events'
import { request, type ClientRequest, type IncomingMessage, type OutgoingHttpHeaders } from 'node:http'

import { expect, it } from 'vitest'
import { WebSocket } from 'ws'

import { HoldpointError } from '../../src/domain/errors.ts'
import { createGraphQLClient } from '../support/graphql-client.ts'
import { startServer } from './fixture.ts'

/** A server that knows these keys until they are deleted from the set. */
async function startWithKeys(...keys: string[]) {
  const good = new Set(keys.map((key) => `Bearer ${key}`))
  const asked = { accepted: 0, refused: 0 }
  const { origin, ground } = await startServer({
    limits: { keyCheckMs: 50 },
    authenticate: async (authorization) => {
      const isGood = authorization !== null && good.has(authorization)
      asked[isGood ? 'accepted' : 'refused'] += 1
      if (isGood) return { keyName: authorization }
      throw new HoldpointError('UNAUTHENTICATED', 'The key is not valid.')
    },
    openFile: async () => {
      const bytes = Buffer.alloc(50_000_000)
      const file = { key: 'k', name: null, mediaType: 'image/png', sizeBytes: bytes.length }
      return { ...file, read: async () => bytes }
    },
  })
  const clients = [...good].map((authorization) => createGraphQLClient(`${origin}/graphql`, { authorization }))
  const [authorization] = good
  const send = (path: string, headers: OutgoingHttpHeaders = {}) =>
    request(`${origin}${path}`, { headers: { authorization, ...headers } })
  return { good, asked, ground, clients, send }
}

it('[SRV90] a request that waits ends with UNAUTHENTICATED once its key is no longer valid, and no others', async () => {
  const { good, ground, clients } = await startWithKeys('one', 'two')
  const answers = clients.map((client, index) => client.request(`{ wait(gate: "${index}") }`))
  await expect.poll(() => ground.gates.size).toBe(2)
  good.delete('Bearer one')
  const { status, headers, errors, data } = await answers[0]!
  expect([status, headers.get('www-authenticate'), data]).toEqual([401, 'Bearer', undefined])
  expect(errors).toEqual([{ message: 'The key is not valid.', extensions: { code: 'UNAUTHENTICATED' } }])
  for (const gate of ground.gates.values()) gate.resolve('late')
  expect((await answers[1])!.data).toEqual({ wait: 'late' })
  expect(ground.logged.filter(({ level }) => level > 30)).toEqual([])
})

it('[SRV90] a request whose key ends before its body has arrived is cut off and not executed', async () => {
  const { good, asked, ground, send } = await startWithKeys('one')
  const body = JSON.stringify({ query: 'mutation { save(name: "x") }' })
  const slow = send('/graphql', { 'content-type': 'application/json', 'content-length': body.length })
  slow.method = 'POST'
  const ended = failureOf(slow)
  slow.write(body.slice(0, 10))
  await expect.poll(() => asked.accepted).toBeGreaterThan(0)
  good.clear()
  await ended
  expect(ground.contexts).toEqual([])
  expect(ground.logged.filter(({ level }) => level > 30)).toEqual([])
})

it('[SRV90] a download is cut once its key is no longer valid', async () => {
  const { good, asked, send } = await startWithKeys('one')
  const [response] = (await once(send('/files/x').end(), 'response')) as [IncomingMessage]
  good.clear()
  await expect.poll(() => asked.refused).toBeGreaterThan(0)
  await expect(response.toArray()).rejects.toThrow('aborted')
})

it('[SRV91] a socket whose key has ended executes nothing more, although its client does not close it', async () => {
  const { good, ground, clients } = await startWithKeys('one')
  const socket = new WebSocket(clients[0]!.url.replace('http', 'ws'), 'graphql-transport-ws')
  const messages: string[] = []
  socket.on('message', (data: Buffer) => messages.push(data.toString()))
  await once(socket, 'open')
  // The client ignores the server's close frame.
  const { _receiver } = socket as unknown as { _receiver: EventEmitter }
  _receiver.removeAllListeners('conclude')
  const closing = once(_receiver, 'conclude')
  socket.send(JSON.stringify({ type: 'connection_init', payload: { authorization: 'Bearer one' } }))
  await expect.poll(() => messages).toHaveLength(1)
  good.clear()
  expect((await closing)[0]).toBe(4403)
  const before = ground.contexts.length
  socket.send(JSON.stringify({ id: '1', type: 'subscribe', payload: { query: 'mutation { save(name: "x") }' } }))
  // By then the server has it.
  for (let time = 0; time < 5; time += 1) await expect(clients[0]!.data('{ hello }')).rejects.toThrow('UNAUTHENTICATED')
  expect(ground.contexts).toHaveLength(before)
  socket.terminate()
})

const failureOf = (sent: ClientRequest) => new Promise((resolve) => sent.once('error', resolve))

it('[SRV26] a key that is no longer valid closes its sockets with 4403 and cuts its event streams, and no others', async () => {
  const good = new Set(['Bearer one', 'Bearer two'])
  let away = false
  const { origin, ground } = await startServer({
    limits: { keyCheckMs: 50 },
    authenticate: async (authorization) => {
      if (away) throw Object.assign(new Error('connect'), { code: 'ECONNREFUSED' })
      if (authorization !== null && good.has(authorization)) return { keyName: authorization }
      throw new HoldpointError('UNAUTHENTICATED', 'The key is not valid.')
    },
  })
  const clients = [...good].map((authorization) => createGraphQLClient(`${origin}/graphql`, { authorization }))
  const sockets = clients.map((client) => client.webSocket())
  const first = sockets.map((socket) => socket.stream('subscription { ticks }').next())
  const lost = expect(first[0]).rejects.toThrow('4403')
  const streams = await Promise.all(clients.map((client) => client.events('subscription { ticks }')))
  const cut = expect(streams[0]!.next()).rejects.toThrow()
  await expect.poll(() => ground.sources.size).toBe(4)

  // A database that is unavailable tells nothing about keys.
  away = true
  await new Promise((resolve) => setTimeout(resolve, 150))
  expect(ground.sources.size).toBe(4)
  away = false
  good.delete('Bearer one')
  await Promise.all([lost, cut])
  await expect.poll(() => ground.sources.size).toBe(2)
  for (const source of ground.sources) source.push(7)
  expect(await first[1]).toEqual({ data: { ticks: 7 } })
  expect(await streams[1]!.next()).toEqual({ data: { ticks: 7 } })
  streams[1]!.close()
  for (const socket of sockets) await socket.dispose()
})
