import pg from 'pg'
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest'

import { cancelRun } from '../../src/commands/runs/cancel-run.ts'
import { expireApprovals, submitApprovals } from '../../src/commands/approvals/submit-approvals.ts'
import { retryRun } from '../../src/commands/runs/retry-run.ts'
import { sendMessage, type SendMessageInput } from '../../src/commands/runs/send-message.ts'
import { encodeId } from '../../src/domain/ids.ts'
import { driveRun } from '../../src/engine/drive-run.ts'
import { claimRuns } from '../../src/store/workers/claim-runs.ts'
import { insertWorker } from '../../src/store/workers/workers.ts'
import { defineTool } from '../../src/tools/registry.ts'
import { createEngineGround, type EngineGround } from '../support/engine-ground.ts'
import { createGatedModel, gatedHandle } from '../support/gated-model.ts'
import { brokenPromises } from '../support/promises.ts'
import { testWorker } from '../support/worker-process.ts'

const model = createGatedModel()
const ask = defineTool({
  name: 'ask',
  description: '',
  parameters: { type: 'object' },
  requiresApproval: true,
  run: () => 'done',
})
let ground: EngineGround
let context: ReturnType<EngineGround['process']>
let holder: pg.Client
let conversationId: string
let workerId: string

beforeAll(async () => {
  ground = await createEngineGround({ providers: [model.provider], model: gatedHandle, tools: [ask] })
  holder = new pg.Client({ connectionString: ground.database.url })
  await holder.connect()
  context = ground.process()
  workerId = context.ids.next()
  await insertWorker(context.db, workerId, testWorker)
})
afterAll(async () => {
  await holder.end()
  await ground.close()
})

/** Whichever was first, everything ends, and the conversation accepts the next message. */
afterEach(async () => {
  await settle()
  const { runId } = await send('afterwards')
  await settle()
  expect(await statusOf(runId)).toBe('COMPLETED')
  const told = { conversationId, sent: [], followUps: [], executions: new Map() }
  const faults = await brokenPromises(ground.database.db, told)
  expect(faults.filter((fault) => !fault.includes('never executed'))).toEqual([])
})

// ── what takes part in races ──

function send(text: string, whenBusy: SendMessageInput['whenBusy'] = 'REJECT') {
  return sendMessage(context, ground.viewer, {
    to: { conversationId },
    messages: [{ role: 'USER', content: [{ text }], clientId: null }],
    clientTools: [],
    maxSteps: null,
    maxTotalTokens: null,
    whenBusy,
    metadata: {},
  })
}

const cancel = (runId: string) => cancelRun(context, ground.viewer, { runId })
const retry = (runId: string) => retryRun(context, ground.viewer, { runId })

function approve(runId: string, callId: string) {
  const toolCallId = encodeId('ToolCall', callId)
  const decisions = [{ kind: 'APPROVED', toolCallId, arguments: undefined, note: null, scope: 'ONCE' }] as const
  return submitApprovals(context, ground.viewer, { runId, decisions, followUp: [] })
}

/** Claims the run that waits, if one does, and drives it as a worker would. */
async function work(): Promise<void> {
  const claim = { workerId, places: 1, lastTenantId: workerId }
  const [claimed] = await claimRuns(context.db, claim, { perTenant: null, perAgent: null, perKey: null })
  const { signal } = new AbortController()
  if (claimed) await driveRun(context, claimed, { draining: signal, letGo: signal })
}

/** How many runs wait for a worker. */
async function claimable(): Promise<number> {
  const { rows } = await ground.database.pool.query('select from runs where claimable')
  return rows.length
}

/** Drives runs until none is left to claim. The model always answers. */
async function settle(): Promise<void> {
  for (const { id, run_id: runId } of await pendingCalls()) await approve(runId, id)
  while ((await claimable()) > 0) {
    const working = work()
    for (let done = false; !done;) {
      for (const call of model.takeCalls()) {
        call.say('yes')
        call.finish()
      }
      done = await Promise.race([
        working.then(() => true),
        new Promise<false>((resolve) => setTimeout(resolve, 5, false)),
      ])
    }
  }
}

