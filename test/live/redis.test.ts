import { afterAll, expect, test } from 'vitest'

import { startTestApp } from '../support/app.ts'
import { captureLog } from '../support/captured-log.ts'
import { createTestDatabase } from '../support/database.ts'
import { startFakeRedis } from '../support/fake-redis.ts'
import { createGatedModel } from '../support/gated-model.ts'
import { plantedMark } from '../support/kept-output.ts'
import { spawnMain } from '../support/server-process.ts'
import { talkTo } from '../support/talk.ts'
import { openRunEvents, Reader, readToEnd, readUntil, storedTexts } from './reader.ts'

const model = createGatedModel()
const logs = { api: captureLog('trace'), worker: captureLog('trace') }

const redis = await startFakeRedis({ password: plantedMark })
const database = await createTestDatabase()
const env = { REDIS_URL: redis.url }
const options = { database, providers: [model.provider] }
const api = await startTestApp({ ...options, env: { ...env, HOLDPOINT_WORKERS: '0' }, log: logs.api.log })
const worker = await startTestApp({ ...options, env, role: 'worker', log: logs.worker.log })
const talk = talkTo(api)
afterAll(async () => {
  await worker.stop()
  await api.stop()
  await database.close()
  await redis.close()
  model.assertAllTaken()
})

const hasText = (text: string) => (reader: Reader) => [...reader.live.values()].includes(text)

async function get(path: string): Promise<{ status: number; text: string }> {
  const response = await fetch(new URL(path, api.url))
  return { status: response.status, text: await response.text() }
}

test('[OPS83] while Redis is away nothing is lost, cancels work and the server stays ready; it is logged once', async () => {
  const agent = await talk.createAgent()
  const run = await talk.start(agent, 'hi')
  const call = await model.nextCall()
  const stream = openRunEvents(api, { run })
  const reader = new Reader()
  call.say('before')
  await readUntil(stream, reader, hasText('before'))
  expect((await get('/metrics')).text).toContain('\nholdpoint_bus_connected 1\n')

  redis.kill()
  for (const log of [logs.api, logs.worker]) await log.until('lost the connection to other processes; reconnecting')
  call.say(' meanwhile')
  call.finish()
  await readUntil(stream, reader, () => false)
  expect(reader.end).toBe('COMPLETED')
  expect(reader.stored).toEqual(await storedTexts(api, run))
  expect(reader.stored.at(-1)![1]).toBe('before meanwhile')
  await stream.close()

  // Messages are accepted and cancelled without it.
  const second = await talk.start(agent, 'again')
  const cut = await model.nextCall()
  cut.say('half')
  await talk.cancel({ runId: second })
  await cut.aborted
  expect((await readToEnd(api, second)).end).toBe('CANCELLED')
  expect((await get('/readyz')).status).toBe(200)
  expect((await get('/metrics')).text).toContain('\nholdpoint_bus_connected 0\n')

  redis.restart()
  for (const log of [logs.api, logs.worker]) await log.until('connected to other processes again')
  const third = await talk.start(agent, 'once more')
  const live = await model.nextCall()
  const again = openRunEvents(api, { run: third })
  const readerAfter = new Reader()
  live.say('after')
  await readUntil(again, readerAfter, hasText('after'))
  live.finish()
  await readUntil(again, readerAfter, () => false)
  await again.close()
  for (const { lines } of [logs.api, logs.worker]) {
    const warnings = lines.filter(({ level, msg }) => level === 40 && msg.includes('other processes'))
    expect(warnings.map(({ msg }) => msg)).toEqual([...new Set(warnings.map(({ msg }) => msg))])
    expect(JSON.stringify(lines)).not.toContain(plantedMark)
  }
})

test('[OPS84] installations that share a Redis do not hear each other', async () => {
  const before = redis.published.length
  const other = await startTestApp({ env: { REDIS_URL: redis.url } })
  await expect
    .poll(() => redis.published.slice(before).filter(({ payload }) => payload.includes('hello')))
    .toHaveLength(1)
  const channels = new Set(redis.published.map(({ channel }) => channel).filter((channel) => channel.endsWith(' all')))
  expect(channels.size).toBe(2)
  await other.stop()
})

test('[OPS82] without the package `redis`, a start with REDIS_URL ends with one line that says what to install', async () => {
  const hidden = `import { registerHooks } from 'node:module'
    registerHooks({ resolve(name, context, next) {
      if (name === 'redis') throw Object.assign(new Error("Cannot find package 'redis'"), { code: 'ERR_MODULE_NOT_FOUND' })
      return next(name, context)
    } })`
  const server = spawnMain(['serve'], {
    DATABASE_URL: database.url,
    REDIS_URL: redis.url,
    NODE_OPTIONS: `--import=data:text/javascript,${encodeURIComponent(hidden)}`,
  })
  expect(await server.ended).toMatchObject({ code: 1 })
  expect(server.stdout()).toBe('')
  expect(server.stderr().trimEnd()).toBe(
    'holdpoint: REDIS_URL cannot be used: The package redis is not installed. Run: npm install redis, or unset REDIS_URL and Postgres does it.',
  )
})
