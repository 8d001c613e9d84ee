import { afterAll, expect, test } from 'vitest'

import { fireSchedules } from '../../src/commands/schedules/run-schedule.ts'
import { decodeId, encodeId } from '../../src/domain/ids.ts'
import type { Viewer } from '../../src/domain/access/viewer.ts'
import { createGround } from '../support/execute.ts'
import { createFixtures } from '../support/fixtures.ts'

let agentId: string

const ground = await createGround()
const make = createFixtures(ground.db)
afterAll(() => ground.close())

const fields = `id name agent { id } conversation { id } cron timezone at messages { role text } missed enabled nextTimes
  lastError createdBy { id } runs { totalCount nodes { id status sentBy { id } schedule { id }
    conversation { id title } input { text } } }`

async function execute(document: string, variables: object, viewer?: Viewer): Promise<any> {
  const { data, errors } = await ground.execute(document, variables as Record<string, unknown>, viewer)
  return errors.length > 0 ? { code: errors[0]!.code, field: errors[0]!.field } : Object.values(data)[0]
}

async function newAgent(timezone = 'Europe/Berlin'): Promise<string> {
  const agent = await make.agent({ tenant_id: ground.viewer.tenantId, model: 'demo/scripted', timezone })
  agentId = encodeId('Agent', agent.id)
  return agentId
}

async function newConversation(of = agentId): Promise<string> {
  const agent = uuid(of)
  const conversation = await make.conversation({ tenant_id: ground.viewer.tenantId, agent_id: agent })
  return encodeId('Conversation', conversation.id)
}

const uuid = (id: string) => (decodeId(id) as { uuid: string }).uuid

async function create(input: object, viewer?: Viewer): Promise<any> {
  const defaults = { name: 'daily', agentId, cron: '30 8 * * *', messages: [{ text: 'report' }] }
  const document = `mutation ($input: CreateScheduleInput!) { createSchedule(input: $input) { schedule { ${fields} } } }`
  const result = await execute(document, { input: { ...defaults, ...input } }, viewer)
  return result.schedule ?? result
}

async function update(id: string, input: object, viewer?: Viewer): Promise<any> {
  const document = `mutation ($input: UpdateScheduleInput!) { updateSchedule(input: $input) { schedule { ${fields} } } }`
  const result = await execute(document, { input: { id, ...input } }, viewer)
  return result.schedule ?? result
}

const show = (id: string, viewer?: Viewer) =>
  execute(`query ($id: ID!) { schedule(id: $id) { ${fields} } }`, { id }, viewer)

/** Makes the schedule due, as if it had been for a second, and lets a process fire it that has watched that long. */
async function fire(id: string, watchedMs = 10_000): Promise<any> {
  const due = new Date(Date.now() - 1_000)
  await ground.db.updateTable('schedules').set({ next_due: due }).where('id', '=', uuid(id)).execute()
  await Promise.all([1, 2, 3].map(() => fireSchedules(ground.context, { since: new Date(Date.now() - watchedMs) })))
  return show(id)
}

test('[DUE1] a schedule is created with defaults and shows its next ten times', async () => {
  await newAgent()
  const schedule = await create({})
  expect(schedule).toMatchObject({
    ...{ name: 'daily', agent: { id: agentId }, conversation: null, cron: '30 8 * * *', timezone: 'Europe/Berlin' },
    ...{ at: null, missed: 'SKIP', enabled: true, lastError: null, createdBy: { id: ground.viewer.actor.id } },
    messages: [{ role: 'USER', text: 'report' }],
    runs: { totalCount: 0, nodes: [] },
  })
  expect(schedule.nextTimes).toHaveLength(10)
  const hours = schedule.nextTimes.map((time: string) =>
    new Date(time).toLocaleTimeString('de', { timeZone: 'Europe/Berlin', timeStyle: 'short' }),
  )
  expect(new Set(hours)).toEqual(new Set(['08:30']))
  const at = new Date(Date.now() + 60_000).toISOString()
  expect(await create({ cron: null, at, timezone: null, enabled: null })).toMatchObject({
    ...{ cron: null, at, missed: 'ONCE', nextTimes: [at], timezone: 'Europe/Berlin', enabled: true },
  })
  const { nodes, totalCount } = await execute(
    'query ($agentId: ID) { schedules(agentId: $agentId, first: 1) { nodes { id } totalCount } }',
    { agentId },
  )
  expect({ nodes, totalCount }).toEqual({ nodes: [{ id: schedule.id }], totalCount: 2 })
})

