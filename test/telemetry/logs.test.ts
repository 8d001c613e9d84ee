import { afterAll, beforeEach, expect, test } from 'vitest'

import { openDatabase } from '../../src/store/database/open-database.ts'
import { defineTool } from '../../src/tools/registry.ts'
import { createPrettyStream, createLog } from '../../src/util/log.ts'
import { startTestApp } from '../support/app.ts'
import { captureLog, type CapturedLog } from '../support/captured-log.ts'
import { startFakeResponses } from '../support/fake-providers/responses.ts'
import { createGatedModel } from '../support/gated-model.ts'
import { deny, talkTo } from '../support/talk.ts'

const model = createGatedModel()
const captured: CapturedLog = captureLog('debug')
let seen = 0
/** The lines of this test. */
const lines = () => captured.lines.slice(seen)

const breakDown = defineTool({
  name: 'break_down',
  description: 'Fails.',
  parameters: { type: 'object' },
  run() {
    throw new Error('the bank is closed')
  },
})

const fake = await startFakeResponses()
const app = await startTestApp({ providers: [model.provider], env: fake.env, tools: [breakDown], log: captured.log })
const talk = talkTo(app)
beforeEach(() => {
  seen = captured.lines.length
})
afterAll(async () => {
  await app.stop()
  await fake.stop()
  model.assertAllTaken()
})

const ids = (runId: string, agentId: string) => ({
  runId,
  agentId,
  conversationId: expect.stringMatching(/^conv_/),
  tenantId: expect.stringMatching(/^tenant_/),
})

test('[LOG1] a run that ends is one line with its ids; with debug so is each step and decision, but no token', async () => {
  const agent = await talk.createAgent({ tools: [{ name: 'break_down', approvalOverride: true }] })
  const run = await talk.start(agent, 'hello')
  const call = await model.nextCall()
  for (const word of ['one ', 'two ', 'three ']) call.say(word)
  call.call('break_down', {})
  call.finish()
  const [pending] = await talk.pending(run)
  await talk.submit(run, [deny(pending)])
  const next = await model.nextCall()
  next.say('fine')
  next.finish({ usage: { inputTokens: 7, outputTokens: 2 } })
  await talk.settled(run)
  const ended = lines().filter(({ msg }) => msg === 'run ended')
  expect(ended).toMatchObject([
    { level: 30, ...ids(run, agent), status: 'COMPLETED', stopReason: 'END_TURN', steps: 2, outputTokens: 7 },
  ])
  expect(ended[0]!.durationMs).toBeGreaterThanOrEqual(0)
  const told = lines().filter((line) => line.runId === run && line.level === 20)
  expect(told.map(({ msg, status, step }) => [msg, status ?? step])).toEqual([
    ['run accepted', 'QUEUED'],
    ['run changed its status', 'RUNNING'],
    ['step started', 0],
    ['tool call', 'PENDING'],
    ['run changed its status', 'AWAITING_APPROVAL'],
    ['tool call decided', 'DENIED'],
    ['run changed its status', 'RUNNING'],
    ['step finished', 'COMPLETED'],
    ['step started', 1],
    ['step finished', 'COMPLETED'],
  ])
  expect(JSON.stringify(lines())).not.toContain('three')
})

test('[LOG2] a failed step, the end of its run and a failed tool are one line each, the tool with its stack', async () => {
  const agent = await talk.createAgent({ tools: ['break_down'] })
  const run = await talk.start(agent, 'hello')
  const call = await model.nextCall()
  call.call('break_down', {})
  call.finish()
  ;(await model.nextCall()).fail({ type: 'LLM_ERROR', message: 'out of order' })
  await talk.settled(run)
  const warnings = lines().filter(({ level }) => level >= 40)
  expect(warnings).toMatchObject([
    { ...ids(run, agent), msg: 'a tool failed', tool: 'break_down', toolCallId: expect.stringMatching(/^call_/) },
    { ...ids(run, agent), msg: 'step failed', step: 1, model: 'test/gated', error: { message: 'out of order' } },
    { ...ids(run, agent), msg: 'run ended', status: 'FAILED', stopReason: 'LLM_API_ERROR' },
  ])
  expect(warnings[0]!.err.stack).toContain('the bank is closed')
  expect(warnings[0]!.err.stack).toContain('logs.test.ts')
})

