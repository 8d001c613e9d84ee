import { once } from 'node:events'
import { readFile } from 'node:fs/promises'
import { createServer, type AddressInfo } from 'node:net'

import { Ajv2020 as Ajv, type ValidateFunction } from 'ajv/dist/2020.js'
import { afterAll, afterEach, beforeAll, expect, test } from 'vitest'

import { deleteExpired } from '../../src/store/expired.ts'
import { startTestApp, type TestApp } from '../support/app.ts'
import { startReceiver, verify, type Receiver } from '../support/webhook-receiver.ts'

let app: TestApp
/** Whether a body is as docs/webhooks.md says. Checked for everything that any test receives. */
let validate: ValidateFunction
/** How far the clock of the server is ahead. */
let ahead = 0
const receivers: Receiver[] = []

beforeAll(async () => {
  const docs = await readFile(new URL('../../docs/webhooks.md', import.meta.url), 'utf8')
  const ajv = new Ajv({ allowUnionTypes: true, strictTypes: false, strictRequired: false, validateFormats: false })
  validate = ajv.compile(JSON.parse(/```json schema\n([^`]*)```/.exec(docs)![1]!))
  expect(validate(JSON.parse(/```json\n([^`]*)```/.exec(docs)![1]!)) || validate.errors).toBe(true)
  app = await startTestApp({
    env: { HOLDPOINT_ALLOW_PRIVATE_NETWORK: '1', HOLDPOINT_PUBLIC_URL: 'https://hold.example/agents/' },
    clock: { now: () => new Date(Date.now() + ahead) },
  })
})
afterEach(async () => {
  for (const { received } of receivers) {
    for (const { event } of received) expect(validate(event) || validate.errors).toBe(true)
  }
  const { webhooks } = await app.data('{ webhooks { nodes { id } } }')
  for (const { id } of webhooks.nodes) await app.data(deleteWebhook, { input: { id } })
  await Promise.all(receivers.splice(0).map((one) => one.close()))
})
afterAll(() => app.stop())

const deleteWebhook = 'mutation ($input: DeleteWebhookInput!) { deleteWebhook(input: $input) { deletedId } }'
const deliveryFields = 'id event status attempts nextAttemptAt responseStatus error payload createdAt deliveredAt'
const webhookFields = `id url events agentIds enabled headerNames lastError createdBy { kind } createdAt`

async function receiver(): Promise<Receiver> {
  const one = await startReceiver()
  receivers.push(one)
  return one
}

const createDocument = `mutation ($input: CreateWebhookInput!) { createWebhook(input: $input) {
  secret webhook { ${webhookFields} } } }`

async function createWebhook(url: string, input: object = {}): Promise<any> {
  const given = {
    url,
    events: ['RUN_ENDED', 'APPROVAL_REQUESTED', 'APPROVAL_DECIDED', 'APPROVAL_EXPIRED', 'CLIENT_CALL_REQUESTED'],
  }
  const { createWebhook: created } = await app.data(createDocument, { input: { ...given, ...input } })
  return { ...created.webhook, secret: created.secret }
}

async function newAgent(input: object = {}): Promise<any> {
  const { createAgent } = await app.data(
    `mutation ($input: CreateAgentInput!) { createAgent(input: $input) { agent { id name mainConversation { id } } } }`,
    { input: { name: 'Clerk', model: 'demo/scripted', ...input } },
  )
  return createAgent.agent
}

async function send(agentId: string, text: string, input: object = {}): Promise<any> {
  const { sendMessage } = await app.data(
    `mutation ($input: SendMessageInput!) { sendMessage(input: $input) { ... on SendMessageSuccess { run { id status
      answer conversation { id } pendingToolCalls { id } } } ... on Refusal { message } } }`,
    { input: { to: { agentId }, messages: [{ text }], waitMs: 20_000, ...input } },
  )
  return sendMessage.run ?? sendMessage
}

