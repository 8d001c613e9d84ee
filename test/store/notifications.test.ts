import { createServer, type AddressInfo } from 'node:net'
import { once } from 'node:events'

import { expect, test } from 'vitest'

import { openListener } from '../../src/store/notifications.ts'

test('[BUS11] an attempt to listen that fails is told once, so that it is followed by one other', async () => {
  const server = createServer((socket) => socket.destroy()).listen(0, '127.0.0.1')
  await once(server, 'listening')
  let lost = 0
  const handlers = { onPayload: () => {}, onLost: () => (lost += 1) }
  const at = (port: number) => openListener(`postgres://nobody@127.0.0.1:${port}/none`, ['a'], handlers)
  const { port } = server.address() as AddressInfo
  await expect(at(port)).rejects.toThrow('terminated')
  server.close()
  await once(server, 'close')
  await expect(at(port)).rejects.toThrow('ECONNREFUSED')
  expect(lost).toBe(0)
})
