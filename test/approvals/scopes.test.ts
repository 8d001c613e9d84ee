import { afterAll, expect, test } from 'vitest'

import type { Actor } from '../../src/domain/access/actor.ts'
import { encodeId } from '../../src/domain/ids.ts'
import type { ApiScope, Viewer } from '../../src/domain/access/viewer.ts'
import { createGround } from '../support/execute.ts'
import { createFixtures } from '../support/fixtures.ts'
import { approve, deny, giveReturn } from '../support/talk.ts'

const ground = await createGround()
const make = createFixtures(ground.db)
afterAll(() => ground.close())

/** A run that waits for an approval and for a client. */
async function createPausedRun() {
  const tenant = { tenant_id: ground.viewer.tenantId }
  const agent = await make.agent(tenant)
  const conversation = await make.conversation({ ...tenant, agent_id: agent.id })
  const run = await make.run(conversation, { status: 'AWAITING_APPROVAL', stop_reason: 'REQUIRES_APPROVAL' })
  await make.step(run, { index: 0, status: 'PAUSED' })
  const pending = { step_index: 0, status: 'PENDING' as const }
  const call = await make.call(run, { ...pending, ordinal: 0, needs: 'APPROVAL' })
  const ofClient = await make.call(run, { ...pending, ordinal: 1, needs: 'CLIENT_EXECUTION' })
  const shown = (row: { readonly id: string }) => ({ id: encodeId('ToolCall', row.id) })
  return { runId: encodeId('Run', run.id), call: shown(call), ofClient: shown(ofClient) }
}

const submit = 'mutation ($input: SubmitApprovalsInput!) { submitApprovals(input: $input) { __typename } }'

test('[APR34] deciding requires APPROVE, a client tool’s result RUN, scope AGENT also MANAGE; another key is FORBIDDEN', async () => {
  const followUp = [{ text: 'and then' }]
  type Case = [
    scopes: ApiScope[],
    decide: (run: Awaited<ReturnType<typeof createPausedRun>>) => object,
    allowed: boolean,
  ]
  const cases: Case[] = [
    [['APPROVE'], ({ call }) => ({ decisions: [approve(call)] }), true],
    [['APPROVE'], ({ call }) => ({ decisions: [deny(call)] }), true],
    [['APPROVE'], ({ call }) => ({ decisions: [giveReturn(call, 'x')] }), true],
    [['APPROVE'], ({ call }) => ({ decisions: [approve(call, { scope: 'AGENT' })] }), false],
    [['APPROVE', 'MANAGE'], ({ call }) => ({ decisions: [approve(call, { scope: 'AGENT' })] }), true],
    [['APPROVE'], ({ ofClient }) => ({ decisions: [giveReturn(ofClient, 'x')] }), false],
    [['APPROVE'], ({ ofClient }) => ({ decisions: [deny(ofClient)] }), true],
    [['APPROVE'], ({ call }) => ({ decisions: [approve(call)], followUp }), false],
    [['APPROVE', 'RUN'], ({ call }) => ({ decisions: [approve(call)], followUp }), true],
    [['RUN'], ({ ofClient }) => ({ decisions: [giveReturn(ofClient, 'x')] }), true],
    [['RUN'], ({ ofClient }) => ({ decisions: [deny(ofClient)] }), true],
    [['RUN', 'MANAGE', 'READ'], ({ call }) => ({ decisions: [approve(call)] }), false],
    [['RUN'], ({ call }) => ({ decisions: [deny(call)] }), false],
    [['RUN'], ({ call }) => ({ decisions: [giveReturn(call, 'x')] }), false],
    [['RUN'], ({ call, ofClient }) => ({ decisions: [giveReturn(ofClient, 'x'), deny(call)] }), false],
    [['READ'], ({ call }) => ({ decisions: [approve(call)] }), false],
  ]
  for (const [scopes, decide, allowed] of cases) {
    const run = await createPausedRun()
    const viewer: Viewer = { ...ground.viewer, scopes }
    const { data, errors } = await ground.execute(submit, { input: { runId: run.runId, ...decide(run) } }, viewer)
    const what = `${scopes} ${JSON.stringify(decide(run))}`
    if (allowed) expect(data?.submitApprovals.__typename, what).toBe('SubmitApprovalsSuccess')
    else {
      expect(errors, what).toMatchObject([{ code: 'FORBIDDEN' }])
      const { run: after } = await ground.run('query ($id: ID!) { run(id: $id) { pendingToolCalls { id } } }', {
        id: run.runId,
      })
      expect(after.pendingToolCalls, what).toHaveLength(2)
    }
  }
})

test('[APR38] a run shows who started it, and a decision who made it', async () => {
  const grace: Actor = { kind: 'PERSON', id: 'grace', name: 'Grace' }
  const { runId, call } = await createPausedRun()
  await ground.run(submit, { input: { runId, decisions: [deny(call)] } }, { ...ground.viewer, actor: grace })
  const actor = 'actor { kind id name }'
  const { toolCalls } = await ground.run(
    `{ toolCalls(filter: { decidedBy: "grace" }) { nodes { id decision { ${actor} decidedBy } run { agent { id } } } } }`,
  )
  expect(toolCalls.nodes).toMatchObject([{ id: call.id, decision: { actor: grace, decidedBy: 'Grace' } }])

  const [{ run }] = toolCalls.nodes
  const { createConversation } = await ground.run(
    'mutation ($agent: ID!) { createConversation(input: { agentId: $agent }) { conversation { id } } }',
    { agent: run.agent.id },
  )
  const { sendMessage } = await ground.run(
    `mutation ($to: ID!) { sendMessage(input: { to: { conversationId: $to }, messages: [{ text: "hi" }] }) {
      ... on SendMessageSuccess { run { sentBy { kind id name } } } } }`,
    { to: createConversation.conversation.id },
    { ...ground.viewer, actor: grace },
  )
  expect(sendMessage.run.sentBy).toEqual(grace)
})

test('[APR35] another tenant can neither see what waits nor decide it', async () => {
  const { runId, call } = await createPausedRun()
  const { errors } = await ground.execute(submit, { input: { runId, decisions: [deny(call)] } }, ground.stranger)
  expect(errors).toMatchObject([{ code: 'NOT_FOUND' }])
  const { toolCalls } = await ground.run(
    '{ toolCalls(filter: { statuses: [PENDING] }) { totalCount } }',
    {},
    ground.stranger,
  )
  expect(toolCalls.totalCount).toBe(0)
})