const deliveriesOf = async (id: string, status?: string): Promise<any[]> =>
  (
    await app.data(
      `query ($id: ID!, $status: WebhookDeliveryStatus) { webhook(id: $id) { enabled lastError
      deliveries(status: $status) { totalCount nodes { ${deliveryFields} } } } }`,
      { id, status },
    )
  ).webhook.deliveries.nodes

test('[WHK1] the end of a run is told once, signed, with everything about the run', async () => {
  const hook = await receiver()
  const webhook = await createWebhook(hook.url, { headers: { 'x-team': 'blue' } })
  expect(webhook).toMatchObject({
    url: hook.url,
    enabled: true,
    headerNames: ['x-team'],
    agentIds: null,
    lastError: null,
  })
  expect(webhook.secret).toMatch(/^whsec_[A-Za-z0-9+/]+=*$/)
  const agent = await newAgent()
  const run = await send(agent.id, 'say All done, "Ada".', { metadata: { ticket: 7 } })
  const [delivery] = await hook.until(({ length }) => length === 1)
  verify(webhook.secret, delivery!)
  expect(delivery!.headers).toMatchObject({ 'content-type': 'application/json', 'x-team': 'blue' })
  expect(Object.keys(delivery!.event)).toEqual(['type', 'timestamp', 'data'])
  expect(delivery!.event).toMatchObject({
    type: 'RUN_ENDED',
    data: {
      run: {
        ...{ id: run.id, status: 'COMPLETED', stopReason: 'END_TURN', answer: 'All done, "Ada".', error: null },
        ...{ agentId: agent.id, agentName: 'Clerk', conversationId: run.conversation.id, background: false },
        ...{
          metadata: { ticket: 7 },
          usage: { steps: 1, totalTokens: expect.any(Number), costUsd: expect.anything() },
        },
        ...{ createdAt: expect.any(String), finishedAt: expect.any(String) },
        url: `https://hold.example/agents/runs/${run.id}`,
      },
    },
  })
  await expect
    .poll(() => deliveriesOf(webhook.id))
    .toMatchObject([
      {
        id: delivery!.id,
        event: 'RUN_ENDED',
        status: 'DELIVERED',
        attempts: 1,
        nextAttemptAt: null,
        responseStatus: 204,
      },
    ])
  const [stored] = await deliveriesOf(webhook.id)
  expect(JSON.stringify(stored.payload)).toBe(delivery!.body)
  expect(stored.deliveredAt).not.toBeNull()
})

const types = (deliveries: readonly { readonly event: any }[]) => deliveries.map(({ event }) => event.type)

async function newTool(input: object): Promise<string> {
  const { upsertTool } = await app.data(
    'mutation ($input: UpsertToolInput!) { upsertTool(input: $input) { tool { id } } }',
    { input },
  )
  return upsertTool.tool.id
}

async function decide(runId: string, decisions: object[]): Promise<any> {
  const { submitApprovals } = await app.data(
    `mutation ($input: SubmitApprovalsInput!) { submitApprovals(input: $input) { __typename
      ... on SubmitApprovalsSuccess { run { id status } } } }`,
    { input: { runId, decisions, waitMs: 20_000 } },
  )
  return submitApprovals
}

const wire = {
  name: 'wire',
  parameters: { type: 'object', properties: { amount: { type: 'number' } } },
  implementation: { javascript: { source: 'export default ({ amount }) => `paid ${amount}`' } },
  requiresApproval: true,
}

