import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest'

import { decodeId } from '../../src/domain/ids.ts'
import { countEndedRuns } from '../../src/store/usage/count-runs.ts'
import { defineTool } from '../../src/tools/registry.ts'
import { startTestApp, type TestApp } from '../support/app.ts'
import { createGatedModel, gatedHandle, type ModelCall } from '../support/gated-model.ts'
import { talkTo, type Talk } from '../support/talk.ts'

const model = createGatedModel()
const freeHandle = 'test/unpriced'
const price = { input: 1_000, output: 1_000, cachedInput: 0, cacheWrite: 0 }
const provider = {
  ...model.provider,
  models: () => [gatedHandle, freeHandle].map((handle) => ({ handle, provider: 'test', contextWindow: 100_000 })),
  priceOf: (handle: string) => (handle === gatedHandle ? price : undefined),
}
const tool = defineTool({ name: 'look', description: '', parameters: { type: 'object' }, run: () => 'seen' })
const asking = { ...tool, name: 'ask', requiresApproval: true }
let apps: readonly [TestApp, TestApp]
let app: TestApp
let talk: Talk

beforeAll(async () => {
  app = await startTestApp({ providers: [provider], tools: [tool, asking] })
  const other = await startTestApp({ providers: [provider], tools: [tool, asking], database: app.database })
  apps = [app, other]
  talk = talkTo(app)
})
afterAll(async () => {
  model.assertAllTaken()
  await apps[1].stop()
  await app.stop()
})
beforeEach(async () => {
  for (const { id } of await budgets()) await mutate('deleteBudget', { id }, 'deletedId')
})

const fields = `id agent { id } actorId period limitUsd limitTokens spentUsd spentTokens resetsAt whenReached unpricedModels`

const budgets = async (): Promise<any[]> => (await app.data(`{ budgets { ${fields} } }`)).budgets

async function mutate(name: string, input: object, selection: string): Promise<any> {
  const type = `${name[0]!.toUpperCase()}${name.slice(1)}Input`
  const { data, errors } = await app.request(
    `mutation ($input: ${type}!) { ${name}(input: $input) { ${selection} } }`,
    { input },
  )
  return errors ? { code: errors[0]!.extensions.code, field: errors[0]!.extensions.field } : data[name]
}

async function create(input: object): Promise<any> {
  const made = await mutate('createBudget', { period: 'DAY', ...input }, `budget { ${fields} }`)
  return made.budget ?? made
}

async function update(id: string, input: object): Promise<any> {
  const made = await mutate('updateBudget', { id, ...input }, `budget { ${fields} }`)
  return made.budget ?? made
}

const continueRun = (runId: string, input: object) =>
  mutate(
    'continueRun',
    { runId, ...input },
    `__typename ... on ContinueRunSuccess { run { id } } ... on Refusal { message }`,
  )

const list = async (filter: object): Promise<string[]> =>
  (await app.data('query ($filter: RunFilter) { runs(filter: $filter) { nodes { id } } }', { filter })).runs.nodes.map(
    ({ id }: any) => id,
  )

const show = async (id: string) => (await budgets()).find((budget) => budget.id === id)

const shown = 'stopReason waitingFor pendingToolCalls { id } usage { totalTokens steps } steps { status }'

function finish(call: ModelCall, tokens = 10): void {
  call.finish({ usage: { inputTokens: tokens - 1, outputTokens: 1 } })
}

async function answer(tokens = 10): Promise<void> {
  const call = await model.nextCall()
  call.say('yes')
  finish(call, tokens)
}

async function look(tokens = 10, name = 'look'): Promise<void> {
  const call = await model.nextCall()
  call.call(name, {})
  finish(call, tokens)
}

