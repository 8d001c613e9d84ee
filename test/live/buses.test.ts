import { describe, expect, onTestFinished, test } from 'vitest'

import type { Bus } from '../../src/live/bus.ts'
import { createPostgresBus } from '../../src/live/postgres-bus.ts'
import { createRedisBus } from '../../src/live/redis-bus.ts'
import { captureLog, type CapturedLog } from '../support/captured-log.ts'
import { createTestDatabase } from '../support/database.ts'
import { startFakeRedis } from '../support/fake-redis.ts'
import { hasten } from '../support/hasten.ts'
import { startPostgresProxy } from '../support/postgres-proxy.ts'
import { haveRedis, startRedis } from '../support/redis.ts'

/** What carries the packets: a Postgres or a Redis that the test can switch off and on. */
interface Carrier {
  createBus(address: string, log: CapturedLog): Promise<Bus>
  cut(): void | Promise<void>
  /** Keeps connections open, and answers nothing on them. */
  hang(): void
  restore(): void | Promise<void>
  close(): Promise<void>
}

async function startPostgres(): Promise<Carrier> {
  const database = await createTestDatabase()
  const proxy = await startPostgresProxy(database.url)
  return {
    createBus: async (address, { log }) =>
      createPostgresBus({ database: { ...database, url: proxy.url }, address, log }),
    cut: () => proxy.cut(),
    hang: () => proxy.silence(),
    restore: () => proxy.restore(),
    async close() {
      await proxy.close()
      await database.close()
    },
  }
}

async function startSimulatedRedis(): Promise<Carrier> {
  const redis = await startFakeRedis({ password: 'a secret: @/' })
  return {
    createBus: (address, { log }) => createRedisBus({ redisUrl: redis.url, scope: 'test', address, log }),
    cut: () => redis.kill(),
    hang: () => redis.freeze(),
    restore: () => redis.restart(),
    async close() {
      await redis.close()
      expect(redis.refused).toEqual([])
    },
  }
}

async function startRealRedis(): Promise<Carrier> {
  const redis = await startRedis({ password: 'a secret: @/' })
  return {
    createBus: (address, { log }) => createRedisBus({ redisUrl: redis.url, scope: 'test', address, log }),
    cut: () => redis.kill(),
    hang: () => redis.freeze(),
    restore: () => redis.restart(),
    close: () => redis.close(),
  }
}

/** A process on the bus, and what it received. */
interface Ear {
  readonly bus: Bus
  readonly heard: string[]
  readonly log: CapturedLog
  connected: number
}

describe('a bus over Postgres', () => {
  testContract(startPostgres)
})
describe('a bus over a simulated Redis', () => {
  testContract(startSimulatedRedis)
})
describe.skipIf(!haveRedis)('a bus over a real Redis', () => {
  testContract(startRealRedis)
})

function testContract(start: () => Promise<Carrier>): void {
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
    await carrier.cut()
    await expect.poll(() => one.bus.isConnected() || two.bus.isConnected()).toBe(false)
    await expect(one.bus.send([{ to: '2', payload: 'meanwhile' }])).rejects.toThrow()
    await carrier.restore()
    await expect.poll(() => [one.connected, two.connected], { timeout: 20_000 }).toEqual([2, 2])
    await one.bus.send([{ to: '2', payload: 'after' }])
    await expect.poll(() => two.heard).toEqual(['before', 'after'])
  })

  test('[OPS80] a bus that cannot connect at first connects later, and logs the outage once', async () => {
    const carrier = await startCarrier()
    await carrier.cut()
    const ear = await listen(carrier, '1')
    expect([ear.bus.isConnected(), ear.connected]).toEqual([false, 0])
    // Several attempts fail.
    await new Promise((resolve) => setTimeout(resolve, 1_000))
    await carrier.restore()
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
    await carrier.cut()
    await carrier.restore()
    await expect.poll(() => one.connected, { timeout: 20_000 }).toBe(2)
    expect([two.heard, two.connected, two.log.lines]).toEqual([[], 1, []])
  })

  test.each(['at once', 'once the other end hangs'])(
    '[OPS70] a bus that is closed while it connects stays closed, and waits for nothing: %s',
    async (when) => {
      const carrier = await startCarrier()
      const log = captureLog()
      const bus = await carrier.createBus('1', log)
      const before = openSockets()
      if (when !== 'at once') carrier.hang()
      let connected = 0
      const opened = bus.open({ receive() {}, connected: () => void (connected += 1) })
      if (when !== 'at once') await expect.poll(openSockets).toBeGreaterThan(before)
      const closing = performance.now()
      await Promise.all([bus.close(), opened])
      expect(performance.now() - closing).toBeLessThan(2_000)
      await carrier.restore()
      expect([bus.isConnected(), connected, log.lines]).toEqual([false, 0, []])
      await expect.poll(openSockets).toBeLessThanOrEqual(before)
    },
  )
}

/** The sockets of this process, also those that are being connected. */
function openSockets(): number {
  return process.getActiveResourcesInfo().filter((name) => name === 'TCPSocketWrap').length
}

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

describe.skipIf(!haveRedis)('a real Redis that refuses', () => {
  async function openBus(redisUrl: string) {
    const { log, lines } = captureLog()
    const bus = await createRedisBus({ redisUrl, scope: 'test', address: '1', log })
    onTestFinished(() => bus.close())
    await bus.open({ receive() {}, connected() {} })
    return { bus, reasons: () => lines.map(({ err, msg }) => [msg, err?.message]) }
  }

  test('[OPS89] why it cannot be reached again is logged, each reason once', async () => {
    const redis = await startRedis({ password: 'first' })
    onTestFinished(() => redis.close())
    const { bus, reasons } = await openBus(redis.url)
    await redis.command('config', 'set', 'requirepass', 'second')
    await redis.command('client', 'kill', 'type', 'pubsub')
    await expect.poll(reasons).toHaveLength(2)
    expect(reasons()).toEqual([
      ['lost the connection to other processes; reconnecting', expect.any(String)],
      ['cannot connect to other processes; retrying', expect.stringContaining('WRONGPASS')],
    ])
    expect(bus.isConnected()).toBe(false)
    expect(JSON.stringify(reasons())).not.toMatch(/first|second/)
  })

  test('[OPS90] an account without the right to publish counts as not connected, from the start and later', async () => {
    const redis = await startRedis()
    onTestFinished(() => redis.close())
    const rights = ['on', '>word', '&holdpoint*', '+hello', '+subscribe', '+ping']
    await redis.command('acl', 'setuser', 'mute', ...rights)
    const url = redis.url.replace('//', '//mute:word@')
    const mute = await openBus(url)
    expect(mute.bus.isConnected()).toBe(false)
    expect(mute.reasons()).toEqual([['cannot connect to other processes; retrying', expect.stringContaining('NOPERM')]])
    await redis.command('acl', 'setuser', 'mute', '+publish')
    await expect.poll(() => mute.bus.isConnected()).toBe(true)
    await redis.command('acl', 'setuser', 'mute', '-publish')
    await expect(mute.bus.send([{ to: '2', payload: 'a' }])).rejects.toThrow('NOPERM')
    expect(mute.bus.isConnected()).toBe(false)
  })
})