test('[WHK2] calls that wait, decisions and the end of a run are told once each, in order', async () => {
  const hook = await receiver()
  await createWebhook(hook.url)
  const agent = await newAgent({ tools: [{ toolId: await newTool(wire) }] })
  const clientTools = [{ name: 'look', description: 'x', parameters: { type: 'object', properties: {} } }]
  const text = 'say Two payments.\ncall wire {"amount":1}\ncall wire {"amount":2}\ncall look {}'
  const run = await send(agent.id, text, { clientTools })
  expect(run.pendingToolCalls).toHaveLength(3)
  const asked = await hook.until(({ length }) => length === 3)
  expect(types(asked)).toEqual(['APPROVAL_REQUESTED', 'APPROVAL_REQUESTED', 'CLIENT_CALL_REQUESTED'])
  expect(asked[0]!.event.data).toMatchObject({
    run: { id: run.id, status: 'AWAITING_APPROVAL', stopReason: 'REQUIRES_APPROVAL', answer: 'Two payments.' },
    toolCall: {
      ...{ name: 'wire', arguments: { amount: 1 }, needs: 'APPROVAL', approvalsRequired: 1, expiresAt: null },
      id: run.pendingToolCalls[0].id,
    },
  })
  const [one, two, look] = run.pendingToolCalls.map(({ id }: any) => id)
  await decide(run.id, [{ approve: { toolCallId: one, arguments: { amount: 3 } } }])
  await decide(run.id, [
    { deny: { toolCallId: two, reason: 'too much' } },
    { toolReturn: { toolCallId: look, status: 'SUCCESS', output: 'seen' } },
  ])
  const all = await hook.until((received) => types(received).includes('RUN_ENDED'))
  expect(types(all).slice(3)).toEqual(['APPROVAL_DECIDED', 'APPROVAL_DECIDED', 'RUN_ENDED'])
  expect(all[3]!.event.data).toMatchObject({
    toolCall: { id: one, arguments: { amount: 1 } },
    decision: {
      ...{ kind: 'APPROVED', reason: null, editedArguments: { amount: 3 }, decidedBy: { kind: 'OPEN', name: 'open' } },
      decidedAt: expect.any(String),
    },
  })
  expect(all[4]!.event.data).toMatchObject({
    decision: { kind: 'DENIED', reason: 'too much' },
    run: { status: 'RUNNING' },
  })
  expect(new Set(all.map(({ id }) => id)).size).toBe(all.length)
})

test('[WHK2] an expiry is told instead of a decision, and a cancel only as the end', async () => {
  const hook = await receiver()
  await createWebhook(hook.url)
  const agent = await newAgent({ tools: [{ toolId: await newTool({ ...wire, approvalTimeoutMs: 60_000 }) }] })
  const expiring = await send(agent.id, 'call wire {"amount":1}')
  ahead += 61_000
  const all = await hook.until((received) => types(received).includes('RUN_ENDED'))
  expect(types(all)).toEqual(['APPROVAL_REQUESTED', 'APPROVAL_EXPIRED', 'RUN_ENDED'])
  expect(all[1]!.event.data.toolCall.id).toBe(expiring.pendingToolCalls[0].id)
  const run = await send(agent.id, 'call wire {"amount":2}')
  await app.data('mutation ($input: CancelRunInput!) { cancelRun(input: $input) { __typename } }', {
    input: { runId: run.id },
  })
  const later = await hook.until((received) => types(received).filter((type) => type === 'RUN_ENDED').length === 2)
  expect(types(later).slice(3)).toEqual(['APPROVAL_REQUESTED', 'RUN_ENDED'])
  expect(later.at(-1)!.event.data.run).toMatchObject({ status: 'CANCELLED', stopReason: 'CANCELLED' })
})

test('[WHK2] a webhook is told only what it asked for, of the agents that it asked for', async () => {
  const hook = await receiver()
  const [one, other] = [await newAgent(), await newAgent()]
  await createWebhook(hook.url, { events: ['RUN_ENDED'], agentIds: [other.id] })
  await createWebhook(hook.url, { events: ['APPROVAL_REQUESTED'] })
  await send(one.id, 'hi')
  const run = await send(other.id, 'hi')
  await hook.until(({ length }) => length > 0)
  const { rows } = await app.database.pool.query('select count(*)::integer from webhook_deliveries')
  expect(hook.received.map(({ event }) => event.data.run.id)).toEqual([run.id])
  expect(rows[0].count).toBe(1)
})

