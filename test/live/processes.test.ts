import { afterAll, beforeAll, expect, test } from 'vitest'

import type { OpenDatabase } from '../../src/store/open-database.ts'
import { startTestApp, type TestApp } from '../support/app.ts'
import { createTestDatabase } from '../support/database.ts'
import { createGatedModel } from '../support/gated-model.ts'
import { talkTo, type Talk } from '../support/talk.ts'
import { openRunEvents, Reader, readToEnd, readUntil, storedTexts } from './reader.ts'

const model = createGatedModel()
let database: OpenDatabase
let api: TestApp
let worker: TestApp
let talk: Talk

beforeAll(async () => {
  database = await createTestDatabase()
  api = await startTestApp({ database, providers: [model.provider], env: { HOLDPOINT_WORKERS: '0' } })
  worker = await startTestApp({ database, role: 'worker', providers: [model.provider] })
  talk = talkTo(api)
})
afterAll(async () => {
  model.assertAllTaken()
  await worker.stop()
  await api.stop()
  await database.close()
})

const hasText = (text: string) => (reader: Reader) => [...reader.live.values()].includes(text)

test('[BUS1] text that a worker process writes reaches a reader of an API process as it is written', async () => {
  const run = await talk.start(await talk.createAgent(), 'hi')
  const stream = openRunEvents(api, { run })
  const reader = new Reader()
  const call = await model.nextCall()
  call.say('one')
  await readUntil(stream, reader, hasText('one'))
  const times: number[] = []
  let text = 'one'
  for (let word = 0; word < 20; word += 1) {
    const startedAt = performance.now()
    call.say(` ${word}`)
    text += ` ${word}`
    await readUntil(stream, reader, hasText(text))
    times.push(performance.now() - startedAt)
  }
  call.finish()
  await readUntil(stream, reader, () => false)
  expect(reader.end).toBe('COMPLETED')
  expect(reader.stored).toEqual(await storedTexts(api, run))
  expect(reader.stored.at(-1)![1]).toBe(text)
  // Not by the poll, which looks once a second, nor by asking again after 200 ms.
  expect(times.toSorted((a, b) => a - b)[10]).toBeLessThan(100)
  await stream.close()
})

test('[BUS2] a reader that joins in the middle of a message gets it from its first character', async () => {
  const run = await talk.start(await talk.createAgent(), 'hi')
  const call = await model.nextCall()
  const long = 'äöü 🙂 \n"quoted" '.repeat(2_000)
  call.think('hm')
  call.part({ type: 'done', item: 'reasoning' })
  call.say(long)
  const first = openRunEvents(api, { run })
  const one = new Reader()
  await readUntil(first, one, hasText(long))
  const second = openRunEvents(api, { run })
  const two = new Reader()
  await readUntil(second, two, hasText(long))
  call.say('end')
  call.finish()
  await readUntil(first, one, () => false)
  await readUntil(second, two, () => false)
  expect(two.stored).toEqual(one.stored)
  expect(one.stored).toEqual(await storedTexts(api, run))
  expect([...(await readToEnd(api, run)).stored]).toEqual(one.stored)
  await first.close()
  await second.close()
})

test('[BUS3] a cancel reaches the worker of another process at once', async () => {
  const run = await talk.start(await talk.createAgent(), 'hi')
  const call = await model.nextCall()
  call.say('half')
  const stream = openRunEvents(api, { run })
  const reader = new Reader()
  await readUntil(stream, reader, hasText('half'))
  const startedAt = performance.now()
  const cancelled = await talk.cancel({ runId: run })
  expect(cancelled.run).toMatchObject({ status: 'CANCELLED', answer: 'half' })
  // The sweep would find it after half a second at the latest.
  expect(performance.now() - startedAt).toBeLessThan(400)
  await readUntil(stream, reader, () => false)
  expect(reader.end).toBe('CANCELLED')
  await stream.close()
})
