import { createServer, type AddressInfo } from 'node:net'
import { once } from 'node:events'

import { expect, test } from 'vitest'

import { openNotifications } from '../../src/store/database/notifications.ts'

test('[BUS11] a failed attempt to listen is reported once, so that exactly one other follows', async () => {
  const server = createServer((socket) => socket.destroy()).listen(0, '127.0.0.1')
  await once(server, 'listening')
  let lost = 0
  const handlers = { onNotification: () => {}, onLost: () => (lost += 1) }
  const at = (port: number) =>
    openNotifications({ url: `postgres://nobody@127.0.0.1:${port}/none`, onMoved: () => () => {} }, ['a'], handlers)
  const { port } = server.address() as AddressInfo
  await expect(at(port)).rejects.toThrow('terminated')
  server.close()
  await once(server, 'close')
  await expect(at(port)).rejects.toThrow('ECONNREFUSED')
  expect(lost).toBe(0)
})
