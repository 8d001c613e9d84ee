import { afterAll, afterEach, expect, test } from 'vitest'

import { startGround } from '../approvals/ground.ts'
import { createTestDatabase } from '../support/database.ts'
import { createGatedModel } from '../support/gated-model.ts'
import { secretAgent } from '../support/secret-tools.ts'
import { spawnMain } from '../support/server-process.ts'
import { createStubbornTool } from './stubborn-tool.ts'

const model = createGatedModel()
const stubborn = createStubbornTool('stubborn')

const database = await createTestDatabase()
/** An API process without workers. */
const ground = await startGround({ database, tools: [stubborn.definition], env: { HOLDPOINT_WORKERS: '0' } }, model)
const talk = ground.talk
afterEach(() => ground.check())
afterAll(async () => {
  await ground.app.stop()
  await database.close()
})

const cancelled = { __typename: 'CancelRunSuccess', run: { status: 'CANCELLED', stopReason: 'CANCELLED' } }
const startWorker = (env: Record<string, string> = {}) =>
  startGround({ database, role: 'worker', tools: [stubborn.definition], env }, model)

test('[CAN16] if there is no worker, the command ends a queued run itself', async () => {
  const agent = await talk.createAgent(secretAgent)
  const runId = await talk.start(agent, 'hi')
  expect(await talk.cancel({ agentId: agent })).toMatchObject({
    ...cancelled,
    run: { id: runId, input: [{ text: 'hi' }] },
  })
  expect(await talk.log(runId)).toEqual(['RunStatusChanged QUEUED', 'RunStatusChanged CANCELLED'])
})

test('[CAN17] a cancel reaches the worker of another process, and what it streamed is stored', async () => {
  const worker = await startWorker()
  const agent = await talk.createAgent(secretAgent)
  const runId = await talk.start(agent, 'tell me')
  const call = await model.nextCall()
  call.say('from afar')
  expect(await talk.cancel({ runId })).toMatchObject(cancelled)
  await call.aborted
  expect(await talk.messages(runId)).toMatchObject([{ text: 'tell me' }, { text: 'from afar', interrupted: true }])
  await ground.expectUsable(agent)
  await worker.app.stop()
})

test('[CAN18] a cancel whose stop request was lost is found by the sweep: the stored flag is enough', async () => {
  const worker = await startWorker()
  const agent = await talk.createAgent(secretAgent)
  const runId = await talk.start(agent, 'tell me')
  const call = await model.nextCall()
  await database.db.updateTable('runs').set({ cancel_requested_at: new Date() }).where('ended', '=', false).execute()
  expect(await talk.run(runId)).toMatchObject({ status: 'CANCELLING' })
  await call.aborted
  expect(await talk.settled(runId)).toMatchObject({ status: 'CANCELLED' })
  await worker.app.stop()
})

test('[CAN19] if a worker needs more than two seconds to stop, the mutation returns CANCELLING', async () => {
  const worker = await startWorker({ HOLDPOINT_TOOL_GRACE_MS: '2600' })
  const agent = await talk.createAgent({ tools: ['stubborn'] })
  const runId = await talk.start(agent, 'work')
  await ground.call(['stubborn', { when: 'ignores' }])
  await stubborn.running(1)
  const before = Date.now()
  expect(await talk.cancel({ runId })).toMatchObject({ __typename: 'CancelRunSuccess', run: { status: 'CANCELLING' } })
  expect(Date.now() - before).toBeGreaterThan(1_900)
  expect(await talk.settled(runId)).toMatchObject({ status: 'CANCELLED' })
  // It received no stop request.
  expect((await talk.log(runId)).filter((line) => line.startsWith('RunStatusChanged'))).toEqual([
    'RunStatusChanged QUEUED',
    'RunStatusChanged RUNNING',
    'RunStatusChanged CANCELLED',
  ])
  await worker.app.stop()
})

