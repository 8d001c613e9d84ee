import { afterAll, beforeAll, expect, test } from 'vitest'

import { startTestApp, type TestApp } from '../support/app.ts'
import { createLog } from '../../src/util/log.ts'
import { createGraphQLClient, type GraphQLClient } from '../support/graphql-client.ts'

let app: TestApp
/** With every scope. */
let admin: GraphQLClient
let ahead = 0
const withToken = (token: string) => createGraphQLClient(app.url, { authorization: `Bearer ${token}` })
const logged: string[] = []

beforeAll(async () => {
  app = await startTestApp({
    env: { HOLDPOINT_PUBLIC_URL: 'https://hold.example/base', HOLDPOINT_API_KEY: 'hp_test_key' },
    clock: { now: () => new Date(Date.now() + ahead) },
    log: createLog('trace', { write: (line) => void logged.push(line) }),
  })
  admin = withToken('hp_test_key')
})
afterAll(() => app.stop())

const createDocument =
  'mutation ($input: CreateDecisionLinkInput!) { createDecisionLink(input: $input) { url expiresAt } }'

async function pendingCall(tool: object = {}, client = admin): Promise<{ runId: string; callId: string }> {
  const { upsertTool } = await admin.data(
    'mutation ($input: UpsertToolInput!) { upsertTool(input: $input) { tool { id } } }',
    {
      input: {
        name: 'wire',
        parameters: { type: 'object', properties: { to: { type: 'string' } } },
        implementation: { javascript: { source: 'export default () => "paid"' } },
        ...{ requiresApproval: true, approvalsRequired: 1, approvalExcludesSender: false, ...tool },
      },
    },
  )
  const { createAgent } = await admin.data(
    'mutation ($input: CreateAgentInput!) { createAgent(input: $input) { agent { id } } }',
    { input: { name: 'Clerk <b>', model: 'demo/scripted', tools: [{ toolId: upsertTool.tool.id }] } },
  )
  const { sendMessage } = await client.data(
    `mutation ($input: SendMessageInput!) { sendMessage(input: $input) {
      ... on SendMessageSuccess { run { id pendingToolCalls { id } } } } }`,
    {
      input: {
        to: { agentId: createAgent.agent.id },
        messages: [{ text: 'call wire {"to":"<script>alert(1)</script>"}' }],
        waitMs: 20_000,
      },
    },
  )
  return { runId: sendMessage.run.id, callId: sendMessage.run.pendingToolCalls[0].id }
}

/** The address of this server instead of the public one. */
const local = (url: string) => url.replace('https://hold.example/base', app.url.replace(/\/graphql$/, ''))

async function linkTo(toolCallId: string, input: object = {}, client = admin): Promise<string> {
  const given = { toolCallId, personId: 'ada', personName: 'Ada', ...input }
  const { createDecisionLink } = await client.data(createDocument, { input: given })
  expect(createDecisionLink.url).toMatch(/^https:\/\/hold\.example\/base\/decide\/[\w.-]+$/)
  return local(createDecisionLink.url)
}

const open = async (url: string) => {
  const response = await fetch(url)
  return { status: response.status, text: await response.text(), headers: response.headers }
}

const post = (url: string, form: Record<string, string>) =>
  fetch(url, { method: 'POST', body: new URLSearchParams(form), redirect: 'manual', headers: { origin: 'null' } })

const decisionOf = async (toolCallId: string): Promise<any> =>
  (
    await admin.data(
      'query ($id: ID!) { node(id: $id) { ... on ToolCall { status decision { kind reason actor { kind id name } } } } }',
      { id: toolCallId },
    )
  ).node

