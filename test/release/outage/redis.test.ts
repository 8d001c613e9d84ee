import { setTimeout as sleep } from 'node:timers/promises'

import { afterAll, beforeAll, describe, expect, test } from 'vitest'

import type { OpenDatabase } from '../../../src/store/database/open-database.ts'
import { eventFields, Reader, storedTexts } from '../../live/reader.ts'
import { startTestApp, type TestApp } from '../../support/app.ts'
import { createTestDatabase } from '../../support/database.ts'
import { haveRedis, startRedis, type RealRedis } from '../../support/redis.ts'
import { talkTo, type Talk } from '../../support/talk.ts'

/** Twice what is promised, because other tests load the machine meanwhile. */
const backWithinMs = 4_000
/** Streams that are open during a fault. */
const streams = 10

describe.skipIf(!haveRedis)('[OPS91] a real Redis under load', () => {
  let redis: RealRedis
  let database: OpenDatabase
  let api: TestApp
  let worker: TestApp
  let talk: Talk

  beforeAll(async () => {
    redis = await startRedis()
    database = await createTestDatabase()
    const env = { REDIS_URL: redis.url }
    api = await startTestApp({ database, env: { ...env, HOLDPOINT_WORKERS: '0' } })
    worker = await startTestApp({ database, env, role: 'worker' })
    talk = talkTo(api)
  })
  afterAll(async () => {
    await worker.stop()
    await api.stop()
    await database.close()
    await redis.close()
  })

  const isConnected = async () =>
    (await (await fetch(new URL('/metrics', api.url))).text()).includes('\nholdpoint_bus_connected 1\n')

  test.each([
    {
      fault: 'is killed and started again',
      async strike() {
        await redis.kill()
        await expect.poll(isConnected).toBe(false)
        await redis.restart()
      },
    },
    {
      fault: 'is flushed',
      strike: () => redis.command('flushall'),
    },
    {
      fault: 'is cut off and comes back',
      async strike() {
        redis.freeze()
        await sleep(1_500)
        await redis.restart()
      },
    },
    {
      fault: 'is out of memory',
      strike: () => redis.command('config', 'set', 'maxmemory', '1'),
    },
    {
      fault: 'gets another password, and then the old one again',
      async strike() {
        await redis.command('config', 'set', 'maxmemory', '0')
        await redis.command('config', 'set', 'requirepass', 'another')
        await redis.command('client', 'kill', 'type', 'pubsub')
        await expect.poll(isConnected).toBe(false)
        await sleep(1_500)
        await redis.command('config', 'set', 'requirepass', '')
      },
    },
  ])('$fault: streams lose nothing, and live text is back within two seconds', async ({ strike }) => {
    const agent = await Promise.all(Array.from({ length: streams }, () => talk.createAgent({ model: 'demo/scripted' })))
    let isStruck = false
    const lives = agent.map(async (agentId) => {
      // One message after another, so that text is being written whatever the fault takes.
      for (let message = 0; !isStruck || message === 0; message += 1) {
        const runId = await talk.start(agentId, `slow 10\nsay ${`word ${message} `.repeat(100).trim()}`)
        const reader = await follow(runId)
        expect(reader.end).toBe('COMPLETED')
        expect(reader.stored).toEqual(await storedTexts(api, runId))
      }
    })
    const before = deltas
    await expect.poll(() => deltas - before).toBeGreaterThan(streams)
    await strike()
    const restored = performance.now()
    const known = deltas
    await expect.poll(() => deltas - known, { interval: 10 }).toBeGreaterThan(streams)
    expect(performance.now() - restored).toBeLessThan(backWithinMs)
    isStruck = true
    await Promise.all(lives)
    expect(await isConnected()).toBe(true)
  })

  /** Pieces of live text that arrived from the worker. */
  let deltas = 0

  async function follow(runId: string): Promise<Reader> {
    const reader = new Reader()
    const socket = api.webSocket()
    const document = `subscription ($run: ID!) { runEvents(runId: $run) { ${eventFields} } }`
    for await (const { data } of socket.stream(document, { run: runId })) {
      reader.apply(data!['runEvents'])
      if (reader.types.at(-1) === 'TextDelta') deltas += 1
    }
    await socket.dispose()
    return reader
  }
})
