import { once } from 'node:events'
import { createServer, get, type IncomingMessage } from 'node:http'
import { connect, type AddressInfo } from 'node:net'
import { text } from 'node:stream/consumers'

import { expect, it } from 'vitest'

import { loopbackOnly } from '../../src/server/access/loopback-only.ts'

it.each([
  ['127.0.0.1', true],
  ['::ffff:127.0.0.9', true],
  ['::1', true],
  ['192.0.2.7', false],
  ['::ffff:192.0.2.7', false],
  ['2001:db8::1', false],
])('[PKG8] an embedded server without keys, asked by %s: answers %s', async (address, answers) => {
  const { handle, upgrade } = loopbackOnly({
    fetch: async () => new Response('served'),
    handle: (_request, response) => void response.end('served'),
    upgrade: (_request, socket) => void socket.end('HTTP/1.1 200 OK\r\n\r\nserved'),
  })
  /** A connection that seems to come from that address. */
  const from = (request: IncomingMessage): IncomingMessage =>
    Object.defineProperty(request, 'socket', { value: { remoteAddress: address } })
  const server = createServer((request, response) => handle(from(request), response))
  server.on('upgrade', (request, socket, head) => upgrade(from(request), socket, head))
  await once(server.listen(0, '127.0.0.1'), 'listening')
  const { port } = server.address() as AddressInfo
  const expected = answers ? 'served' : 'no API key'

  const [response] = (await once(get({ port, agent: false }), 'response')) as [IncomingMessage]
  expect(await text(response)).toContain(expected)
  const socket = connect(port, '127.0.0.1')
  socket.write('GET / HTTP/1.1\r\nHost: x\r\nConnection: upgrade\r\nUpgrade: websocket\r\n\r\n')
  expect(await text(socket)).toContain(expected)
  server.close()
})

it('[PKG8] a request that the program passes on may come from anywhere, so an embedded server without keys refuses it', async () => {
  const { fetch } = loopbackOnly({ handle: () => {}, upgrade: () => {}, fetch: async () => new Response('served') })
  expect(await (await fetch('http://localhost/graphql')).text()).toBe('served')
  const passedOn = await fetch('http://localhost/graphql', { headers: { host: 'localhost' } })
  expect([passedOn.status, await passedOn.text()]).toEqual([403, expect.stringContaining('no API key')])
})