test('[DEC1] a link shows the call, changes nothing when it is opened, and decides once as its person', async () => {
  const { callId } = await pendingCall()
  const url = await linkTo(callId)
  for (let times = 0; times < 3; times += 1) {
    const page = await open(url)
    expect(page.status).toBe(200)
    expect(page.text).toContain('Clerk &lt;b&gt;')
    expect(page.text).toContain('&lt;script&gt;alert(1)&lt;/script&gt;')
    expect(page.text).not.toContain('<script')
    expect(page.headers.get('content-security-policy')).toMatch(
      /default-src 'none'.*form-action 'self'.*style-src 'sha256-/,
    )
    expect(page.headers.get('cache-control')).toBe('no-store')
    expect(page.headers.get('referrer-policy')).toBe('no-referrer')
  }
  await fetch(url, { method: 'HEAD' })
  expect((await decisionOf(callId)).status).toBe('PENDING')
  const posted = await post(url, { decision: 'deny', reason: 'Not <today>' })
  expect(posted.status).toBe(303)
  expect(new URL(posted.headers.get('location')!, url).href).toBe(url)
  const decision = { kind: 'DENIED', reason: 'Not <today>', actor: { kind: 'PERSON', id: 'ada', name: 'Ada' } }
  expect((await decisionOf(callId)).decision).toEqual(decision)
  const page = await open(url)
  expect(page.text).toContain('Denied by Ada (you)')
  expect(page.text).not.toContain('<form')
  expect((await post(url, { decision: 'approve' })).status).toBe(303)
  expect((await decisionOf(callId)).decision).toEqual(decision)
})

test('[DEC1] whoever comes second finds by whom the call was decided', async () => {
  const { callId } = await pendingCall()
  const [ada, grace] = [await linkTo(callId), await linkTo(callId, { personId: 'grace', personName: 'Grace' })]
  const answers = await Promise.all([post(ada, { decision: 'approve' }), post(grace, { decision: 'approve' })])
  expect(answers.map(({ status }) => status)).toEqual([303, 303])
  const { decision } = await decisionOf(callId)
  for (const url of [ada, grace]) expect((await open(url)).text).toContain(`Approved by ${decision.actor.name}`)
})

test('[DEC2] a link ends with its time, its run and the key that made it', async () => {
  const { callId, runId } = await pendingCall()
  const short = await linkTo(callId, { validForMs: 60_000 })
  ahead += 61_000
  expect((await post(short, { decision: 'approve' })).status).toBe(303)
  const expired = await open(short)
  expect([expired.status, expired.text.includes('expired'), expired.text.includes('<form')]).toEqual([200, true, false])

  const { createApiKey } = await admin.data(
    'mutation ($input: CreateApiKeyInput!) { createApiKey(input: $input) { secret apiKey { id } } }',
    { input: { name: 'notifier', scopes: ['READ', 'APPROVE', 'MANAGE'] } },
  )
  const ofKey = await linkTo(callId, {}, withToken(createApiKey.secret))
  expect((await open(ofKey)).text).toContain('<form')
  await admin.data('mutation ($input: RevokeApiKeyInput!) { revokeApiKey(input: $input) { apiKey { id } } }', {
    input: { id: createApiKey.apiKey.id },
  })
  await post(ofKey, { decision: 'approve' })
  const revoked = await open(ofKey)
  expect([revoked.status, revoked.text.includes('revoked'), revoked.text.includes('<form')]).toEqual([200, true, false])

  const url = await linkTo(callId)
  await admin.data('mutation ($input: CancelRunInput!) { cancelRun(input: $input) { __typename } }', {
    input: { runId },
  })
  await post(url, { decision: 'approve' })
  expect((await open(url)).text).toContain('cancelled')
  expect(await decisionOf(callId)).toMatchObject({ status: 'CANCELLED', decision: null })
})

test('[DEC3] a token that was changed is unknown, whatever is asked', async () => {
  const { callId } = await pendingCall()
  const url = await linkTo(callId)
  const [, token] = url.split('/decide/')
  const [claims, signature] = token!.split('.')
  const other = JSON.parse(Buffer.from(claims!, 'base64url').toString())
  other[3] = 'mallory'
  const forged = Buffer.from(JSON.stringify(other)).toString('base64url')
  for (const bad of [
    `${forged}.${signature}`,
    `${claims}.`,
    claims!,
    `${token}.x`,
    `${claims}.${'A'.repeat(43)}`,
    // The same bytes, written otherwise.
    `${token}=`,
    token!.slice(0, -1) + String.fromCodePoint(token!.codePointAt(token!.length - 1)! + 1),
    '',
    'x.y',
    '%00',
  ]) {
    const address = url.replace(token!, bad)
    expect([bad, (await open(address)).status, (await post(address, { decision: 'approve' })).status]).toEqual([
      bad,
      404,
      404,
    ])
  }
  const asToken = await withToken(token!).request('{ viewer { name } }')
  expect(asToken.errors?.[0]?.extensions.code).toBe('UNAUTHENTICATED')
  expect((await decisionOf(callId)).status).toBe('PENDING')
  expect((await post(url, { decision: 'perhaps' })).status).toBe(400)
  expect((await fetch(url, { method: 'PUT' })).status).toBe(405)
  expect(logged.filter((line) => line.includes(claims!) || line.includes(signature!))).toEqual([])
})

