import { expect, it } from 'vitest'

import { HoldpointError } from '../../src/domain/errors.ts'
import { createGraphQLClient } from '../support/graphql-client.ts'
import { startServer } from './fixture.ts'

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
