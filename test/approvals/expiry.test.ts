import { afterAll, afterEach, beforeAll, expect, test } from 'vitest'

import { createTestDatabase } from '../support/database.ts'
import { executions, secretAgent } from '../support/secret-tools.ts'
import { approve, deny, type Talk } from '../support/talk.ts'
import { hello, startGround, type Ground } from './ground.ts'

/** A clock that a test can advance. */
let ahead = 0
const clock = { now: () => new Date(Date.now() + ahead) }
const timeoutMs = 10_000

let ground: Ground
let talk: Talk

beforeAll(async () => {
  ground = await startGround({ clock })
  talk = ground.talk
  await setTimeoutOf(ground, timeoutMs)
})
afterEach(() => ground.check())
afterAll(() => ground.app.stop())

async function setTimeoutOf({ app, talk }: Ground, approvalTimeoutMs: number): Promise<void> {
  await app.data('mutation ($input: UpdateToolInput!) { updateTool(input: $input) { tool { id } } }', {
    input: { id: await talk.toolId('get_secret_code'), approvalTimeoutMs },
  })
}

const expired = {
  status: 'DENIED',
  decision: { kind: 'DENIED', decidedBy: null, reason: expect.stringContaining('expired') },
  result: { status: 'ERROR', output: expect.stringContaining('expired') },
}

test('[APR26] a call that nobody decided in time is denied, and the model reads that the approval expired', async () => {
  const agent = await talk.createAgent(secretAgent)
  executions.length = 0
  const { runId, calls } = await ground.ask(agent)
  expect(new Date(calls[0].expiresAt).getTime()).toBeGreaterThan(clock.now().getTime())
  ahead += timeoutMs
  const next = await ground.answer('I see')
  expect(next.request.messages.at(-1)).toMatchObject({
    returns: [{ failed: true, output: expect.stringContaining('expired') }],
  })
  const run = await talk.settled(runId)
  expect(run.steps[0].toolCalls).toMatchObject([expired])
  expect(await talk.submit(runId, [approve(calls[0])])).toMatchObject({ __typename: 'NoPendingApprovalRefusal' })
  expect(await talk.submit(runId, [deny(calls[0])])).toMatchObject({ __typename: 'NoPendingApprovalRefusal' })
  expect(executions).toEqual([])
})

test('[APR27] only undecided calls with a time limit expire: the rest of the step keeps waiting', async () => {
  const implementation = { client: true }
  const openDoor = { name: 'open_door', parameters: { type: 'object' }, implementation, approvalTimeoutMs: timeoutMs }
  await ground.app.data('mutation ($input: UpsertToolInput!) { upsertTool(input: $input) { tool { id } } }', {
    input: openDoor,
  })
  const agent = await talk.createAgent({
    tools: [
      { name: 'get_secret_code', approvalOverride: true },
      { name: 'roll_dice', approvalOverride: true },
      'open_door',
    ],
  })
  const { runId, calls } = await ground.ask(agent, [
    ['get_secret_code', { text: 'decided' }],
    ['roll_dice', { sides: 6 }],
    ['get_secret_code', { text: 'late' }],
    ['open_door', {}],
  ])
  expect(calls[1].expiresAt).toBeNull()
  await talk.submit(runId, [approve(calls[0])])
  const watch = talk.watch(runId)
  ahead += timeoutMs
  await watch.until((line) => line === 'ToolCallChanged open_door DENIED')
  expect(await talk.run(runId)).toMatchObject({ status: 'AWAITING_APPROVAL', pendingToolCalls: [{ id: calls[1].id }] })
  expect(await talk.submit(runId, [approve(calls[2]), approve(calls[1])])).toMatchObject({
    __typename: 'AlreadyDecidedRefusal',
    decisions: [{ toolCallId: calls[2].id, kind: 'DENIED', decidedBy: null }],
  })
  await talk.submit(runId, [approve(calls[1])])
  await ground.answer('done')
  await watch.ended
})

test('[APR28] a decision at the moment of expiry either wins or is refused, never both', async () => {
  const seen = new Set<string>()
  for (let round = 0; round < 8; round += 1) {
    const agent = await talk.createAgent(secretAgent)
    executions.length = 0
    const { runId, calls } = await ground.ask(agent)
    // Half of the decisions come just before the expiry, half just after it, and the sweep at that time.
    const deciding = round % 2 === 0 ? talk.submit(runId, [approve(calls[0])]) : undefined
    ahead += timeoutMs
    const { __typename } = await (deciding ?? talk.submit(runId, [approve(calls[0])]))
    await ground.answer('done')
    const [call] = (await talk.settled(runId)).steps[0].toolCalls
    if (__typename === 'SubmitApprovalsSuccess') {
      expect(call).toMatchObject({ status: 'SUCCEEDED', decision: { kind: 'APPROVED' } })
      expect(executions).toHaveLength(1)
    } else {
      expect(__typename).toBe('NoPendingApprovalRefusal')
      expect(call).toMatchObject(expired)
      expect(executions).toEqual([])
    }
    seen.add(`${round % 2 === 0 ? 'before' : 'after'} ${__typename}`)
  }
  expect(seen).not.toContain('after SubmitApprovalsSuccess')
})

test('[APR29] a run waits for days and across restarts; calls that expired while no process ran are denied by the next one', async () => {
  const database = await createTestDatabase()
  const first = await startGround({ database }, ground.model)
  await setTimeoutOf(first, 24 * 60 * 60 * 1_000)
  const agent = await first.talk.createAgent({
    tools: [
      { name: 'get_secret_code', approvalOverride: true },
      { name: 'roll_dice', approvalOverride: true },
    ],
  })
  const { runId, calls } = await first.ask(agent, [
    ['get_secret_code', hello],
    ['roll_dice', { sides: 6 }],
  ])
  await first.app.stop()

  const days = 3 * 24 * 60 * 60 * 1_000
  const later = { now: () => new Date(Date.now() + days) }
  const second = await startGround({ database, clock: later }, ground.model)
  // The time is over, whether or not a sweep has run since.
  expect(await second.talk.submit(runId, [approve(calls[0])])).toMatchObject({ __typename: 'AlreadyDecidedRefusal' })
  expect(await second.talk.run(runId)).toMatchObject({ id: runId, pendingToolCalls: [{ id: calls[1].id }] })
  await second.talk.submit(runId, [approve(calls[1])])
  const next = await ground.answer('done')
  expect(next.request.messages.at(-1)).toMatchObject({
    returns: [{ output: expect.stringContaining('expired') }, { output: 'rolled 6' }],
  })
  expect(await second.talk.settled(runId)).toMatchObject({ status: 'COMPLETED' })
  await second.app.stop()
  await database.close()
})