async function pendingCalls() {
  const { rows } = await ground.database.pool.query<{ id: string; run_id: string }>(
    `select id, run_id from tool_calls where status = 'PENDING' order by id`,
  )
  return rows
}

async function statusOf(runId: string): Promise<string> {
  const { rows } = await ground.database.pool.query<{ status: string }>('select status from runs where id = $1', [
    runId,
  ])
  return rows[0]!.status
}

/** A run in its own conversation, and the model call that it waits for. */
async function begin() {
  conversationId = (await ground.createAgent()).conversationId
  const { runId } = await send('go')
  const driving = work()
  return { runId, call: await model.nextCall(), driving }
}

/** A run that waits for this many approvals. */
async function beginPaused(calls: number) {
  const { runId, call, driving } = await begin()
  for (let count = 0; count < calls; count++) call.call('ask', {})
  call.finish()
  await driving
  return { runId, callIds: (await pendingCalls()).map(({ id }) => id) }
}

async function beginFailed(): Promise<string> {
  const { runId, call, driving } = await begin()
  call.fail()
  await driving
  return runId
}

/**
 * Starts both at once and decides which comes first: someone else holds the rows that both need, and they wait for them
 * in this order.
 */
async function inOrder<First, Second>(
  first: () => Promise<First>,
  second: () => Promise<Second>,
  rows: 'conversation and runs' | 'runs' = 'conversation and runs',
): Promise<[First, Second]> {
  await holder.query('begin')
  if (rows !== 'runs') await holder.query('select from conversations where id = $1 for update', [conversationId])
  await holder.query('select from runs where conversation_id = $1 order by id for update', [conversationId])
  const one = first()
  await blocked(1)
  const other = second()
  await blocked(2)
  await holder.query('commit')
  return Promise.all([one, other])
}

/** Waits until this many statements wait for a lock. */
async function blocked(count: number): Promise<void> {
  for (;;) {
    const { rows } = await ground.database.pool.query(
      `select from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'`,
    )
    if (rows.length >= count) return
    await new Promise((resolve) => setTimeout(resolve, 2))
  }
}

// ── the pairs ──