test('[BUD1] STOP ends a run before the next request, and keeps what it stored; the next run ends before its first', async () => {
  const agentId = await talk.createAgent({ tools: ['look'] })
  const { id } = await create({ agentId, limitTokens: 10 })
  const runId = await talk.start(agentId, 'one')
  await look()
  const run = await talk.settled(runId)
  expect(run).toMatchObject({
    status: 'COMPLETED',
    stopReason: 'BUDGET_EXCEEDED',
    usage: { totalTokens: 10, steps: 1 },
  })
  expect(run.steps).toMatchObject([{ status: 'COMPLETED', toolCalls: [{ status: 'SUCCEEDED' }] }])
  expect(await show(id)).toMatchObject({
    agent: { id: agentId },
    spentTokens: 10,
    whenReached: 'STOP',
    unpricedModels: [],
  })
  expect((await show(id)).spentUsd).toBeCloseTo(0.01)
  const next = await talk.settled(await talk.start(agentId, 'two'))
  expect(next).toMatchObject({ status: 'COMPLETED', stopReason: 'BUDGET_EXCEEDED', steps: [] })
  expect(next.agent.lastStopReason).toBe('BUDGET_EXCEEDED')
  expect((await talk.messages(next.id)).length).toBe(1)
})

test('[BUD1] an answer that needs no other request ends its turn, and a limit of 0 allows nothing', async () => {
  const agentId = await talk.createAgent()
  await create({ agentId, limitTokens: 5 })
  const runId = await talk.start(agentId, 'one')
  await answer()
  expect(await talk.settled(runId)).toMatchObject({ stopReason: 'END_TURN' })
  const other = await talk.createAgent()
  await create({ agentId: other, limitUsd: 0 })
  expect(await talk.settled(await talk.start(other, 'none'))).toMatchObject({
    stopReason: 'BUDGET_EXCEEDED',
    steps: [],
  })
})

test('[BUD2] ASK pauses the run until someone allows more for this run, counted from then', async () => {
  const agentId = await talk.createAgent({ tools: ['look'] })
  const { id } = await create({ agentId, limitTokens: 10, whenReached: 'ASK' })
  const runId = await talk.start(agentId, 'one')
  await look()
  const paused = {
    status: 'AWAITING_APPROVAL',
    stopReason: 'BUDGET_EXCEEDED',
    waitingFor: ['BUDGET'],
    pendingToolCalls: [],
  }
  expect(await talk.settled(runId, shown)).toMatchObject(paused)
  expect(await talk.send(agentId, 'busy')).toMatchObject({ __typename: 'ConversationBusyRefusal' })
  expect(await talk.submit(runId, [{ approve: { toolCallId: `call_${'0'.repeat(32)}` } }])).toMatchObject({
    __typename: 'NoPendingApprovalRefusal',
  })
  expect((await talk.run(runId)).agent.lastStopReason).toBe('BUDGET_EXCEEDED')
  for (const filter of [{ waitingFor: ['BUDGET'] }, { statuses: ['AWAITING_APPROVAL'], agentIds: [agentId] }])
    expect(await list(filter)).toEqual([runId])
  expect(await list({ waitingFor: ['BUDGET', 'APPROVAL'], statuses: ['COMPLETED'] })).toEqual([])
  expect(await list({ stopReasons: ['BUDGET_EXCEEDED'], statuses: ['COMPLETED'] })).not.toContain(runId)
  expect(await list({ stopReasons: ['BUDGET_EXCEEDED'] })).toContain(runId)

  const bad = (field: string) => ({ code: 'BAD_USER_INPUT', field: `input.${field}` })
  expect(await continueRun(runId, {})).toEqual(bad('allowTokens'))
  expect(await continueRun(runId, { allowUsd: 5 })).toEqual(bad('allowUsd'))
  expect(await continueRun(runId, { allowTokens: 0 })).toEqual(bad('allowTokens'))
  expect(await continueRun(`run_${'0'.repeat(32)}`, { allowTokens: 1 })).toMatchObject({ code: 'NOT_FOUND' })
  const allow = { allowTokens: 15, allowUsd: 1, idempotencyKey: runId }
  expect(await continueRun(runId, allow)).toEqual({ __typename: 'ContinueRunSuccess', run: { id: runId } })
  // 20 of 25 are used after the first of these, 30 after the second.
  await look()
  await look()
  expect(await talk.settled(runId, shown)).toMatchObject({ ...paused, usage: { totalTokens: 30, steps: 3 } })
  expect(await continueRun(runId, allow)).toMatchObject({ __typename: 'ContinueRunSuccess' })
  expect(await continueRun(runId, { allowTokens: 1 })).toMatchObject({ __typename: 'ContinueRunSuccess' })
  await answer()
  expect(await talk.settled(runId)).toMatchObject({ status: 'COMPLETED', stopReason: 'END_TURN' })
  expect(await continueRun(runId, { allowTokens: 1 })).toMatchObject({ __typename: 'RunFinishedRefusal' })
  expect((await show(id)).spentTokens).toBe(40)
  const { auditLog } = await app.data(
    'query ($id: ID!) { auditLog(filter: { subjectId: $id }) { nodes { action after actor { id } } } }',
    { id: runId },
  )
  expect(auditLog.nodes).toMatchObject([
    { action: 'continueRun', after: { allowTokens: 1 } },
    { action: 'continueRun', after: { allowTokens: 15, allowUsd: 1 }, actor: { id: 'open' } },
  ])
  const running = await talk.start(await talk.createAgent(), 'two')
  expect(await continueRun(running, { allowTokens: 1 })).toMatchObject({ __typename: 'NotWaitingForBudgetRefusal' })
  await answer()
  await talk.settled(running)
})