test('[WHK3] deliveries of a conversation wait for each other, and other conversations and receivers do not', async () => {
  const [slow, fast] = [await receiver(), await receiver()]
  const gate = Promise.withResolvers<number>()
  const [one, other] = [await newAgent(), await newAgent()]
  const arrived: string[] = []
  slow.answer = ({ event }) => {
    arrived.push(event.data.run.answer)
    return event.data.run.agentId === one.id ? gate.promise : 204
  }
  const events = ['RUN_ENDED']
  await createWebhook(slow.url, { events })
  await createWebhook(fast.url, { events })
  for (const text of ['1', '2', '3']) await send(one.id, `say ${text}`)
  await send(other.id, 'say 4')
  await fast.until(({ length }) => length === 4)
  await slow.until(({ length }) => length === 1)
  expect(arrived.toSorted()).toEqual(['1', '4'])
  gate.resolve(204)
  const all = await slow.until(({ length }) => length === 4)
  expect(all.map(({ event }) => event.data.run.answer)).toEqual(['4', '1', '2', '3'])
  expect(
    fast.received.filter(({ event }) => event.data.run.agentId === one.id).map(({ event }) => event.data.run.answer),
  ).toEqual(['1', '2', '3'])
})

const testDocument = `mutation ($input: TestWebhookInput!) { testWebhook(input: $input) { delivery { ${deliveryFields} } } }`

test('[WHK5] a rotated secret signs beside the new one for a day', async () => {
  const hook = await receiver()
  const webhook = await createWebhook(hook.url)
  const rotate = 'mutation ($input: RotateWebhookSecretInput!) { rotateWebhookSecret(input: $input) { secret } }'
  const { secret } = (await app.data(rotate, { input: { id: webhook.id } })).rotateWebhookSecret
  const { testWebhook } = await app.data(testDocument, { input: { id: webhook.id } })
  expect(testWebhook.delivery).toMatchObject({ event: 'PING', status: 'DELIVERED', attempts: 1 })
  expect(testWebhook.delivery.payload).toEqual({ type: 'PING', timestamp: expect.any(String), data: {} })
  verify(secret, hook.received[0]!)
  verify(webhook.secret, hook.received[0]!)
  expect(String(hook.received[0]!.headers['webhook-signature']).split(' ')).toHaveLength(2)
  ahead += 86_400_000
  await app.data(testDocument, { input: { id: webhook.id } })
  expect(String(hook.received[1]!.headers['webhook-signature']).split(' ')).toHaveLength(1)
  const again = await app.data(createDocument, { input: { url: hook.url, events: ['PING'], idempotencyKey: 'k' } })
  const repeated = await app.data(createDocument, { input: { url: hook.url, events: ['PING'], idempotencyKey: 'k' } })
  expect(again.createWebhook.secret).toMatch(/^whsec_/)
  expect(repeated.createWebhook).toEqual({ ...again.createWebhook, secret: null })
})

