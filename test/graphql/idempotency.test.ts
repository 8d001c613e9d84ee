import pg from 'pg'
import { afterAll, expect, test } from 'vitest'

import type { Actor } from '../../src/domain/access/actor.ts'
import { decodeId, encodeId } from '../../src/domain/ids.ts'
import type { Viewer } from '../../src/domain/access/viewer.ts'
import { createGround } from '../support/execute.ts'
import { createFixtures } from '../support/fixtures.ts'

const ground = await createGround()
const make = createFixtures(ground.db)
afterAll(() => ground.close())

const as = (id: string, kind: Actor['kind'] = 'PERSON'): Viewer => ({
  ...ground.viewer,
  actor: { kind, id, name: id },
})

async function newConversation(): Promise<string> {
  const tenant = { tenant_id: ground.viewer.tenantId }
  const agent = await make.agent({ ...tenant, model: 'demo/scripted' })
  return encodeId('Conversation', (await make.conversation({ ...tenant, agent_id: agent.id })).id)
}

const result = '{ __typename ... on Refusal { message }'
const sendMutation = `mutation ($input: SendMessageInput!) { sendMessage(input: $input) ${result}
  ... on SendMessageSuccess { run { id status sentBy { id } } } } }`

function inputTo(conversationId: string, more: object = {}) {
  const idempotencyKey = `key of ${conversationId}`
  return { to: { conversationId }, messages: [{ text: 'yes' }], whenBusy: 'ENQUEUE', idempotencyKey, ...more }
}

async function send(input: object, viewer: Viewer = ground.viewer) {
  const { data, errors } = await ground.execute(sendMutation, { input }, viewer)
  return errors.length > 0 ? { code: errors[0]!.code } : data.sendMessage
}

test('[IDM1] keys of different actors are different keys', async () => {
  const input = inputTo(await newConversation())
  const actors = [as('ada'), as('bob'), as('ada', 'KEY')]
  const runs = []
  for (const actor of actors) runs.push((await send(input, actor)).run)
  expect(new Set(runs.map((run) => run.id)).size).toBe(3)
  for (const [index, actor] of actors.entries()) {
    expect((await send(input, actor)).run).toEqual(runs[index])
    expect(await send({ ...input, messages: [{ text: 'no' }] }, actor)).toEqual({ code: 'IDEMPOTENCY_CONFLICT' })
  }
  expect(await send({ ...input, messages: [{ text: 'no' }] }, as('cleo'))).toMatchObject({ run: { status: 'QUEUED' } })
})

test('[IDM1] the approvals of two approvers count, although both use the same key', async () => {
  const tenant = { tenant_id: ground.viewer.tenantId }
  const agent = await make.agent(tenant)
  const conversation = await make.conversation({ ...tenant, agent_id: agent.id })
  const run = await make.run(conversation, { status: 'AWAITING_APPROVAL', stop_reason: 'REQUIRES_APPROVAL' })
  await make.step(run, { index: 0, status: 'PAUSED' })
  const approval = JSON.stringify({ required: 2, excludesSender: false, given: [] })
  const pending = { status: 'PENDING', needs: 'APPROVAL', name: 'pay', arguments: '{}', approval } as const
  const call = await make.call(run, { step_index: 0, ordinal: 0, ...pending })
  const decisions = [{ approve: { toolCallId: encodeId('ToolCall', call.id) } }]
  const input = { runId: encodeId('Run', run.id), decisions, followUp: [{ text: 'and then' }], idempotencyKey: 'k' }
  const submit = `mutation ($input: SubmitApprovalsInput!) { submitApprovals(input: $input) ${result}
    ... on SubmitApprovalsSuccess { run { status } } } }`
  const decide = async (id: string) => (await ground.run(submit, { input }, as(id))).submitApprovals.run?.status
  expect(await decide('ada')).toBe('AWAITING_APPROVAL')
  expect(await decide('ada')).toBe('AWAITING_APPROVAL')
  expect(await decide('bob')).toBe('RUNNING')
  expect(await decide('ada')).toBe('RUNNING')
  const { follow_ups } = await ground.db
    .selectFrom('runs')
    .select('follow_ups')
    .where('id', '=', run.id)
    .executeTakeFirstOrThrow()
  expect(follow_ups).toMatchObject([{ sentBy: { id: 'ada' } }, { sentBy: { id: 'bob' } }])
})

test('[IDM1] keys of different mutations are different keys', async () => {
  const conversationId = await newConversation()
  const input = inputTo(conversationId)
  const { run } = await send(input)
  await end(run.id)
  const again = `mutation ($input: RegenerateInput!) { regenerate(input: $input) ${result}
    ... on RegenerateSuccess { run { id } } } }`
  const { regenerate } = await ground.run(again, { input: { runId: run.id, idempotencyKey: input.idempotencyKey } })
  expect(regenerate.run.id).not.toBe(run.id)
})