test('[BUD3] raising or deleting a budget lets its runs go on, STOP ends them, and a cancel does', async () => {
  const agentId = await talk.createAgent()
  const { id } = await create({ agentId, limitTokens: 0, whenReached: 'ASK' })
  const conversations = await Promise.all(Array.from({ length: 4 }, () => newConversation(agentId)))
  const [raised, stopped, cancelled, deleted] = await Promise.all(conversations.map((to) => talk.start(to, 'go')))
  for (const run of [raised, stopped, cancelled, deleted])
    expect((await talk.settled(run!)).status).toBe('AWAITING_APPROVAL')
  expect(await talk.cancel({ runId: cancelled! })).toMatchObject({ run: { status: 'CANCELLED' } })
  await update(id, { limitTokens: 1 })
  const calls = [await model.nextCall(), await model.nextCall(), await model.nextCall()]
  expect(calls.length).toBe(3)
  for (const call of calls) finish(call)
  for (const run of [raised, stopped, deleted])
    expect(await talk.settled(run!)).toMatchObject({ stopReason: 'END_TURN' })

  const second = await Promise.all(conversations.slice(0, 2).map((to) => talk.start(to, 'again')))
  for (const run of second) expect((await talk.settled(run)).status).toBe('AWAITING_APPROVAL')
  await update(id, { limitTokens: 2 })
  for (const run of second) expect((await talk.settled(run)).status).toBe('AWAITING_APPROVAL')
  await update(id, { whenReached: 'STOP' })
  for (const run of second) {
    await until(async () => (await talk.run(run)).status === 'COMPLETED')
    expect(await talk.run(run)).toMatchObject({ stopReason: 'BUDGET_EXCEEDED' })
  }
  await update(id, { whenReached: 'ASK' })
  const third = await talk.start(conversations[0]!, 'third')
  await talk.settled(third)
  await mutate('deleteBudget', { id }, 'deletedId')
  await answer()
  expect(await talk.settled(third)).toMatchObject({ stopReason: 'END_TURN' })
})

async function newConversation(agentId: string): Promise<string> {
  const { conversation } = await mutate('createConversation', { agentId }, 'conversation { id }')
  return conversation.id
}

async function until(isSo: () => Promise<boolean>): Promise<void> {
  while (!(await isSo())) await new Promise((resolve) => setTimeout(resolve, 20))
}