test('[WHK4] a failed delivery is tried again with the same id and body, and does not hold up later ones', async () => {
  const hook = await receiver()
  const webhook = await createWebhook(hook.url, { events: ['RUN_ENDED'] })
  const agent = await newAgent()
  hook.answer = ({ event }) => (event.data.run.answer === 'first' ? 302 : 204)
  await send(agent.id, 'say first')
  await hook.until(({ length }) => length === 1)
  await send(agent.id, 'say second')
  await hook.until(({ length }) => length === 2)
  await expect
    .poll(async () => (await deliveriesOf(webhook.id)).map(({ status }) => status))
    .toEqual(['DELIVERED', 'PENDING'])
  const [, first] = await deliveriesOf(webhook.id)
  expect(first).toMatchObject({ attempts: 1, responseStatus: 302, error: expect.stringContaining('302') })
  // The waits, each at most a fifth longer.
  let attempts = 1
  for (const wait of [5, 30, 120, 600, 3_600, 14_400, 43_200]) {
    const [, { nextAttemptAt }] = await deliveriesOf(webhook.id)
    const left = (Date.parse(nextAttemptAt) - Date.now() - ahead) / 1_000
    expect(left).toBeGreaterThan(wait - 5)
    expect(left).toBeLessThanOrEqual(wait * 1.2)
    ahead += left * 1_000 + 1_000
    attempts += 1
    await hook.until(({ length }) => length === attempts + 1)
    await expect.poll(async () => (await deliveriesOf(webhook.id))[1].attempts).toBe(attempts)
    await expect.poll(async () => (await deliveriesOf(webhook.id))[1].responseStatus).toBe(302)
    await expect
      .poll(
        async () => Date.parse((await deliveriesOf(webhook.id))[1].nextAttemptAt ?? '9999-01-01') > Date.now() + ahead,
      )
      .toBe(true)
  }
  const [dead] = await deliveriesOf(webhook.id, 'DEAD')
  expect(dead).toMatchObject({ id: first.id, attempts: 8, nextAttemptAt: null, deliveredAt: null })
  const bodies = hook.received.filter(({ id }) => id === first.id)
  expect(bodies).toHaveLength(8)
  expect(new Set(bodies.map(({ body }) => body)).size).toBe(1)

  hook.answer = () => 204
  const resend =
    'mutation ($input: ResendWebhookDeliveryInput!) { resendWebhookDelivery(input: $input) { delivery { id status attempts } } }'
  const again = await app.data(resend, { input: { deliveryId: dead.id } })
  expect(again.resendWebhookDelivery.delivery).toEqual({ id: dead.id, status: 'PENDING', attempts: 0 })
  const refused = await app.request(resend, { input: { deliveryId: dead.id } })
  expect(refused.errors?.[0]?.extensions).toMatchObject({ code: 'BAD_USER_INPUT', field: 'input.deliveryId' })
  await expect.poll(async () => (await deliveriesOf(webhook.id, 'DELIVERED')).length).toBe(2)
  expect(hook.received.at(-1)).toMatchObject({ id: dead.id, body: bodies[0]!.body })
})

test('[WHK4] a receiver that answers 410 disables the webhook, and everything that waits is DEAD', async () => {
  const hook = await receiver()
  const webhook = await createWebhook(hook.url, { events: ['RUN_ENDED'] })
  const agent = await newAgent()
  hook.answer = () => 500
  await send(agent.id, 'say first')
  await expect.poll(async () => (await deliveriesOf(webhook.id))[0]?.responseStatus).toBe(500)
  hook.answer = () => 410
  await send(agent.id, 'say second')
  await expect.poll(async () => (await deliveriesOf(webhook.id, 'DEAD')).length).toBe(2)
  const shown = await app.data('query ($id: ID!) { webhook(id: $id) { enabled lastError } }', { id: webhook.id })
  expect(shown.webhook).toEqual({ enabled: false, lastError: expect.stringContaining('410') })
})

test.each([
  ['never ends', 'content-length: 9\r\n\r\nok', false],
  ['is cut off', 'content-length: 9\r\n\r\nok', true],
  ['is compressed', 'content-encoding: gzip\r\ncontent-length: 2\r\n\r\nok', false],
])('[WHK4] a status of 2xx is a delivery, though the rest of the answer %s', async (_what, rest, isCut) => {
  const server = createServer((socket) => {
    socket.on('error', () => undefined)
    socket.once('data', () => socket.write(`HTTP/1.1 200 OK\r\n${rest}`, () => isCut && socket.destroySoon()))
  })
  await once(server.listen(0, '127.0.0.1'), 'listening')
  const webhook = await createWebhook(`http://127.0.0.1:${(server.address() as AddressInfo).port}/`)
  const { testWebhook } = await app.data(testDocument, { input: { id: webhook.id } })
  expect(testWebhook.delivery).toMatchObject({ status: 'DELIVERED', responseStatus: 200, error: null })
  server.close()
})

