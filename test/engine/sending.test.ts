import { afterAll, afterEach, beforeAll, expect, test } from 'vitest'

import type { OpenDatabase } from '../../src/store/database/open-database.ts'
import { startTestApp, type TestApp } from '../support/app.ts'
import { talkTo, type Talk } from '../support/talk.ts'
import { createTestDatabase } from '../support/database.ts'
import { createGatedModel } from '../support/gated-model.ts'

const model = createGatedModel()
let database: OpenDatabase
let here: TestApp
let there: TestApp
let talk: Talk
let elsewhere: Talk

beforeAll(async () => {
  database = await createTestDatabase()
  here = await startTestApp({ database, providers: [model.provider] })
  // Another process with only the API.
  there = await startTestApp({ database, providers: [model.provider], env: { HOLDPOINT_WORKERS: '0' } })
  talk = talkTo(here)
  elsewhere = talkTo(there)
})
afterEach(() => model.assertAllTaken())
afterAll(async () => {
  await there.stop()
  await here.stop()
  await database.close()
})

async function answer(text = 'yes'): Promise<void> {
  const call = await model.nextCall()
  call.say(text)
  call.finish()
}

async function latestRun(agent: string): Promise<string> {
  const { runs } = await there.data(
    'query ($agent: ID!) { runs(first: 1, filter: { agentIds: [$agent] }) { nodes { id } } }',
    {
      agent,
    },
  )
  return runs.nodes[0].id
}

test('[ENG15] the same key and input give the same run, one after another or simultaneously, in two processes', async () => {
  for (const whenBusy of ['ENQUEUE', 'REJECT']) {
    const agent = await talk.createAgent()
    const asked = { idempotencyKey: whenBusy, whenBusy }
    const sends = Array.from({ length: 20 }, (_, index) => (index % 2 ? talk : elsewhere).send(agent, 'hello', asked))
    const sent = await Promise.all(sends)
    expect(new Set(sent.map(({ __typename, run }) => `${__typename} ${run.id}`)).size).toBe(1)
    const { id: run } = sent[0].run
    await answer()
    expect(await talk.settled(run)).toMatchObject({ status: 'COMPLETED', messages: { nodes: [{}, {}] } })
    expect((await elsewhere.send(agent, 'hello', asked)).run).toMatchObject({ id: run, status: 'COMPLETED' })
  }
})

test('[ENG16] the same key with other input is an error, and after a day the key can be used again', async () => {
  const agent = await talk.createAgent()
  const first = await talk.start(agent, 'hello', { idempotencyKey: 'two' })
  await answer()
  await talk.settled(first)
  await expect(elsewhere.send(agent, 'good-bye', { idempotencyKey: 'two' })).rejects.toThrow('IDEMPOTENCY_CONFLICT')
  const another = await talk.createAgent()
  await expect(talk.send(another, 'hello', { idempotencyKey: 'two' })).rejects.toThrow('IDEMPOTENCY_CONFLICT')

  await database.pool.query(
    `update idempotency_keys set created_at = created_at - interval '24 hours' where key = 'two'`,
  )
  const second = await talk.start(agent, 'good-bye', { idempotencyKey: 'two' })
  await answer()
  expect(await talk.settled(second)).toMatchObject({ id: second, status: 'COMPLETED' })
  expect(second).not.toBe(first)
})

test('[ENG17] fifty simultaneous sends give one run and forty-nine refusals that name it', async () => {
  const agent = await talk.createAgent()
  const sends = Array.from({ length: 50 }, (_, index) => (index % 2 ? talk : elsewhere).send(agent, `text ${index}`))
  const results = await Promise.all(sends)
  const accepted = results.filter((result) => result.__typename === 'SendMessageSuccess')
  const refused = results.filter((result) => result.__typename === 'ConversationBusyRefusal')
  expect([accepted.length, refused.length]).toEqual([1, 49])
  const run = accepted[0]!.run!.id
  expect(new Set(refused.map((result) => result.run!.id))).toEqual(new Set([run]))
  await answer()
  expect(await talk.settled(run)).toMatchObject({ status: 'COMPLETED', messages: { nodes: [{}, {}] } })
})

test('[ENG18] queued runs start in the order in which they were accepted, across processes; an INTERRUPT goes first', async () => {
  const agent = await talk.createAgent()
  const first = await talk.start(agent, 'first')
  const held = await model.nextCall()
  const waiting: string[] = []
  for (const [index, where] of [elsewhere, talk, elsewhere, talk].entries()) {
    waiting.push(await where.start(agent, `waiting ${index}`, { whenBusy: 'ENQUEUE' }))
  }
  const urgent = await elsewhere.start(agent, 'urgent', { whenBusy: 'INTERRUPT' })
  await held.aborted
  for (const text of ['urgent', 'waiting 0', 'waiting 1', 'waiting 2', 'waiting 3']) {
    const call = await model.nextCall()
    expect(call.request.messages.at(-1)).toEqual({ role: 'user', content: [{ text }] })
    call.finish()
  }
  expect(await talk.settled(first)).toMatchObject({ status: 'CANCELLED' })
  for (const run of [urgent, ...waiting]) expect(await talk.settled(run)).toMatchObject({ status: 'COMPLETED' })
})

test('[ENG36] an agent and a conversation show the stop reason of the run that stopped last, whatever the order of runs', async () => {
  const agent = await talk.createAgent()
  const stopReasons = async () => {
    const shown = await there.data(
      'query ($agent: ID!) { agent(id: $agent) { lastStopReason mainConversation { lastStopReason } } }',
      { agent },
    )
    return [shown.agent.lastStopReason, shown.agent.mainConversation.lastStopReason]
  }
  const held = await talk.start(agent, 'first').then(() => model.nextCall())
  const waiting = await talk.start(agent, 'waiting', { whenBusy: 'ENQUEUE' })
  const urgent = await talk.start(agent, 'urgent', { whenBusy: 'INTERRUPT' })
  await held.aborted
  await answer()
  await talk.settled(urgent)
  const call = await model.nextCall()
  expect(await stopReasons()).toEqual(['END_TURN', 'END_TURN'])
  call.fail()
  await talk.settled(waiting)
  expect(await stopReasons()).toEqual(['LLM_API_ERROR', 'LLM_API_ERROR'])
})

test('[ENG19] waitMs returns when the run ends, also in another process, and at the latest after that time', async () => {
  const agent = await talk.createAgent()
  const begun = performance.now()
  const waiting = elsewhere.send(agent, 'hello', { waitMs: 20_000 })
  const call = await model.nextCall()
  const early = await latestRun(agent)
  expect(await elsewhere.run(early, 50)).toMatchObject({ status: 'RUNNING' })
  call.finish()
  expect((await waiting).run).toMatchObject({ id: early, status: 'COMPLETED' })
  expect(performance.now() - begun).toBeLessThan(10_000)
})

test('[ENG20] a client that leaves while it waits does not affect the run', async () => {
  const agent = await talk.createAgent()
  const abort = new AbortController()
  const gone = here.request(
    `mutation ($agent: ID!) { sendMessage(input: { to: { agentId: $agent }, messages: [{ text: "hello" }], waitMs: 20000 }) { __typename } }`,
    { agent },
    { signal: abort.signal },
  )
  const call = await model.nextCall()
  abort.abort()
  await expect(gone).rejects.toThrow()
  call.say('still here')
  call.finish()
  expect(await talk.settled(await latestRun(agent))).toMatchObject({ status: 'COMPLETED', answer: 'still here' })
})