test('[CAN20] a server that stops does not cancel: the run is handed back, continues elsewhere, and can be cancelled there', async () => {
  const agent = await talk.createAgent(secretAgent)
  const first = await startWorker({ HOLDPOINT_DRAIN_MS: '0' })
  const runId = await talk.start(agent, 'tell me')
  const lost = await model.nextCall()
  lost.say('said in vain')
  await first.app.stop()
  await lost.aborted
  expect(await talk.run(runId)).toMatchObject({ status: 'RUNNING', stopReason: null })
  const second = await startWorker()
  const call = await model.nextCall()
  call.say('again')
  call.finish()
  expect(await talk.settled(runId)).toMatchObject({ status: 'COMPLETED', answer: 'again' })
  expect(await talk.log(runId)).toContain('StepRestarted')

  const next = await talk.start(agent, 'and now')
  await model.nextCall()
  await second.app.stop()
  // Between two workers nobody drives it, so the command ends it.
  expect(await talk.cancel({ runId: next })).toMatchObject(cancelled)
  const third = await startWorker()
  await ground.expectUsable(agent)
  await third.app.stop()
})

test('[CAN21] a cancelled run whose worker is killed ends CANCELLED without another model call', async () => {
  const worker = spawnMain(['worker'], { DATABASE_URL: database.url, LOG_LEVEL: 'fatal' })
  const agent = await talk.createAgent({ model: 'demo/scripted' })
  const text = 'slow 60000\nsay never'
  const started = async () => {
    const runId = await talk.start(agent, text)
    const watch = talk.watch(runId)
    await watch.until((line) => line === 'StepStarted')
    return { runId, watch }
  }
  const first = await started()
  worker.child.kill('SIGKILL')
  await worker.ended
  // Its death is not known yet, so the cancel is stored. There is no other worker: whoever notices the death ends the
  // run.
  expect(await talk.cancel({ runId: first.runId })).toMatchObject({ __typename: 'CancelRunSuccess' })
  await first.watch.ended
  expect(first.watch.lines.slice(-2)).toEqual(['StepFinished', 'RunStatusChanged CANCELLED'])
  expect(first.watch.lines.filter((line) => line.startsWith('Step'))).toEqual(['StepStarted', 'StepFinished'])

  const again = spawnMain(['worker'], { DATABASE_URL: database.url, LOG_LEVEL: 'fatal' })
  const second = await started()
  again.child.kill('SIGKILL')
  await again.ended
  const gone = async () => (await database.db.selectFrom('workers').select('id').execute()).length === 0
  while (!(await gone())) await new Promise((resolve) => setTimeout(resolve, 50))
  expect(await talk.cancel({ runId: second.runId })).toMatchObject(cancelled)
  await second.watch.ended
}, 60_000)

test('[CAN22] if a cancel and an end wait for the same lock, the first one counts', async () => {
  const worker = await startWorker()
  const locker = await database.pool.connect()
  /** How many statements wait for a lock. */
  const waiting = async (count: number): Promise<void> => {
    for (;;) {
      const { rows } = await database.pool.query(
        `select count(*)::integer as count from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'`,
      )
      if (rows[0].count >= count) return
    }
  }
  for (const first of ['end', 'cancel'] as const) {
    const agent = await talk.createAgent(secretAgent)
    const runId = await talk.start(agent, 'hi')
    const call = await model.nextCall()
    await locker.query('begin')
    await locker.query('select from runs where not ended for update')
    const end = () => (call.say('hello'), call.finish())
    if (first === 'end') end()
    const cancelling = first === 'cancel' ? talk.cancel({ runId }) : undefined
    await waiting(1)
    if (first === 'cancel') end()
    const stopped = cancelling ?? talk.cancel({ runId })
    await waiting(2)
    await locker.query('commit')
    const answer = await stopped
    const run = await talk.settled(runId)
    if (first === 'end') {
      expect(answer).toMatchObject({ __typename: 'RunFinishedRefusal', run: { status: 'COMPLETED' } })
    } else {
      expect(answer).toMatchObject(cancelled)
      // It was complete before the cancel was noticed.
      expect(await talk.messages(runId)).toMatchObject([{}, { text: 'hello', interrupted: false }])
    }
    expect(run.answer).toBe('hello')
    const ends = (await talk.log(runId)).filter((line) => /COMPLETED|CANCELLED/.test(line))
    expect(ends).toEqual([`RunStatusChanged ${first === 'end' ? 'COMPLETED' : 'CANCELLED'}`])
    await ground.expectUsable(agent)
  }
  locker.release()
  await worker.app.stop()
})