test('[DEC4] several people and the exclusion of the sender apply to the people of links', async () => {
  const { createToken } = await admin.data(
    'mutation ($input: CreateTokenInput!) { createToken(input: $input) { token } }',
    { input: { subject: 'ada', name: 'Ada', scopes: ['READ', 'RUN'] } },
  )
  const { callId } = await pendingCall(
    { approvalsRequired: 2, approvalExcludesSender: true },
    withToken(createToken.token),
  )
  const people = ['ada', 'grace', 'alan']
  const [ada, grace, alan] = await Promise.all(people.map((id) => linkTo(callId, { personId: id, personName: id })))
  expect((await open(ada!)).text).not.toContain('value="approve"')
  expect((await post(ada!, { decision: 'approve' })).status).toBe(303)
  await post(grace!, { decision: 'approve' })
  await post(grace!, { decision: 'approve' })
  expect((await decisionOf(callId)).status).toBe('PENDING')
  const page = (await open(grace!)).text
  expect(page).toContain('grace (1 of 2)')
  expect(page).not.toContain('value="approve"')
  await post(alan!, { decision: 'approve' })
  expect((await decisionOf(callId)).decision).toMatchObject({ kind: 'APPROVED', actor: { id: 'alan' } })
})

test('[DEC5] a link needs both scopes, an address of the server and a call that waits for approval', async () => {
  const { callId } = await pendingCall()
  const person = { personId: 'ada', personName: 'Ada' }
  const refusalOf = async (client: GraphQLClient, input: object) =>
    (await client.request(createDocument, { input: { toolCallId: callId, ...person, ...input } })).errors?.[0]
      ?.extensions
  for (const scopes of [
    ['MANAGE', 'READ'],
    ['APPROVE', 'READ'],
  ]) {
    const { createToken } = await admin.data(
      'mutation ($input: CreateTokenInput!) { createToken(input: $input) { token } }',
      { input: { subject: 'x', scopes } },
    )
    expect(await refusalOf(withToken(createToken.token), {})).toMatchObject({ code: 'FORBIDDEN' })
  }
  for (const [field, bad] of [
    ['validForMs', 0],
    ['validForMs', 604_800_001],
    ['personId', ' '],
    ['personName', 'x'.repeat(201)],
  ] as const)
    expect(await refusalOf(admin, { [field]: bad })).toMatchObject({ code: 'BAD_USER_INPUT', field: `input.${field}` })
  expect(await refusalOf(admin, { toolCallId: `call_${'0'.repeat(32)}` })).toMatchObject({ code: 'NOT_FOUND' })
  await post(await linkTo(callId), { decision: 'approve' })
  expect(await refusalOf(admin, {})).toMatchObject({ code: 'BAD_USER_INPUT', field: 'input.toolCallId' })
  const { auditLog } = await admin.data(
    '{ auditLog(first: 1, filter: { actions: ["createDecisionLink"] }) { nodes { subjectId after } } }',
  )
  expect(auditLog.nodes).toEqual([{ subjectId: callId, after: { ...person, expiresAt: expect.any(String) } }])

  const without = await startTestApp({ database: app.database, env: { HOLDPOINT_API_KEY: 'hp_test_key' } })
  const { errors } = await createGraphQLClient(without.url, { authorization: 'Bearer hp_test_key' }).request(
    createDocument,
    { input: { toolCallId: callId, ...person } },
  )
  expect(errors?.[0]).toMatchObject({
    extensions: { code: 'BAD_REQUEST' },
    message: expect.stringContaining('HOLDPOINT_PUBLIC_URL'),
  })
  await without.stop()
})