describe('[ENG13] two things at once, in either order', () => {
  test('two decisions: the last continues the run, once', async () => {
    for (const [first, second] of [
      [0, 1],
      [1, 0],
    ] as const) {
      const { runId, callIds } = await beginPaused(2)
      const outcomes = await inOrder(
        () => approve(runId, callIds[first]!),
        () => approve(runId, callIds[second]!),
      )
      expect(outcomes.map(({ outcome }) => outcome)).toEqual(['accepted', 'accepted'])
      expect([await statusOf(runId), await claimable()]).toEqual(['RUNNING', 1])
      await settle()
    }
  })

  test('a decision and the expiry of what it decides: the first stands', async () => {
    for (const decisionIsFirst of [true, false]) {
      const { runId, callIds } = await beginPaused(1)
      await ground.database.pool.query(
        `update tool_calls set expires_at = now() + interval '1 minute' where run_id = $1`,
        [runId],
      )
      const later = { ...context, clock: { now: () => new Date(Date.now() + 120_000) } }
      const decide = () => approve(runId, callIds[0]!).then(({ outcome }) => outcome)
      // The expiry waits for no lock. To make it first, it is paused once it has the locks.
      await holder.query('begin')
      await holder.query('select from tool_calls where run_id = $1 for update', [runId])
      const expiring = decisionIsFirst ? undefined : expireApprovals(later)
      if (expiring) await blocked(1)
      const deciding = decide()
      await blocked(expiring ? 2 : 1)
      if (!expiring) await expireApprovals(later)
      await holder.query('commit')
      const outcome = await deciding
      await expiring
      expect(outcome).toBe(decisionIsFirst ? 'accepted' : 'nothing pending')
      expect([await statusOf(runId), await claimable()]).toEqual(['RUNNING', 1])
      await settle()
    }
  })

  test('an ENQUEUE and an end: the new run holds the conversation and can be claimed', async () => {
    for (const endIsFirst of [true, false]) {
      const { runId, call, driving } = await begin()
      const end = () => {
        call.finish()
        return driving
      }
      const enqueue = () => send('next', 'ENQUEUE')
      const next = endIsFirst ? (await inOrder(end, enqueue))[1] : (await inOrder(enqueue, end))[0]
      expect([await statusOf(runId), await statusOf(next.runId), await claimable()]).toEqual(['COMPLETED', 'QUEUED', 1])
      await settle()
      expect(await statusOf(next.runId)).toBe('COMPLETED')
    }
  })

  test('an INTERRUPT and an end', async () => {
    for (const endIsFirst of [true, false]) {
      const { runId, call, driving } = await begin()
      const end = () => {
        call.finish()
        return driving
      }
      const interrupt = () => send('next', 'INTERRUPT')
      const next = endIsFirst ? (await inOrder(end, interrupt))[1] : (await inOrder(interrupt, end))[0]
      expect(await statusOf(runId)).toBe(endIsFirst ? 'COMPLETED' : 'CANCELLED')
      expect([await statusOf(next.runId), await claimable()]).toEqual(['QUEUED', 1])
      await settle()
    }
  })

  test('a cancel of a run that waits, and the end of the one before it: the conversation is free', async () => {
    for (const endIsFirst of [true, false]) {
      const { runId, call, driving } = await begin()
      const waiting = (await send('waits', 'ENQUEUE')).runId
      const end = () => {
        call.finish()
        return driving
      }
      if (endIsFirst) await inOrder(end, () => cancel(waiting))
      else await inOrder(() => cancel(waiting), end)
      expect([await statusOf(runId), await statusOf(waiting)]).toEqual(['COMPLETED', 'CANCELLED'])
      await settle()
    }
  })

  test('a cancel and a pause: the run is cancelled', async () => {
    for (const pauseIsFirst of [true, false]) {
      const { runId, call, driving } = await begin()
      const pause = () => {
        call.call('ask', {})
        call.finish()
        return driving
      }
      if (pauseIsFirst) await inOrder(pause, () => cancel(runId))
      else await inOrder(() => cancel(runId), pause)
      expect([await statusOf(runId), await pendingCalls()]).toEqual(['CANCELLED', []])
    }
  })

  test('a cancel and a finish: the first stands', async () => {
    for (const finishIsFirst of [true, false]) {
      const { runId, call, driving } = await begin()
      const finish = () => {
        call.finish()
        return driving
      }
      const outcome = finishIsFirst
        ? (await inOrder(finish, () => cancel(runId), 'runs'))[1]
        : (await inOrder(() => cancel(runId), finish, 'runs'))[0]
      expect(outcome.outcome).toBe(finishIsFirst ? 'finished' : 'cancelled')
      expect(await statusOf(runId)).toBe(finishIsFirst ? 'COMPLETED' : 'CANCELLED')
    }
  })

  test('a retry and a send: the second is refused', async () => {
    for (const retryIsFirst of [true, false]) {
      const runId = await beginFailed()
      const outcomes = retryIsFirst
        ? await inOrder(
            () => retry(runId),
            () => send('new'),
          )
        : await inOrder(
            () => send('new'),
            () => retry(runId),
          )
      expect(outcomes.map(({ outcome }) => outcome)).toEqual(['accepted', 'busy'])
      expect(await claimable()).toBe(1)
      await settle()
    }
  })

  test('two retries: one run, queued once', async () => {
    const runId = await beginFailed()
    const outcomes = await inOrder(
      () => retry(runId),
      () => retry(runId),
    )
    expect(outcomes.map(({ outcome }) => outcome)).toEqual(['accepted', 'not retryable'])
    expect(await claimable()).toBe(1)
  })
})