/** As if a worker had driven the run. */
async function end(runId: string): Promise<void> {
  await ground.pool.query(
    `with ended as (update runs set status = 'COMPLETED', stop_reason = 'END_TURN', first_position = 1, finished_at = now()
       where id = $1 returning conversation_id)
     update conversations set active_run_id = null where id in (select conversation_id from ended)`,
    [uuidOf(runId)],
  )
}

const uuidOf = (id: string): string => (decodeId(id) as { uuid: string }).uuid

test('[IDM2] inputs are compared with their defaults, JSON by value, null apart from omitted, without `waitMs`', async () => {
  const conversationId = await newConversation()
  const metadata = { b: [1, { d: 1, c: 2 }], a: 'x' }
  const first = inputTo(conversationId, { metadata, whenBusy: undefined, clientTools: undefined })
  const { run } = await send(first)
  const tool = { name: 'look' }
  const withTool = inputTo(await newConversation(), { clientTools: [tool] })
  const { run: runWithTool } = await send(withTool)
  const filledIn = { ...tool, description: '', parameters: { properties: {}, type: 'object' } }
  expect((await send({ ...withTool, clientTools: [filledIn] })).run).toEqual(runWithTool)
  expect(await send({ ...withTool, clientTools: [{ ...tool, description: null }] })).toEqual({
    code: 'IDEMPOTENCY_CONFLICT',
  })
  const same = [
    { waitMs: 1 },
    { whenBusy: 'REJECT', clientTools: [], maxSteps: 50 },
    { messages: [{ text: 'yes', role: 'USER' }] },
    { metadata: { a: 'x', b: [1, { c: 2, d: 1 }] } },
  ]
  for (const more of same) expect((await send({ ...first, ...more })).run).toEqual(run)
  const different = [
    { whenBusy: 'ENQUEUE' },
    { maxSteps: null },
    { responseSchema: null },
    { messages: [{ text: 'yes', clientId: null }] },
    { metadata: { ...metadata, b: [{ d: 1, c: 2 }, 1] } },
    { metadata: undefined },
  ]
  for (const more of different)
    expect(await send({ ...first, ...more }), JSON.stringify(more)).toEqual({ code: 'IDEMPOTENCY_CONFLICT' })
})

test('[IDM3] a request that failed or was refused leaves its key free', async () => {
  const conversationId = await newConversation()
  const { run } = await send(inputTo(conversationId, { idempotencyKey: 'other' }))
  const refused = inputTo(conversationId, { whenBusy: 'REJECT' })
  expect(await send(refused)).toMatchObject({ __typename: 'ConversationBusyRefusal' })
  expect(await send({ ...refused, maxSteps: 0 })).toEqual({ code: 'BAD_USER_INPUT' })
  expect(await send({ ...refused, to: { conversationId: encodeId('Conversation', uuidOf(run.id)) } })).toEqual({
    code: 'NOT_FOUND',
  })
  const accepted = await send(inputTo(conversationId))
  expect(accepted.run.id).not.toBe(run.id)
})

test('[IDM4] if what a request made has been deleted, the same request is NOT_FOUND until the key can be used again', async () => {
  const input = inputTo(await newConversation())
  const { run } = await send(input)
  await end(run.id)
  await ground.run('mutation ($id: ID!) { clearConversation(input: { id: $id }) { __typename } }', {
    id: input.to.conversationId,
  })
  expect(await send(input)).toEqual({ code: 'NOT_FOUND' })
  expect(await send({ ...input, messages: [{ text: 'no' }] })).toEqual({ code: 'IDEMPOTENCY_CONFLICT' })
  await ground.pool.query(`update idempotency_keys set created_at = created_at - interval '24 hours'`)
  expect((await send(input)).run).toMatchObject({ status: 'QUEUED' })
})

test('[IDM5] a request whose key another one takes at the same moment waits for it and answers the same', async () => {
  const input = inputTo(await newConversation(), { idempotencyKey: 'taken' })
  const { run } = await send({ ...input, idempotencyKey: 'first' })
  const other = new pg.Client({ connectionString: ground.url })
  await other.connect()
  await other.query('begin')
  await other.query(
    `insert into idempotency_keys select tenant_id, mutation, 'taken', input_hash, object_id, now(), actor_kind, actor_id
     from idempotency_keys where object_id = $1`,
    [uuidOf(run.id)],
  )
  const waiting = send(input)
  const locks = 'select from pg_locks where not granted'
  await expect.poll(async () => (await ground.pool.query(locks)).rows.length).toBe(1)
  await other.query('commit')
  await other.end()
  expect((await waiting).run).toEqual(run)
})
