import { afterAll, beforeAll, expect, test } from 'vitest'

import { secretAgent } from '../support/secret-tools.ts'
import { approve, deny } from '../support/talk.ts'
import { startGround, type Ground } from './ground.ts'

let ahead = 0
const clock = { now: () => new Date(Date.now() + ahead) }
let ground: Ground

beforeAll(async () => {
  ground = await startGround({ clock })
})
afterAll(() => ground.app.stop())

/** The audit entries of a run, oldest first. */
async function recorded(runId: string): Promise<any[]> {
  const { auditLog } = await ground.app.data(
    `query ($runId: ID!) { auditLog(filter: { subjectId: $runId }) { nodes {
      action actor { kind id } subject { id } before after } } }`,
    { runId },
  )
  return auditLog.nodes.toReversed()
}

test('[AUD6] decisions are recorded with the run as their subject, once each', async () => {
  const { talk } = ground
  const agent = await talk.createAgent(secretAgent)
  const { runId, calls } = await ground.ask(agent, [
    ['get_secret_code', { text: 'one' }],
    ['get_secret_code', { text: 'two' }],
  ])
  await talk.submit(runId, [approve(calls[0])])
  await talk.submit(runId, [approve(calls[0])])
  await talk.submit(runId, [deny(calls[1], 'not this one')])
  await ground.answer('done')
  await talk.settled(runId)
  const decision = (call: any, rest: object) => ({
    decisions: [{ toolCallId: call.id, tool: 'get_secret_code', ...rest }],
  })
  const by = { action: 'submitApprovals', actor: { kind: 'OPEN', id: 'open' }, subject: { id: runId }, before: null }
  expect(await recorded(runId)).toEqual([
    { ...by, after: decision(calls[0], { decision: 'APPROVED', scope: 'ONCE' }) },
    { ...by, after: decision(calls[1], { decision: 'DENIED', reason: 'not this one' }) },
  ])
})

test('[AUD6] an approval that expired is recorded without an actor', async () => {
  const { talk, app } = ground
  await app.data('mutation ($input: UpdateToolInput!) { updateTool(input: $input) { tool { id } } }', {
    input: { id: await talk.toolId('get_secret_code'), approvalTimeoutMs: 10_000 },
  })
  const { runId, calls } = await ground.ask(await talk.createAgent(secretAgent))
  ahead += 10_000
  await ground.answer('I see')
  await talk.settled(runId)
  expect(await talk.submit(runId, [deny(calls[0])])).toMatchObject({ __typename: 'NoPendingApprovalRefusal' })
  expect(await recorded(runId)).toMatchObject([{ actor: null, after: { decisions: [{ decision: 'DENIED' }] } }])
})

test('[AUD6] a retried run is recorded', async () => {
  const { talk, app } = ground
  const agent = await talk.createAgent()
  const runId = await talk.start(agent, 'hello')
  const call = await ground.model.nextCall()
  call.fail({ type: 'LLM_ERROR', message: 'broken', retryable: true })
  expect(await talk.settled(runId)).toMatchObject({ status: 'FAILED' })
  await app.data('mutation ($id: ID!) { retryRun(input: { runId: $id }) { __typename } }', { id: runId })
  await ground.answer('better')
  await talk.settled(runId)
  expect(await recorded(runId)).toMatchObject([{ action: 'retryRun', before: null, after: null }])
})

test('[AUD6] a cancelled run is recorded once, whether a worker drives it or nobody does', async () => {
  const { talk } = ground
  const agent = await talk.createAgent(secretAgent)
  const driven = await talk.start(agent, 'hello')
  await ground.model.nextCall()
  for (let times = 0; times < 2; times += 1) await talk.cancel({ runId: driven })
  const { runId: paused } = await ground.ask(agent)
  for (let times = 0; times < 2; times += 1) await talk.cancel({ runId: paused })
  for (const runId of [driven, paused]) {
    expect(await talk.settled(runId)).toMatchObject({ status: 'CANCELLED' })
    expect(await recorded(runId)).toMatchObject([
      { action: 'cancelRun', actor: { id: 'open' }, subject: { id: runId } },
    ])
  }
})