test('[DUE1] wrong input names its field', async () => {
  await newAgent()
  const bad = (field: string) => ({ code: 'BAD_USER_INPUT', field: `input.${field}` })
  const future = new Date(Date.now() + 60_000).toISOString()
  expect(await create({ cron: null })).toEqual(bad('cron'))
  expect(await create({ at: future })).toEqual(bad('at'))
  expect(await create({ cron: null, at: '2020-01-01T00:00:00Z' })).toEqual(bad('at'))
  expect(await create({ cron: '0 0 30 2 *' })).toEqual(bad('cron'))
  expect(await create({ cron: '@daily' })).toEqual(bad('cron'))
  expect(await create({ timezone: 'Mars/Base' })).toEqual(bad('timezone'))
  expect(await create({ name: ' ' })).toEqual(bad('name'))
  expect(await create({ messages: [] })).toEqual(bad('messages'))
  expect(await create({ messages: [{ text: 'a', clientId: 'x' }] })).toEqual(bad('messages.0.clientId'))
  const image = { content: [{ imageUrl: `data:image/png;base64,${btoa('x'.repeat(9_000))}` }] }
  expect(await create({ messages: [image] })).toEqual(bad('messages.0.content.0.imageUrl'))
  expect(await create({ agentId: encodeId('Agent', ground.viewer.tenantId) })).toMatchObject({ code: 'NOT_FOUND' })
  const foreign = await newConversation(await newAgent())
  await newAgent()
  expect(await create({ conversationId: foreign })).toEqual(bad('conversationId'))
  const { id } = await create({})
  expect(await update(id, { cron: null })).toEqual(bad('cron'))
  expect(await update(id, { name: null })).toEqual(bad('name'))
  expect(await update(id, { at: future })).toMatchObject({ cron: null, at: future, nextTimes: [future] })
  expect(await update(id, { cron: '* * * * *' })).toMatchObject({ cron: '* * * * *', at: null })
})

test('[DUE4] a due time makes one run in a new conversation each time, however many processes fire it', async () => {
  await newAgent()
  const maker = { ...ground.viewer, actor: { kind: 'PERSON', id: 'ada', name: 'Ada' } } as const
  const { id, name } = await create({ cron: '* * * * *' }, maker)
  const first = (await fire(id)).runs.nodes
  expect(first).toMatchObject([{ sentBy: { id: 'ada' }, schedule: { id }, input: [{ text: 'report' }] }])
  expect(first[0].conversation.title).toBe(name)
  await begin(first[0].id)
  const { runs, nextTimes, lastError } = await fire(id)
  expect(runs.nodes).toHaveLength(2)
  expect(runs.nodes[0].conversation.id).not.toBe(first[0].conversation.id)
  expect(lastError).toBeNull()
  expect(new Date(nextTimes[0]).getTime()).toBeGreaterThan(Date.now() - 1_000)
})

/** As if a worker had taken the run up. */
async function begin(runId: string): Promise<void> {
  await ground.db.updateTable('runs').set({ status: 'RUNNING' }).where('id', '=', uuid(runId)).execute()
}

test('[DUE4] [DUE5] a run waits for its conversation, and the next due time makes none until it has begun', async () => {
  await newAgent()
  const conversationId = await newConversation()
  const { id } = await create({ conversationId })
  const send = `mutation ($input: SendMessageInput!) { sendMessage(input: $input) {
    ... on SendMessageSuccess { run { id } } } }`
  await execute(send, { input: { to: { conversationId }, messages: [{ text: 'busy' }] } })
  const { runs } = await fire(id)
  expect(runs.nodes).toMatchObject([{ status: 'QUEUED', conversation: { id: conversationId } }])
  const again = await fire(id)
  expect(again).toMatchObject({
    enabled: true,
    lastError: expect.stringContaining('not begun'),
    runs: { totalCount: 1 },
  })
  expect(again.nextTimes).toHaveLength(10)
  await begin(runs.nodes[0].id)
  expect(await fire(id)).toMatchObject({ lastError: null, runs: { totalCount: 2 } })
})

