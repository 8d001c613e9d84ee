import { describe, expect, onTestFinished, test } from 'vitest'

import type { Bus } from '../../src/live/bus.ts'
import { createPostgresBus } from '../../src/live/postgres-bus.ts'
import { createRedisBus } from '../../src/live/redis-bus.ts'
import { captureLog, type CapturedLog } from '../support/captured-log.ts'
import { createTestDatabase } from '../support/database.ts'
import { startFakeRedis } from '../support/fake-redis.ts'
import { hasten } from '../support/hasten.ts'
import { startPostgresProxy } from '../support/postgres-proxy.ts'

/** What carries the packets: a Postgres or a Redis that the test can switch off and on. */
interface Carrier {
  createBus(address: string, log: CapturedLog): Promise<Bus>
  cut(): void
  restore(): void
  close(): Promise<void>
}

async function startPostgres(): Promise<Carrier> {
  const database = await createTestDatabase()
  const proxy = await startPostgresProxy(database.url)
  return {
    createBus: async (address, { log }) => createPostgresBus({ databaseUrl: proxy.url, address, log }),
    cut: () => proxy.cut(),
    restore: () => proxy.restore(),
    async close() {
      await proxy.close()
      await database.close()
    },
  }
}

async function startRedis(): Promise<Carrier> {
  const redis = await startFakeRedis({ password: 'a secret: @/' })
  return {
    createBus: (address, { log }) => createRedisBus({ redisUrl: redis.url, scope: 'test', address, log }),
    cut: () => redis.kill(),
    restore: () => redis.restart(),
    async close() {
      await redis.close()
      expect(redis.refused).toEqual([])
    },
  }
}

/** A process on the bus, and what it received. */
interface Ear {
  readonly bus: Bus
  readonly heard: string[]
  readonly log: CapturedLog
  connected: number
}

describe.each([
  { name: 'Postgres', start: startPostgres },
  { name: 'Redis', start: startRedis },
])('a bus over $name', ({ start }) => {
  async function startCarrier(): Promise<Carrier> {
    const carrier = await start()
    onTestFinished(() => carrier.close())
    return carrier
  }

  async function listen(carrier: Carrier, address: string): Promise<Ear> {
    const log = captureLog()
    const bus = await carrier.createBus(address, log)
    const ear: Ear = { bus, heard: [], log, connected: 0 }
    await bus.open({ receive: (payload) => void ear.heard.push(payload), connected: () => void (ear.connected += 1) })
    onTestFinished(() => bus.close())
    return ear
  }

  test('[OPS80] a packet with an address reaches that process, and one without reaches all', async () => {
    const carrier = await startCarrier()
    const [one, two, three] = [await listen(carrier, '1'), await listen(carrier, '2'), await listen(carrier, '3')]
    expect([one, two, three].map(({ bus, connected }) => [bus.isConnected(), connected])).toEqual([
      [true, 1],
      [true, 1],
      [true, 1],
    ])
    await one.bus.send([
      { to: '2', payload: 'to two' },
      { to: undefined, payload: 'to all' },
    ])
    await one.bus.send([{ to: '3', payload: 'to three' }])
    await expect.poll(() => two.heard).toEqual(['to two', 'to all'])
    await expect.poll(() => three.heard).toEqual(['to all', 'to three'])
    expect(one.heard.filter((payload) => payload !== 'to all')).toEqual([])
  })

  test('[OPS80] payloads up to the limit arrive whole and in order, whatever their text', async () => {
    const carrier = await startCarrier()
    const [one, two] = [await listen(carrier, '1'), await listen(carrier, '2')]
    const fill = (start: string, part: string) => {
      const room = one.bus.payloadLimit - 1 - Buffer.byteLength(start)
      return start + part.repeat(Math.floor(room / Buffer.byteLength(part)))
    }
    const payloads = [fill('1 ', 'x'), fill('2 ', 'ä🙂'), fill('3 ', '\r\n$5\r\n'), '4 "quoted" \\ \'', '5 ']
    await one.bus.send(payloads.map((payload) => ({ to: '2', payload })))
    await expect.poll(() => two.heard).toEqual(payloads)
  })

  test('[OPS80] after an outage a bus is connected again and says so, and sending meanwhile is refused', async () => {
    const carrier = await startCarrier()
    const [one, two] = [await listen(carrier, '1'), await listen(carrier, '2')]
    await one.bus.send([{ to: '2', payload: 'before' }])
    await expect.poll(() => two.heard).toEqual(['before'])
    carrier.cut()
    await expect.poll(() => one.bus.isConnected() || two.bus.isConnected()).toBe(false)
    await expect(one.bus.send([{ to: '2', payload: 'meanwhile' }])).rejects.toThrow()
    carrier.restore()
    await expect.poll(() => [one.connected, two.connected], { timeout: 20_000 }).toEqual([2, 2])
    await one.bus.send([{ to: '2', payload: 'after' }])
    await expect.poll(() => two.heard).toEqual(['before', 'after'])
  })

  test('[OPS80] a bus that cannot connect at first connects later, and logs the outage once', async () => {
    const carrier = await startCarrier()
    carrier.cut()
    const ear = await listen(carrier, '1')
    expect([ear.bus.isConnected(), ear.connected]).toEqual([false, 0])
    // Several attempts fail.
    await new Promise((resolve) => setTimeout(resolve, 1_000))
    carrier.restore()
    await expect.poll(() => ear.connected, { timeout: 20_000 }).toBe(1)
    await ear.bus.send([{ to: '1', payload: 'to itself' }])
    await expect.poll(() => ear.heard).toEqual(['to itself'])
    expect(ear.log.lines.map(({ msg }) => msg)).toEqual([
      'cannot connect to other processes; retrying',
      'connected to other processes again',
    ])
  })

  test('[OPS80] a closed bus hears nothing and does not reconnect', async () => {
    const carrier = await startCarrier()
    const [one, two] = [await listen(carrier, '1'), await listen(carrier, '2')]
    await two.bus.close()
    expect(two.bus.isConnected()).toBe(false)
    await one.bus.send([{ to: undefined, payload: 'to all' }])
    await expect.poll(() => one.heard).toEqual(['to all'])
    carrier.cut()
    carrier.restore()
    await expect.poll(() => one.connected, { timeout: 20_000 }).toBe(2)
    expect([two.heard, two.connected, two.log.lines]).toEqual([[], 1, []])
  })
})