test('[BUD4] of many runs in two processes, only requests that are already running go over', async () => {
  const agentIds = await Promise.all(Array.from({ length: 6 }, () => talk.createAgent({ tools: ['look'] })))
  const { id } = await create({ period: 'TOTAL', limitTokens: 60 })
  const talks = apps.map((one) => talkTo(one))
  const runs = await Promise.all(agentIds.map((agentId, place) => talks[place % 2]!.start(agentId, 'go')))
  const calls = []
  for (const _ of runs) calls.push(await model.nextCall())
  // Five leave 10 tokens, so those go on; what the sixth uses reaches the limit while they are asking.
  for (const call of calls.slice(1)) {
    call.call('look', {})
    finish(call)
  }
  const going = []
  for (let count = 0; count < 5; count += 1) going.push(await model.nextCall())
  expect((await show(id)).spentTokens).toBe(50)
  calls[0]!.call('look', {})
  finish(calls[0]!)
  await until(async () => (await show(id)).spentTokens === 60)
  for (const call of going) {
    call.call('look', {})
    finish(call)
  }
  for (const run of runs) expect(await talk.settled(run)).toMatchObject({ stopReason: 'BUDGET_EXCEEDED' })
  expect(await show(id)).toMatchObject({ spentTokens: 110 })
  expect(model.untaken()).toBe(0)
})

test('[BUD5] spent is what runs of the period used, counted or not, retried or deleted; a TOTAL begins when it is made', async () => {
  const agentId = await talk.createAgent()
  const actor = (await app.data('{ viewer { actor { id } } }')).viewer.actor.id
  const early = await talk.start(agentId, 'early')
  await answer(7)
  await talk.settled(early)
  const before = (await create({ limitTokens: 1_000_000 })).spentTokens
  const total = await create({ actorId: actor, period: 'TOTAL', limitTokens: 1_000_000 })
  const day = await create({ agentId, limitTokens: 1_000_000 })
  const someoneElse = await create({ actorId: 'nobody', limitTokens: 1_000_000 })
  expect([total.spentTokens, day.spentTokens, someoneElse.spentTokens]).toEqual([0, 7, 0])
  expect(total.resetsAt).toBeNull()
  expect(new Date(day.resetsAt).toISOString()).toMatch(/T00:00:00.000Z$/)
  expect(new Date(day.resetsAt).getTime() - Date.now()).toBeLessThanOrEqual(86_400_000)

  const failing = await talk.start(agentId, 'failing')
  const call = await model.nextCall()
  call.say('half')
  call.part({ type: 'usage', usage: { inputTokens: 20, outputTokens: 0, cachedInputTokens: 0, reasoningTokens: 0 } })
  call.fail()
  await talk.settled(failing)
  const used = (await talk.run(failing)).usage.totalTokens
  await countEndedRuns(app.database.db)
  const spent = async () => Promise.all([total, day].map(async ({ id }) => (await show(id)).spentTokens))
  expect(await spent()).toEqual([used, used + 7])
  await mutate('retryRun', { runId: failing }, '__typename')
  expect(await spent()).toEqual([used, used + 7])
  await answer(100)
  await talk.settled(failing)
  for (const count of [false, true]) {
    if (count) await countEndedRuns(app.database.db)
    expect(await spent()).toEqual([used + 100, used + 107])
  }
  // An earlier run that is retried takes nothing from a TOTAL that began later.
  await mutate('deleteConversation', { id: (await talk.run(early)).conversation.id }, '__typename')
  await mutate('deleteAgent', { id: agentId }, 'deletedId')
  expect(await show(day.id)).toBeUndefined()
  expect((await show(total.id)).spentTokens).toBe(used + 100)
  expect((await budgets())[0].spentTokens).toBe(before + used + 100)
  expect((await show(someoneElse.id)).spentTokens).toBe(0)
})

