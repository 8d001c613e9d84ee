import { afterAll, expect, test } from 'vitest'

import { openActor, type Actor } from '../../src/domain/access/actor.ts'
import { encodeId } from '../../src/domain/ids.ts'
import type { Viewer } from '../../src/domain/access/viewer.ts'
import { createGround } from '../support/execute.ts'
import { createFixtures } from '../support/fixtures.ts'
import { approve, deny, giveReturn } from '../support/talk.ts'

const ground = await createGround()
const make = createFixtures(ground.db)
afterAll(() => ground.close())

const person = (id: string): Actor => ({ kind: 'PERSON', id, name: id })
const as = (id: string): Viewer => ({ ...ground.viewer, actor: person(id) })

/** A run of Sam's that waits for a call of `pay`, which needs approvals as given. */
async function createPausedRun(terms: { readonly required?: number; readonly excludesSender?: boolean }) {
  const tenant = { tenant_id: ground.viewer.tenantId }
  const agent = await make.agent(tenant)
  const conversation = await make.conversation({ ...tenant, agent_id: agent.id })
  const run = await make.run(conversation, {
    status: 'AWAITING_APPROVAL',
    stop_reason: 'REQUIRES_APPROVAL',
    sent_by: JSON.stringify(person('sam')),
  })
  await make.step(run, { index: 0, status: 'PAUSED' })
  const call = await make.call(run, {
    step_index: 0,
    ordinal: 0,
    status: 'PENDING',
    needs: 'APPROVAL',
    name: 'pay',
    arguments: '{"sum":10}',
    approval: JSON.stringify({ required: 1, excludesSender: false, ...terms, given: [] }),
  })
  return { runId: encodeId('Run', run.id), call: { id: encodeId('ToolCall', call.id) } }
}

const submit = `mutation ($input: SubmitApprovalsInput!) { submitApprovals(input: $input) { __typename
  ... on Refusal { message } ... on SelfApprovalRefusal { toolCalls { id } }
  ... on SubmitApprovalsSuccess { run { status pendingToolCalls { id } } } } }`

async function decide(viewer: Viewer, runId: string, decision: object, more: object = {}) {
  const { submitApprovals } = await ground.run(submit, { input: { runId, decisions: [decision], ...more } }, viewer)
  return submitApprovals
}

async function shown(call: { readonly id: string }) {
  const { node } = await ground.run(
    `query ($id: ID!) { node(id: $id) { ... on ToolCall { status approvalsRequired editedArguments
      approvals { kind decidedBy note scope editedArguments } decision { kind decidedBy } run { lastCursor } } } }`,
    { id: call.id },
  )
  return node
}

const waits = { __typename: 'SubmitApprovalsSuccess', run: { status: 'AWAITING_APPROVAL' } }
const goesOn = { __typename: 'SubmitApprovalsSuccess', run: { status: 'RUNNING', pendingToolCalls: [] } }

test('[APR39] a call waits until as many different actors as its tool requires have approved it', async () => {
  const { runId, call } = await createPausedRun({ required: 3 })
  expect(await shown(call)).toMatchObject({ approvalsRequired: 3, approvals: [], decision: null })
  expect(await decide(as('ann'), runId, approve(call, { note: 'fine by me' }))).toMatchObject(waits)
  const { run: once } = await shown(call)
  // The same actor counts once, and repeating the approval changes nothing.
  expect(await decide(as('ann'), runId, approve(call, { note: 'fine by me' }))).toMatchObject(waits)
  expect((await shown(call)).run).toEqual(once)
  expect(await decide(as('ann'), runId, approve(call, { scope: 'RUN' }))).toMatchObject(waits)
  expect(await decide(as('bob'), runId, approve(call))).toMatchObject(waits)
  expect(await shown(call)).toMatchObject({
    status: 'PENDING',
    approvals: [
      { kind: 'APPROVED', decidedBy: 'ann', scope: 'RUN', note: null },
      { kind: 'APPROVED', decidedBy: 'bob', scope: 'ONCE', note: null },
    ],
    decision: null,
  })
  expect(await decide(as('cleo'), runId, approve(call))).toMatchObject(goesOn)
  expect(await shown(call)).toMatchObject({
    status: 'READY',
    approvals: [{ decidedBy: 'ann' }, { decidedBy: 'bob' }, { decidedBy: 'cleo' }],
    decision: { kind: 'APPROVED', decidedBy: 'cleo' },
  })
  for (const id of ['bob', 'dora']) expect(await decide(as(id), runId, approve(call))).toMatchObject(goesOn)
  expect(await decide(as('bob'), runId, deny(call))).toMatchObject({ __typename: 'AlreadyDecidedRefusal' })
})

