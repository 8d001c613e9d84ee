import { once } from 'node:events'
import { connect } from 'node:net'

import { afterAll, beforeAll, expect, test } from 'vitest'
import { WebSocket } from 'ws'

import { createFrames, createOpenings } from './frames.ts'
import { createRandom, seed } from './random.ts'
import { longer } from '../../support/long.ts'
import { startOwnServer, type OwnServer } from '../../support/own-server.ts'

const sockets = longer(60, 1_200)
let server: OwnServer

beforeAll(async () => {
  server = await startOwnServer()
})
afterAll(() => server.stop())

test('[FUZ2] malformed frames and messages close the socket that sent them, and no other', async () => {
  const random = createRandom(seed)
  const next = createFrames(random)
  const bystander = server.client.webSocket()
  const watching = bystander.stream('subscription { runChanges(since: "2026-01-01T00:00:00Z") { id } }')
  const event = watching.next()
  const codes = new Set<number>()
  let sent = 0
  for (let socket = 0; socket < sockets; socket += 1) {
    const frames = Array.from({ length: 1 + random.below(8) }, next)
    sent += frames.length
    codes.add(await abuse(frames, random.chance(0.7)))
  }
  console.log(JSON.stringify({ seed, sockets, frames: sent, openings: sockets }))
  // 1011 and 4500 would mean that the server had broken down.
  expect(
    [...codes].filter((code) => code === 1011 || code === 4500),
    `seed ${seed}`,
  ).toEqual([])
  expect(await bystander.request('{ __typename }')).toEqual({ data: { __typename: 'Query' } })
  expect(await Promise.race([event, Promise.resolve('still open')])).toBe('still open')
  await bystander.dispose()
  await server.assertSound()
}, 600_000)

test('[FUZ3] malformed requests to open a socket are answered or cut off, and never with an error of the server', async () => {
  const random = createRandom(seed)
  const next = createOpenings(random)
  for (let opening = 0; opening < sockets; opening += 1) {
    const sent = next()
    expect(await answerTo(sent), `seed ${seed}\n${sent}`).not.toMatch(/^HTTP\/1\.1 5(?!05)/)
  }
  await server.assertSound()
}, 600_000)

/** Sends the frames unchanged, and returns the code with which the socket was closed. */
async function abuse(frames: readonly Buffer[], isGreeted: boolean): Promise<number> {
  const socket = new WebSocket(server.url.replace('http', 'ws'), 'graphql-transport-ws')
  socket.on('error', () => {})
  const raw = once(socket, 'upgrade').then(([response]) => response.socket)
  const closed = once(socket, 'close') as Promise<[number]>
  await once(socket, 'open')
  if (isGreeted) {
    socket.send('{"type":"connection_init"}')
    await once(socket, 'message')
  }
  const connection = await raw
  for (const frame of frames) if (connection.writable) connection.write(frame)
  // Data in the pipe is read before the close that follows it.
  socket.close()
  const cut = setTimeout(() => socket.terminate(), 500)
  const [code] = await closed
  clearTimeout(cut)
  return code
}

async function answerTo(opening: string): Promise<string> {
  const { hostname, port } = new URL(server.url)
  const socket = connect(Number(port), hostname)
  let answer = ''
  socket.setEncoding('utf8').on('data', (data) => {
    answer += String(data)
    socket.end()
  })
  socket.on('error', () => {})
  const closed = once(socket, 'close')
  socket.write(opening)
  // A request that is not complete waits for the rest.
  const cut = setTimeout(() => socket.destroy(), 300)
  await closed
  clearTimeout(cut)
  return answer
}
