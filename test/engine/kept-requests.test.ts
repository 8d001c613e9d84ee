import { afterAll, beforeAll, expect, test } from 'vitest'

import { deleteExpired } from '../../src/store/expired.ts'
import { fakes } from '../providers/speakers.ts'
import { startTestApp, type TestApp } from '../support/app.ts'
import { secretKey, type FakeProvider } from '../support/fake-providers/fake-model.ts'
import { talkTo, type Talk } from '../support/talk.ts'

const names = Object.keys(fakes) as (keyof typeof fakes)[]
const started = {} as Record<keyof typeof fakes, FakeProvider>
let app: TestApp
let talk: Talk

beforeAll(async () => {
  for (const name of names) started[name] = await fakes[name]()
  app = await startTestApp({ env: Object.assign({}, ...names.map((name) => started[name].env)) })
  talk = talkTo(app)
})
afterAll(async () => {
  await app.stop()
  for (const name of names) await started[name].stop()
})

const stepsOf = async (id: string) => {
  const { run } = await app.data('query ($id: ID!) { run(id: $id) { steps { request response } } }', { id })
  return run.steps
}
const demoAgent = (options: object) => talk.createAgent({ model: 'demo/scripted', ...options })

test.each(names)('[KEP1] the request to %s and its answer are kept as they were, without the key', async (name) => {
  const { handle, nextCall } = started[name]
  const run = await talk.start(await talk.createAgent({ model: handle, keepRequests: true }), 'hello there')
  const call = await nextCall()
  call.say(`hi, ${secretKey}`)
  call.finish()
  await talk.settled(run)
  const [{ request, response }] = await stepsOf(run)
  expect(request).toEqual(call.body)
  expect(JSON.stringify(request)).toContain('hello there')
  expect(response.length).toBeGreaterThan(2)
  expect(JSON.stringify(response)).toContain('hi, ')
  expect(JSON.stringify([request, response])).not.toContain(secretKey)
})

test.each(names)('[KEP1] a request that %s refused is kept with the error', async (name) => {
  const { handle, nextCall } = started[name]
  const run = await talk.start(await talk.createAgent({ model: handle, keepRequests: true }), 'hello')
  ;(await nextCall()).refuse('bad request')
  await talk.settled(run)
  expect(await stepsOf(run)).toMatchObject([
    // Gemini has the model in the address.
    {
      request: name === 'gemini' ? {} : { model: expect.any(String) },
      response: [{ error: { type: 'LLM_BAD_REQUEST' } }],
    },
  ])
})

test('[KEP2] nothing is kept unless the agent is set to; the setting can be read and changed', async () => {
  const agent = await demoAgent({})
  expect(await stepsOf((await talk.settled(await talk.start(agent, 'say hi'))).id)).toEqual([
    { request: null, response: null },
  ])
  const { updateAgent } = await app.data(
    'mutation ($id: ID!) { updateAgent(input: { id: $id, keepRequests: true }) { agent { keepRequests export } } }',
    { id: agent },
  )
  expect(updateAgent.agent).toMatchObject({ keepRequests: true, export: { agent: { keepRequests: true } } })
  expect(await stepsOf((await talk.settled(await talk.start(agent, 'say hello'))).id)).toMatchObject([
    { request: { model: 'demo/scripted' }, response: [{ text: 'hello' }] },
  ])
  const { updateAgent: cleared } = await app.data(
    'mutation ($id: ID!) { updateAgent(input: { id: $id, keepRequests: null }) { agent { keepRequests } } }',
    { id: agent },
  )
  expect(cleared.agent.keepRequests).toBe(false)
})

test('[KEP3] what is older than the limit is deleted; long texts inside a request are cut', async () => {
  const agent = await demoAgent({ keepRequests: true, modelSettings: { contextWindow: 1_000_000 } })
  const long = 'x'.repeat(150_000)
  const old = (await talk.settled(await talk.start(agent, `say hi\n${long}`))).id
  const { db } = app.database
  const [{ request }] = await stepsOf(old)
  expect(JSON.stringify(request)).toContain('characters)')
  expect(JSON.stringify(request).length).toBeLessThan(20_000)
  const { now } = await db
    .selectFrom('step_exchanges')
    .select(({ fn }) => fn.max('created_at').as('now'))
    .executeTakeFirstOrThrow()
  const recent = (await talk.settled(await talk.start(agent, 'say hi'))).id
  await deleteExpired(db, { now: new Date(now.getTime() + 60_000), keepRequestsMs: 60_000, keepDeliveriesMs: 0 })
  expect(await stepsOf(old)).toEqual([{ request: null, response: null }])
  expect(await stepsOf(recent)).toMatchObject([{ request: { model: 'demo/scripted' } }])
})

test('[KEP3] of an answer, four million characters are kept, and how many events are missing', async () => {
  const { openai } = started
  const run = await talk.start(await talk.createAgent({ model: openai.handle, keepRequests: true }), 'go on')
  const call = await openai.nextCall()
  // With the numbering of each event, four of them exceed the limit.
  for (let piece = 0; piece < 5; piece += 1) call.say('x'.repeat(1_000_000))
  call.finish()
  await talk.settled(run)
  const [{ response }] = await stepsOf(run)
  expect(JSON.stringify(response).length).toBeLessThan(4_000_100)
  expect(response.at(-1).omittedEvents).toBeGreaterThan(1)
})

test('[KEP4] HOLDPOINT_KEEP_REQUESTS=0 keeps nothing', async () => {
  const other = await startTestApp({ env: { HOLDPOINT_KEEP_REQUESTS: '0' } })
  try {
    const speak = talkTo(other)
    const agent = await speak.createAgent({ model: 'demo/scripted', keepRequests: true })
    await speak.settled(await speak.start(agent, 'say hi'))
    expect(await other.database.db.selectFrom('step_exchanges').selectAll().execute()).toEqual([])
  } finally {
    await other.stop()
  }
})