test('[WHK4] private addresses are refused, also behind a name that is resolved later', async () => {
  const closed = await startTestApp({ env: { HOLDPOINT_PUBLIC_URL: 'https://hold.example' } })
  const input = { url: 'http://127.0.0.1:1/', events: ['PING'] }
  const refused = await closed.request(createDocument, { input })
  expect(refused.errors?.[0]?.extensions).toMatchObject({ code: 'BAD_USER_INPUT', field: 'input.url' })
  const { createWebhook: created } = await closed.data(createDocument, { input: { ...input, url: 'https://1.1.1.1/' } })
  await closed.database.pool.query("update webhooks set url = 'http://localhost:1/'")
  const { testWebhook } = await closed.data(testDocument, { input: { id: created.webhook.id } })
  expect(testWebhook.delivery).toMatchObject({ status: 'DEAD', responseStatus: null })
  expect(testWebhook.delivery.error).toContain('HOLDPOINT_ALLOW_PRIVATE_NETWORK')
  await closed.stop()
})

test('[WHK6] a disabled webhook stores nothing and keeps what waits; a deleted one is told nothing more', async () => {
  const hook = await receiver()
  const webhook = await createWebhook(hook.url, { events: ['RUN_ENDED'] })
  const agent = await newAgent()
  hook.answer = () => 500
  await send(agent.id, 'say waits')
  await expect.poll(async () => (await deliveriesOf(webhook.id))[0]?.responseStatus).toBe(500)
  const update = 'mutation ($input: UpdateWebhookInput!) { updateWebhook(input: $input) { webhook { enabled } } }'
  await app.data(update, { input: { id: webhook.id, enabled: false } })
  await send(agent.id, 'say never told')
  ahead += 10_000
  hook.answer = () => 204
  const { testWebhook } = await app.data(testDocument, { input: { id: webhook.id } })
  expect(testWebhook.delivery.status).toBe('DELIVERED')
  expect(await deliveriesOf(webhook.id, 'PENDING')).toHaveLength(1)
  await app.data(update, { input: { id: webhook.id, enabled: true } })
  const all = await hook.until(({ length }) => length === 3)
  expect(all.at(-1)!.event.data.run.answer).toBe('waits')

  hook.answer = () => 500
  await send(agent.id, 'say dropped')
  await hook.until(({ length }) => length === 4)
  await app.data(deleteWebhook, { input: { id: webhook.id } })
  const { rows } = await app.database.pool.query(
    'select count(*)::integer from webhook_deliveries where webhook_id in (select id from webhooks)',
  )
  expect(rows[0].count).toBe(0)
})

test('[WHK7] a schedule whose conversation is deleted tells why it makes no run', async () => {
  const hook = await receiver()
  await createWebhook(hook.url, { events: ['SCHEDULE_FAILED'] })
  const agent = await newAgent()
  const { createConversation } = await app.data(
    'mutation ($input: CreateConversationInput!) { createConversation(input: $input) { conversation { id } } }',
    { input: { agentId: agent.id } },
  )
  const conversationId = createConversation.conversation.id
  const { createSchedule } = await app.data(
    'mutation ($input: CreateScheduleInput!) { createSchedule(input: $input) { schedule { id } } }',
    { input: { name: 'daily', agentId: agent.id, conversationId, cron: '0 8 * * *', messages: [{ text: 'go' }] } },
  )
  await app.data('mutation ($input: DeleteConversationInput!) { deleteConversation(input: $input) { deletedId } }', {
    input: { id: conversationId },
  })
  const [delivery] = await hook.until(({ length }) => length === 1)
  expect(delivery!.event.data).toEqual({
    schedule: {
      ...{ id: createSchedule.schedule.id, name: 'daily', agentId: agent.id, conversationId },
      ...{ cron: '0 8 * * *', at: null, timezone: 'UTC' },
    },
    reason: 'The conversation was deleted.',
  })
})