test('[APR39] one denial or client result decides a call that needs several approvals', async () => {
  for (const settle of [deny, (call: { readonly id: string }) => giveReturn(call, 'paid by hand')]) {
    const { runId, call } = await createPausedRun({ required: 2 })
    await decide(as('ann'), runId, approve(call, { arguments: { sum: 5 } }))
    expect(await decide(as('ann'), runId, settle(call))).toMatchObject(goesOn)
    expect(await shown(call)).toMatchObject({ decision: { decidedBy: 'ann' }, editedArguments: null })
  }
})

test('[APR40] an approval counts for the arguments that it was given for, and the narrowest scope applies', async () => {
  const { runId, call } = await createPausedRun({ required: 2 })
  await decide(as('ann'), runId, approve(call))
  expect(await decide(as('bob'), runId, approve(call, { arguments: { sum: 5 } }))).toMatchObject(waits)
  const edited = { decidedBy: 'bob', editedArguments: { sum: 5 } }
  expect(await shown(call)).toMatchObject({ approvals: [edited], editedArguments: { sum: 5 } })
  expect(await decide(as('cleo'), runId, approve(call))).toMatchObject(waits)
  expect(await shown(call)).toMatchObject({ approvals: [{ decidedBy: 'cleo' }], editedArguments: null })
  await decide(as('ann'), runId, approve(call, { arguments: { sum: 5 }, scope: 'AGENT' }))
  expect(await decide(as('bob'), runId, approve(call, { arguments: { sum: 5 }, scope: 'RUN' }))).toMatchObject(goesOn)
  expect(await shown(call)).toMatchObject({ editedArguments: { sum: 5 }, approvals: [{ scope: 'AGENT' }, edited] })
  const { approved_tools } = await ground.db
    .selectFrom('runs')
    .select('approved_tools')
    .where('id', '=', uuidOf(runId))
    .executeTakeFirstOrThrow()
  expect(approved_tools).toEqual(['pay'])
})

const uuidOf = (id: string) => id.slice(4).replace(/^(.{8})(.{4})(.{4})(.{4})(.{12})$/, '$1-$2-$3-$4-$5')

test('[APR41] whoever started the run cannot approve a call whose tool excludes the sender, but can deny it', async () => {
  const { runId, call } = await createPausedRun({ excludesSender: true })
  expect(await decide(as('sam'), runId, approve(call))).toEqual({
    __typename: 'SelfApprovalRefusal',
    message: expect.stringContaining(call.id),
    toolCalls: [{ id: call.id }],
  })
  expect(await shown(call)).toMatchObject({ status: 'PENDING', approvals: [] })
  // A key with the same id is another actor.
  const key = { ...ground.viewer, actor: { ...person('sam'), kind: 'KEY' as const } }
  expect(await decide(key, runId, approve(call))).toMatchObject(goesOn)

  const other = await createPausedRun({ excludesSender: true })
  expect(await decide(as('sam'), other.runId, deny(other.call))).toMatchObject(goesOn)
})

test('[APR42] a follow-up of one of several approvals is stored once, and a different one later is refused', async () => {
  const { runId, call } = await createPausedRun({ required: 2 })
  const followUp = [{ text: 'and then' }]
  await decide(as('ann'), runId, approve(call), { followUp })
  await decide(as('ann'), runId, approve(call), { followUp })
  expect(await decide(as('ann'), runId, approve(call), { followUp: [{ text: 'more' }] })).toMatchObject({
    __typename: 'AlreadyDecidedRefusal',
  })
  const { follow_ups } = await ground.db
    .selectFrom('runs')
    .select('follow_ups')
    .where('id', '=', uuidOf(runId))
    .executeTakeFirstOrThrow()
  expect(follow_ups).toHaveLength(1)
})

