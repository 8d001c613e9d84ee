import { afterAll, expect, test } from 'vitest'

import { startTestApp } from '../support/app.ts'
import { createTestDatabase } from '../support/database.ts'
import { spawnMain } from '../support/server-process.ts'
import { talkTo } from '../support/talk.ts'
import { openRunEvents, Reader, readUntil, storedTexts } from './reader.ts'

const database = await createTestDatabase()
const api = await startTestApp({ database, env: { HOLDPOINT_WORKERS: '0' } })
afterAll(async () => {
  await api.stop()
  await database.close()
})

test('[BUS4] when the process that writes a message is killed, readers get StepRestarted and the new attempt', async () => {
  const env = { DATABASE_URL: database.url, LOG_LEVEL: 'fatal' }
  const first = spawnMain(['worker'], env)
  await first.ready()
  const talk = talkTo(api)
  const agent = await talk.createAgent({ model: 'demo/scripted' })
  const run = await talk.start(agent, `slow 20\nsay ${'word '.repeat(50)}`)
  const stream = openRunEvents(api, { run })
  const reader = new Reader()
  await readUntil(stream, reader, ({ deltas }) => deltas.length >= 5)
  first.child.kill('SIGKILL')
  await first.ended

  const second = spawnMain(['worker'], env)
  const joined = new Reader()
  await readUntil(stream, reader, ({ types }) => types.includes('StepRestarted'))
  expect(reader.live.size).toBe(0)
  const late = openRunEvents(api, { run })
  await Promise.all([readUntil(stream, reader, () => false), readUntil(late, joined, () => false)])
  expect(reader.end).toBe('COMPLETED')
  expect(reader.stored).toEqual(await storedTexts(api, run))
  expect(joined.stored).toEqual(reader.stored)
  expect(joined.types.filter((type) => type === 'StepRestarted')).toHaveLength(1)
  await stream.close()
  await late.close()
  second.child.kill('SIGTERM')
  expect((await second.ended).code).toBe(0)
})