test.each([
  ['url', { url: 'ftp://example.com' }],
  ['url', { url: `https://example.com/${'x'.repeat(2_000)}` }],
  ['events', { events: [] }],
  ['headers', { headers: [] }],
  ['headers.Webhook-Id', { headers: { 'Webhook-Id': 'x' } }],
  ['headers.content-type', { headers: { 'content-type': 'x' } }],
  ['headers.host', { headers: { host: 'x' } }],
  ['headers.content-length', { headers: { 'content-length': 'x' } }],
  ['headers.trailer', { headers: { trailer: 'x' } }],
])('[WHK9] a bad %s is refused with the field', async (field, bad) => {
  const { errors } = await app.request(createDocument, {
    input: { url: 'https://1.1.1.1/', events: ['PING'], ...bad },
  })
  expect(errors?.[0]?.extensions).toMatchObject({ code: 'BAD_USER_INPUT', field: `input.${field}` })
})

test('[WHK10] deliveries that ended go with their conversation, and after their time', async () => {
  const hook = await receiver()
  const webhook = await createWebhook(hook.url, { events: ['RUN_ENDED'] })
  const agent = await newAgent()
  await send(agent.id, 'say kept')
  await send(agent.id, 'say old')
  await expect.poll(async () => (await deliveriesOf(webhook.id, 'DELIVERED')).length).toBe(2)
  const { pool, db } = app.database
  const days = (count: number) => new Date(Date.now() + ahead + count * 86_400_000)
  const expire = (now: Date) => deleteExpired(db, { now, keepRequestsMs: 0, keepDeliveriesMs: 86_400_000 })
  await expire(days(0.5))
  expect(await deliveriesOf(webhook.id)).toHaveLength(2)
  const old = (await deliveriesOf(webhook.id))[0].id.replace('delivery_', '')
  await pool.query("update webhook_deliveries set created_at = created_at - interval '2 days' where id = $1", [old])
  await expire(days(0))
  expect((await deliveriesOf(webhook.id)).map(({ payload }) => payload.data.run.answer)).toEqual(['kept'])
  await app.data('mutation ($input: DeleteAgentInput!) { deleteAgent(input: $input) { deletedId } }', {
    input: { id: agent.id },
  })
  await expect.poll(() => deliveriesOf(webhook.id), { timeout: 15_000 }).toEqual([])
})

test('[WHK11] a budget that stops or pauses a run tells so, before the end', async () => {
  const hook = await receiver()
  await createWebhook(hook.url, { events: ['BUDGET_REACHED', 'RUN_ENDED'] })
  const agent = await newAgent()
  const create = 'mutation ($input: CreateBudgetInput!) { createBudget(input: $input) { budget { id } } }'
  const limits = { agentId: agent.id, period: 'DAY', limitTokens: 0 }
  const { createBudget } = await app.data(create, { input: { ...limits, whenReached: 'ASK' } })
  const run = await send(agent.id, 'say hi')
  const [paused] = await hook.until(({ length }) => length === 1)
  expect(paused!.event).toMatchObject({
    type: 'BUDGET_REACHED',
    data: {
      run: { id: run.id, status: 'AWAITING_APPROVAL', stopReason: 'BUDGET_EXCEEDED' },
      budget: {
        ...{ id: createBudget.budget.id, agentId: agent.id, actorId: null, period: 'DAY' },
        ...{ limitUsd: null, limitTokens: 0, spentUsd: 0, spentTokens: 0 },
      },
    },
  })
  await app.data('mutation ($input: UpdateBudgetInput!) { updateBudget(input: $input) { budget { id } } }', {
    input: { id: createBudget.budget.id, whenReached: 'STOP' },
  })
  await hook.until(({ length }) => length === 2)
  await send(agent.id, 'say ho')
  const all = await hook.until(({ length }) => length === 4)
  expect(types(all)).toEqual(['BUDGET_REACHED', 'RUN_ENDED', 'BUDGET_REACHED', 'RUN_ENDED'])
})