test('[LOG3] a retried request to a model is one line with the ids of its run', async () => {
  const agent = await talk.createAgent({ model: fake.handle })
  const run = await talk.start(agent, 'hello')
  ;(await fake.nextCall()).exchange.refuse({ status: 503, body: {}, headers: { 'retry-after-ms': '1' } })
  const call = await fake.nextCall()
  call.say('hello')
  call.finish()
  await talk.settled(run)
  const retries = lines().filter(({ msg }) => msg === 'a request to a model failed and is retried')
  expect(retries).toMatchObject([{ level: 40, ...ids(run, agent), retry: 1 }])
})

test('[LOG4] a run that is taken over from a dead worker is one line', async () => {
  const agent = await talk.createAgent()
  const run = await talk.start(agent, 'hello')
  const lost = await model.nextCall()
  // Like a worker that another process has declared dead.
  await app.database.pool.query('update runs set worker_id = gen_random_uuid() where id = $1::uuid', [run.slice(4)])
  const line = await captured.until('a run is taken over from a dead worker', { runId: run })
  expect(line).toMatchObject({ level: 40, ...ids(run, agent), workerId: expect.stringMatching(/^worker_/), deaths: 1 })
  ;(await model.nextCall()).finish()
  expect(await talk.settled(run)).toMatchObject({ status: 'COMPLETED', attempts: 2 })
  lost.finish()
})

test('[LOG5] a statement that takes long is logged without its values', async () => {
  const slow = captureLog()
  // The same statement is slow by one limit and quick by the other, however busy the machine is.
  for (const slowMs of [20, 60_000]) {
    const database = await openDatabase(app.database.url, { log: slow.log, slowMs })
    await database.db.selectNoFrom((eb) => eb.fn('pg_sleep', [eb.val(0.03)]).as('secret')).execute()
    await database.close()
  }
  expect(slow.lines).toMatchObject([{ level: 40, msg: 'a slow query', sql: 'select pg_sleep($1) as "secret"' }])
  expect(slow.lines[0]!.durationMs).toBeGreaterThanOrEqual(20)
})

test('[LOG6] the lines of a request have its id, which the response has too', async () => {
  const ask = (headers: Record<string, string> = {}) =>
    fetch(app.url, {
      method: 'POST',
      headers: { 'content-type': 'application/json', origin: 'https://evil.example', ...headers },
      body: '{"query":"{ __typename }"}',
    })
  const response = await ask({ 'x-request-id': 'from-the-proxy' })
  expect([response.status, response.headers.get('x-request-id')]).toEqual([403, 'from-the-proxy'])
  const own = (await ask({ 'x-request-id': 'two words' })).headers.get('x-request-id')
  expect(own).toMatch(/^[0-9a-f-]{36}$/)
  expect(lines().map(({ requestId }) => requestId)).toEqual(['from-the-proxy', own])
})

test('[LOG7] in a terminal a line is time, level, message and fields, with the stack of an error below', () => {
  const written: string[] = []
  const log = createLog('debug', createPrettyStream({ write: (text) => void written.push(text) }))
  log.info({ runId: 'run_1', why: 'two words' }, 'run ended')
  log.error({ err: new Error('oh') }, 'it failed')
  // eslint-disable-next-line no-control-regex
  const plain = written.map((text) => text.replaceAll(/\u001b\[\d+m/g, ''))
  expect(plain[0]).toMatch(/^\d\d:\d\d:\d\d\.\d{3} info {2}run ended {2}runId=run_1 why="two words"\n$/)
  expect(plain[1]).toMatch(/^\d\d:\d\d:\d\d\.\d{3} error it failed\nError: oh\n +at /)
})