test('[APR46] follow-ups of two people are two follow-ups, also when their words are the same', async () => {
  const followUp = [{ text: 'and then' }]
  const senders = async (runId: string) => {
    const run = ground.db.selectFrom('runs').select('follow_ups').where('id', '=', uuidOf(runId))
    return (await run.executeTakeFirstOrThrow()).follow_ups.map(({ sentBy }) => sentBy!.id)
  }
  const both = await createPausedRun({ required: 2 })
  for (const id of ['ann', 'ann', 'bob', 'ann', 'bob'])
    expect((await decide(as(id), both.runId, approve(both.call), { followUp })).__typename).toBe(
      'SubmitApprovalsSuccess',
    )
  expect(await senders(both.runId)).toEqual(['ann', 'bob'])

  // The words of whoever is too late are refused, not dropped.
  const one = await createPausedRun({})
  expect(await decide(as('ann'), one.runId, approve(one.call), { followUp })).toMatchObject(goesOn)
  expect(await decide(as('bob'), one.runId, approve(one.call), { followUp })).toMatchObject({
    __typename: 'AlreadyDecidedRefusal',
    message: expect.stringContaining('sendMessage'),
  })
  expect(await senders(one.runId)).toEqual(['ann'])
})

test('[APR47] a follow-up is stored once when its approval is sent again after another one has replaced it', async () => {
  const { runId, call } = await createPausedRun({ required: 3 })
  const send = (id: string, options: object, text: string) =>
    decide(as(id), runId, approve(call, options), { followUp: [{ text }] })
  for (let time = 0; time < 2; time += 1) {
    expect(await send('ann', {}, 'first')).toMatchObject(waits)
    expect(await send('ann', { scope: 'RUN' }, 'second')).toMatchObject(waits)
    expect(await send('bob', { arguments: { sum: 5 } }, 'third')).toMatchObject(waits)
  }
  const run = ground.db.selectFrom('runs').select('follow_ups').where('id', '=', uuidOf(runId))
  const { follow_ups } = await run.executeTakeFirstOrThrow()
  expect(follow_ups.map(({ content }) => content)).toEqual(['first', 'second', 'third'].map((text) => [{ text }]))
})

test('[APR43] rules that need two people are refused on an open server, with the reason', async () => {
  const upsert = 'mutation ($input: UpsertToolInput!) { upsertTool(input: $input) { tool { id } } }'
  const update = `mutation ($input: UpdateToolInput!) { updateTool(input: $input) { tool {
    approvalsRequired approvalExcludesSender } } }`
  const open: Viewer = { ...ground.viewer, actor: openActor }
  const tool = { name: 'wire', implementation: { client: true } }
  const { upsertTool } = await ground.run(upsert, { input: { ...tool, approvalsRequired: 1 } }, open)
  for (const rule of [{ approvalsRequired: 2 }, { approvalExcludesSender: true }]) {
    const [field] = Object.keys(rule)
    const refused = [{ code: 'BAD_USER_INPUT', field: `input.${field}`, message: expect.stringContaining('open') }]
    expect((await ground.execute(upsert, { input: { ...tool, ...rule } }, open)).errors).toMatchObject(refused)
    const change = { input: { id: upsertTool.tool.id, ...rule } }
    expect((await ground.execute(update, change, open)).errors).toMatchObject(refused)
  }
  const set = { approvalsRequired: 2, approvalExcludesSender: true }
  const { updateTool } = await ground.run(update, { input: { id: upsertTool.tool.id, ...set } })
  expect(updateTool.tool).toEqual(set)
  const cleared = { id: upsertTool.tool.id, approvalsRequired: null, approvalExcludesSender: null }
  expect((await ground.run(update, { input: cleared }, open)).updateTool.tool).toEqual({
    approvalsRequired: 1,
    approvalExcludesSender: false,
  })
  for (const approvalsRequired of [0, 11]) {
    const { errors } = await ground.execute(upsert, { input: { ...tool, approvalsRequired } })
    expect(errors).toMatchObject([{ code: 'BAD_USER_INPUT', field: 'input.approvalsRequired' }])
  }
})
