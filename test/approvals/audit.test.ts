import { afterAll, expect, test } from 'vitest'

import { secretAgent } from '../support/secret-tools.ts'
import { approve, deny } from '../support/talk.ts'
import { startGround } from './ground.ts'

let ahead = 0
const clock = { now: () => new Date(Date.now() + ahead) }

const ground = await startGround({ clock })
afterAll(() => ground.app.stop())

/** The audit entries of a run or an agent, oldest first. */
async function recorded(subjectId: string): Promise<any[]> {
  const { auditLog } = await ground.app.data(
    `query ($subjectId: ID!) { auditLog(filter: { subjectId: $subjectId }) { nodes {
      action actor { kind id } subject { id } before after } } }`,
    { subjectId },
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

test('[APR48] scope AGENT changes the agent: its updatedAt moves, and its audit log says who did it, once', async () => {
  const { talk, app } = ground
  const agent = await talk.createAgent(secretAgent)
  const updatedAt = async () =>
    (await app.data('query ($id: ID!) { agent(id: $id) { updatedAt } }', { id: agent })).agent.updatedAt
  const made = await updatedAt()
  const { runId, calls } = await ground.ask(agent, [
    ['get_secret_code', { text: 'one' }],
    ['get_secret_code', { text: 'two' }],
  ])
  await talk.submit(runId, [approve(calls[0], { scope: 'RUN' })])
  expect(await updatedAt()).toBe(made)
  ahead += 1_000
  await talk.submit(runId, [approve(calls[1], { scope: 'AGENT' })])
  const changed = await updatedAt()
  expect(Date.parse(changed)).toBeGreaterThan(Date.parse(made))
  ahead += 1_000
  await talk.submit(runId, [approve(calls[1], { scope: 'AGENT' })])
  await ground.answer('done')
  await talk.settled(runId)
  expect(await updatedAt()).toBe(changed)

  const toolId = await talk.toolId('get_secret_code')
  const tools = (approvalOverride: boolean | null) => ({ tools: [{ toolId, approvalOverride }] })
  const [created, ...more] = await recorded(agent)
  expect(created).toMatchObject({ action: 'createAgent' })
  const actor = { kind: 'OPEN', id: 'open' }
  const subject = { id: agent }
  expect(more).toEqual([{ action: 'submitApprovals', actor, subject, before: tools(true), after: tools(false) }])
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