test('[DUE5] a schedule whose conversation or agent is deleted is disabled and says so', async () => {
  await newAgent()
  const conversationId = await newConversation()
  const of = await create({ conversationId })
  const whole = await create({})
  await execute('mutation ($input: DeleteConversationInput!) { deleteConversation(input: $input) { deletedId } }', {
    input: { id: conversationId },
  })
  const error = expect.stringContaining('conversation was deleted')
  expect(await show(of.id)).toMatchObject({ enabled: false, nextTimes: [], conversation: null, lastError: error })
  expect(await update(of.id, { enabled: true })).toMatchObject({ code: 'NOT_FOUND' })
  expect(await update(of.id, { enabled: true, conversationId: null })).toMatchObject({ enabled: true })
  // It is gone without a word, as retention deletes conversations.
  const old = await create({ conversationId: await newConversation() })
  await ground.db.deleteFrom('conversations').where('id', '=', uuid(old.conversation.id)).execute()
  expect(await fire(old.id)).toMatchObject({ enabled: false, lastError: error })
  await execute('mutation ($input: DeleteAgentInput!) { deleteAgent(input: $input) { deletedId } }', {
    input: { id: agentId },
  })
  const deleted = await execute(
    'query ($id: ID!) { schedule(id: $id) { agentId agent { id name model } enabled lastError } }',
    { id: whole.id },
  )
  const agent = { id: agentId, name: 'deleted agent', model: '' }
  expect(deleted).toEqual({ agentId, agent, enabled: false, lastError: 'The agent was deleted.' })
  const listed = await execute('{ schedules(last: 200) { nodes { agent { id } } } }', {})
  expect(listed.nodes).toContainEqual({ agent: { id: agentId } })
})

test('[DUE6] times while a schedule is disabled were never due, and a new name keeps the due time', async () => {
  await newAgent()
  const { id, nextTimes } = await create({ cron: '* * * * *' })
  expect(await update(id, { enabled: false })).toMatchObject({ enabled: false, nextTimes: [] })
  await fireSchedules(ground.context, { since: new Date(0) })
  expect((await show(id)).runs.totalCount).toBe(0)
  expect((await update(id, { enabled: true })).nextTimes.at(0) >= nextTimes[0]).toBe(true)
  const due = new Date(Date.now() - 500)
  await ground.db.updateTable('schedules').set({ next_due: due }).where('id', '=', uuid(id)).execute()
  expect((await update(id, { name: 'renamed' })).nextTimes[0]).toBe(due.toISOString())
})

test('[DUE9] missed times are skipped, or made up for by one run', async () => {
  await newAgent()
  for (const [missed, totalCount] of [
    ['SKIP', 0],
    ['ONCE', 1],
  ] as const) {
    const { id } = await create({ cron: '* * * * *', missed })
    const due = new Date(Date.now() - 3_600_000)
    await ground.db.updateTable('schedules').set({ next_due: due }).where('id', '=', uuid(id)).execute()
    await fireSchedules(ground.context, { since: new Date() })
    const shown = await show(id)
    expect(shown).toMatchObject({ enabled: true, runs: { totalCount } })
    expect(new Date(shown.nextTimes[0]).getTime()).toBeGreaterThan(Date.now() - 1_000)
  }
})

test('[DUE7] a trigger makes a run of who triggers, and runs outlive their schedule', async () => {
  await newAgent()
  const { id } = await create({ enabled: false })
  const document =
    'mutation ($input: TriggerScheduleInput!) { triggerSchedule(input: $input) { run { id schedule { id } sentBy { id } } } }'
  const viewer: Viewer = {
    ...ground.viewer,
    actor: { kind: 'PERSON', id: 'bob', name: 'Bob' },
    scopes: ['READ', 'RUN'],
  }
  const { run } = await execute(document, { input: { id } }, viewer)
  expect(run).toMatchObject({ schedule: { id }, sentBy: { id: 'bob' } })
  expect(await create({}, viewer)).toEqual({ code: 'FORBIDDEN' })
  expect(await show(id, ground.stranger)).toBeNull()
  const remove = 'mutation ($input: DeleteScheduleInput!) { deleteSchedule(input: $input) { deletedId } }'
  expect(await execute(remove, { input: { id } }, ground.stranger)).toMatchObject({ code: 'NOT_FOUND' })
  expect(await execute(remove, { input: { id } })).toEqual({ deletedId: id })
  expect(await execute('query ($id: ID!) { run(id: $id) { schedule { id } } }', { id: run.id })).toEqual({
    schedule: null,
  })
  const { nodes } = await execute('{ auditLog(first: 2) { nodes { action subjectId } } }', {})
  expect(nodes.map((entry: any) => entry.action).toSorted()).toEqual(['createSchedule', 'deleteSchedule'])
})