test(
  '[OPS81] a Redis that stops answering is left, and what was being sent is given up',
  { timeout: 30_000 },
  async () => {
    const redis = await startFakeRedis()
    onTestFinished(() => redis.close())
    onTestFinished(hasten())
    const { log, lines } = captureLog()
    const bus = await createRedisBus({ redisUrl: redis.url, scope: 'test', address: '1', log })
    onTestFinished(() => bus.close())
    let connected = 0
    await bus.open({ receive() {}, connected: () => void (connected += 1) })
    redis.freeze()
    await expect(bus.send([{ to: '2', payload: 'lost' }])).rejects.toThrow()
    expect(bus.isConnected()).toBe(false)
    redis.restart()
    await expect.poll(() => connected, { timeout: 20_000 }).toBe(2)
    expect(lines.map(({ msg }) => msg)).toEqual([
      'lost the connection to other processes; reconnecting',
      'connected to other processes again',
    ])
    await bus.close()
    await expect.poll(() => redis.connections()).toBe(0)
  },
)

test('[OPS82] a wrong password is logged without the password', async () => {
  const redis = await startFakeRedis({ password: 'right' })
  onTestFinished(() => redis.close())
  const { log, lines } = captureLog('trace')
  const redisUrl = redis.url.replace('right', 'planted-wrong-password')
  const bus = await createRedisBus({ redisUrl, scope: 'test', address: '1', log })
  await bus.open({ receive() {}, connected() {} })
  await bus.close()
  expect(lines).toHaveLength(1)
  expect(lines[0]).toMatchObject({
    msg: 'cannot connect to other processes; retrying',
    err: { message: expect.stringContaining('WRONGPASS') },
  })
  expect(JSON.stringify(lines)).not.toContain('planted')
})

test('[OPS82] an address that Redis clients cannot use stops the start without showing the password', async () => {
  const { log } = captureLog()
  const create = (redisUrl: string) => createRedisBus({ redisUrl, scope: 'test', address: '1', log })
  for (const url of ['redis://:planted@127.0.0.1/not-a-number', 'redis://:planted%ZZ@127.0.0.1']) {
    const error = await create(url).catch((failure: unknown) => failure)
    expect(error).toMatchObject({ name: 'StartError' })
    expect((error as Error).message).toMatch(/^REDIS_URL cannot be used: /)
    expect((error as Error).message).not.toContain('planted')
  }
})