test('[BUD6] a model without a known price counts by tokens alone and is named', async () => {
  const agentId = await talk.createAgent({ model: freeHandle })
  const { id } = await create({ agentId, limitUsd: 0.001, limitTokens: 25 })
  for (const text of ['one', 'two']) {
    const run = await talk.start(agentId, text)
    await answer()
    await talk.settled(run)
    expect(await show(id)).toMatchObject({ spentUsd: 0, unpricedModels: [freeHandle] })
    await countEndedRuns(app.database.db)
    expect(await show(id)).toMatchObject({ spentUsd: 0, unpricedModels: [freeHandle] })
  }
  const run = await talk.start(agentId, 'three')
  await answer()
  expect(await talk.settled(run)).toMatchObject({ stopReason: 'END_TURN' })
  expect(await talk.settled(await talk.start(agentId, 'four'))).toMatchObject({ stopReason: 'BUDGET_EXCEEDED' })
})

test('[BUD7] a budget that is made while a run is driven holds from its next request on', async () => {
  const agentId = await talk.createAgent({ tools: ['look'] })
  const runId = await talk.start(agentId, 'one')
  const call = await model.nextCall()
  const { id } = await create({ agentId, limitTokens: 1, whenReached: 'ASK' })
  call.call('look', {})
  finish(call)
  expect(await talk.settled(runId, shown)).toMatchObject({ waitingFor: ['BUDGET'], usage: { totalTokens: 10 } })
  await update(id, { limitTokens: 100 })
  await answer()
  expect(await talk.settled(runId)).toMatchObject({ stopReason: 'END_TURN' })
})

test('[BUD8] wrong input names its field, and a budget is for an agent, an actor or the tenant', async () => {
  const bad = (field: string) => ({ code: 'BAD_USER_INPUT', field: `input.${field}` })
  expect(await create({})).toEqual(bad('limitTokens'))
  expect(await create({ limitTokens: -1 })).toEqual(bad('limitTokens'))
  expect(await create({ limitUsd: -0.5 })).toEqual(bad('limitUsd'))
  const agentId = await talk.createAgent()
  expect(await create({ agentId, actorId: 'ada', limitTokens: 1 })).toEqual(bad('actorId'))
  expect(await create({ actorId: ' ', limitTokens: 1 })).toEqual(bad('actorId'))
  expect(await create({ agentId: `agent_${'0'.repeat(32)}`, limitTokens: 1 })).toMatchObject({ code: 'NOT_FOUND' })
  const { id } = await create({ agentId, limitTokens: 1, whenReached: null })
  expect(await update(id, { limitTokens: null })).toEqual(bad('limitTokens'))
  expect(await update(id, { limitTokens: null, limitUsd: 2 })).toMatchObject({ limitTokens: null, limitUsd: 2 })
  const { node } = await app.data('query ($id: ID!) { node(id: $id) { id ... on Budget { period } } }', { id })
  expect(node).toEqual({ id, period: 'DAY' })
  expect(decodeId(id)).toBeTruthy()
  const { auditLog } = await app.data(
    'query ($id: ID!) { auditLog(filter: { subjectId: $id }) { nodes { action } } }',
    { id },
  )
  expect(auditLog.nodes.map((entry: any) => entry.action)).toEqual(['updateBudget', 'createBudget'])
})

test('[BUD9] a decision that is sent again does not wake a run that waits for a budget', async () => {
  const agentId = await talk.createAgent({ tools: ['ask'] })
  await create({ agentId, limitTokens: 10, whenReached: 'ASK' })
  const runId = await talk.start(agentId, 'one')
  await look(10, 'ask')
  const [pending] = await talk.pending(runId)
  const approve = [{ approve: { toolCallId: pending.id } }]
  await talk.submit(runId, approve)
  await until(async () => (await talk.run(runId, 0, 'waitingFor')).waitingFor[0] === 'BUDGET')
  expect(await talk.submit(runId, approve)).toMatchObject({ __typename: 'SubmitApprovalsSuccess' })
  expect(await talk.run(runId, 0, 'status')).toEqual({ status: 'AWAITING_APPROVAL' })
  expect(await talk.cancel({ runId })).toMatchObject({ run: { status: 'CANCELLED' } })
})
