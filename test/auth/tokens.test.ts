import { createHmac } from 'node:crypto'

import { afterAll, describe, expect, it } from 'vitest'

import type { ApiScope } from '../../src/domain/access/viewer.ts'
import { startTestApp, type TestApp } from '../support/app.ts'
import { createGraphQLClient, type GraphQLClient } from '../support/graphql-client.ts'

const env = { HOLDPOINT_API_KEY: 'hp_configured' }

const one = await startTestApp({ env })
const other = await startTestApp({ env, database: one.database })
const clientOf = (secret: string, { url }: TestApp = one) =>
  createGraphQLClient(url, { authorization: `Bearer ${secret}` })
const admin = clientOf('hp_configured')
afterAll(async () => {
  await other.stop()
  await one.stop()
})

const create = 'mutation ($input: CreateTokenInput!) { createToken(input: $input) { token expiresAt } }'
const who = '{ viewer { actor { kind id name } tenantId scopes allowedAgentIds allowedConversationIds expiresAt } }'

async function createToken(input: object = {}, by: GraphQLClient = admin): Promise<string> {
  const { createToken: made } = await by.data(create, { input: { subject: 'ada', scopes: ['READ'], ...input } })
  return made.token
}

async function createKey(scopes: ApiScope[], expiresAt: string | null = null): Promise<{ id: string; secret: string }> {
  const { createApiKey } = await admin.data(
    'mutation ($input: CreateApiKeyInput!) { createApiKey(input: $input) { apiKey { id } secret } }',
    { input: { name: 'backend', scopes, expiresAt } },
  )
  return { id: createApiKey.apiKey.id, secret: createApiKey.secret }
}

async function createAgent(): Promise<string> {
  const { createAgent: made } = await admin.data(
    'mutation { createAgent(input: { name: "a", model: "demo/scripted" }) { agent { id } } }',
  )
  return made.agent.id
}

// One of them waits for seconds.
describe.concurrent('createToken', () => {
  it('[TOK1] makes a token that names a person in every process, with scopes, limits and expiry', async () => {
    const agentId = await createAgent()
    const input = { subject: 'ada', name: 'Ada', scopes: ['RUN', 'READ'], allowedAgentIds: [agentId] }
    const { createToken: made } = await admin.data(create, { input })
    const { viewer: adminViewer } = await admin.data('{ viewer { tenantId } }')
    for (const app of [one, other]) {
      expect((await clientOf(made.token, app).data(who)).viewer).toEqual({
        actor: { kind: 'PERSON', id: 'ada', name: 'Ada' },
        tenantId: adminViewer.tenantId,
        scopes: ['READ', 'RUN'],
        allowedAgentIds: [agentId],
        allowedConversationIds: null,
        expiresAt: made.expiresAt,
      })
    }
    const lifetimeMs = Date.parse(made.expiresAt) - Date.now()
    expect(lifetimeMs).toBeGreaterThan(3_590_000)
    expect(lifetimeMs).toBeLessThanOrEqual(3_600_000)
    const { viewer } = await clientOf(await createToken({ allowedConversationIds: [] })).data(who)
    expect(viewer).toMatchObject({ actor: { name: 'ada' }, allowedConversationIds: [] })
  })

  it('[TOK1] the token is not stored, and the secret that signs it is not the one of HTTP tools', async () => {
    const token = await createToken()
    const { rows } = await one.database.pool.query('select signing_secret, token_secret from tenants')
    for (const { signing_secret, token_secret } of rows) expect(signing_secret).not.toBe(token_secret)
    const [head, body] = token.split('.')
    const forged = createHmac('sha256', rows[0].signing_secret).update(`${head}.${body}`).digest('base64url')
    expect((await clientOf(`${head}.${body}.${forged}`).request(who)).status).toBe(401)
  })

  it.each([
    [{ subject: ' ' }, 'input.subject'],
    [{ subject: 'x'.repeat(201) }, 'input.subject'],
    [{ name: '' }, 'input.name'],
    [{ scopes: [] }, 'input.scopes'],
    [{ expiresInSeconds: 0 }, 'input.expiresInSeconds'],
    [{ expiresInSeconds: 86_401 }, 'input.expiresInSeconds'],
    [{ allowedAgentIds: Array.from({ length: 101 }, () => `agent_${'0'.repeat(32)}`) }, 'input.allowedAgentIds'],
  ])('[TOK2] bad input is refused with the field at fault: %j', async (input, field) => {
    const { errors } = await admin.request(create, { input: { subject: 'ada', scopes: ['READ'], ...input } })
    expect(errors![0]!.extensions).toEqual({ code: 'BAD_USER_INPUT', field })
  })

  it.each([{ allowedAgentIds: [`agent_${'0'.repeat(32)}`] }, { allowedConversationIds: ['conv_1'] }])(
    '[TOK2] a limit to something that does not exist is NOT_FOUND: %j',
    async (input) => {
      const { errors } = await admin.request(create, { input: { subject: 'ada', scopes: ['READ'], ...input } })
      expect(errors![0]!.extensions.code).toBe('NOT_FOUND')
    },
  )

  it('[TOK3] grants no more scopes, reach or time than its creator has', async () => {
    const expiresAt = new Date(Date.now() + 60_000).toISOString()
    const manager = clientOf((await createKey(['MANAGE', 'READ'], expiresAt)).secret)
    const { errors } = await manager.request(create, { input: { subject: 'ada', scopes: ['APPROVE'] } })
    expect(errors![0]!.extensions.code).toBe('FORBIDDEN')
    expect((await clientOf(await createToken({}, manager)).data(who)).viewer.expiresAt <= expiresAt).toBe(true)

    const [mine, theirs] = [await createAgent(), await createAgent()]
    const limited = clientOf(await createToken({ scopes: ['MANAGE', 'READ'], allowedAgentIds: [mine] }))
    expect((await clientOf(await createToken({}, limited)).data(who)).viewer.allowedAgentIds).toEqual([mine])
    const wider = await limited.request(create, {
      input: { subject: 'ada', scopes: ['READ'], allowedAgentIds: [theirs] },
    })
    expect(wider.errors![0]!.extensions.code).toBe('NOT_FOUND')
    const reader = clientOf(await createToken())
    expect((await reader.request(create, { input: { subject: 'x', scopes: ['READ'] } })).errors![0]).toMatchObject({
      extensions: { code: 'FORBIDDEN' },
    })
  })

  it('[TOK4] a token ends with the key that created it, also on sockets and in other processes', async () => {
    const key = await createKey(['MANAGE', 'READ'])
    const token = await createToken({}, clientOf(key.secret))
    const nested = await createToken(
      {},
      clientOf(await createToken({ scopes: ['MANAGE', 'READ'] }, clientOf(key.secret))),
    )
    const open = [token, nested].map((secret) => {
      const socket = clientOf(secret, other).webSocket()
      return { socket, next: socket.stream('subscription { approvalInbox { __typename } }').next() }
    })
    for (const { next } of open) await next
    await admin.data('mutation ($id: ID!) { revokeApiKey(input: { id: $id }) { apiKey { id } } }', { id: key.id })
    for (const { socket } of open) expect((await socket.closed).code).toBe(4403)
    for (const secret of [token, nested]) expect((await clientOf(secret, other).request(who)).status).toBe(401)
  })

  it('[TOK4] a token of HOLDPOINT_API_KEY is not valid on a server with another one', async () => {
    const token = await createToken()
    const changed = await startTestApp({ env: { HOLDPOINT_API_KEY: 'hp_changed' }, database: one.database })
    expect((await clientOf(token, changed).request(who)).status).toBe(401)
    expect((await clientOf(token).request(who)).status).toBe(200)
    await changed.stop()
  })
})

describe.concurrent('a token that expires', () => {
  it('[TOK5] ends its sockets with 4403 and its event streams, and is refused from then on', async () => {
    const client = clientOf(await createToken({ expiresInSeconds: 5 }))
    const socket = client.webSocket()
    await socket.stream('subscription { approvalInbox { __typename } }').next()
    const events = await client.events('subscription { approvalInbox { __typename } }')
    await events.next()
    expect(await socket.closed).toEqual(expect.objectContaining({ code: 4403, reason: 'The token has expired.' }))
    await expect(events.next()).rejects.toThrow()
    expect((await client.request(who)).status).toBe(401)
    const late = client.webSocket({ retryAttempts: 5 })
    await expect(late.stream('subscription { approvalInbox { __typename } }').next()).rejects.toThrow('4401')
    await late.dispose()
  })

  it('[KEY61] a request that waits ends with UNAUTHENTICATED within 2 s of its key or token, in every process', async ({
    expect,
  }) => {
    const scopes: ApiScope[] = ['MANAGE', 'RUN', 'READ']
    const key = await createKey(scopes)
    const ofKey = await createToken({ scopes }, clientOf(key.secret))
    const expiring = await createToken({ scopes, expiresInSeconds: 4 })
    const [first, second] = [await createAgent(), await createAgent()]
    const send = `mutation ($agent: ID!) { sendMessage(input: { to: { agentId: $agent },
      messages: [{ text: "slow 30000\\nsay late" }], waitMs: 30000 }) { __typename } }`
    const sent = [
      clientOf(key.secret).request(send, { agent: first }),
      clientOf(expiring, other).request(send, { agent: second }),
    ]
    const activeRun = async (agent: string): Promise<string | undefined> => {
      const { agent: found } = await admin.data(
        'query ($agent: ID!) { agent(id: $agent) { mainConversation { activeRun { id } } } }',
        { agent },
      )
      return found.mainConversation.activeRun?.id
    }
    await expect.poll(() => activeRun(first)).toBeDefined()
    await expect.poll(() => activeRun(second)).toBeDefined()
    const wait = 'query ($id: ID!) { run(id: $id, waitMs: 30000) { status } }'
    const waiting = clientOf(ofKey, other).request(wait, { id: await activeRun(first) })
    // By then it waits.
    await clientOf(ofKey, other).data(who)
    await admin.data('mutation ($id: ID!) { revokeApiKey(input: { id: $id }) { apiKey { id } } }', { id: key.id })
    const revokedAt = Date.now()
    for (const { status, errors } of await Promise.all([sent[0]!, waiting])) {
      expect([status, errors![0]!.extensions.code]).toEqual([401, 'UNAUTHENTICATED'])
    }
    expect(Date.now() - revokedAt).toBeLessThan(2_000)
    expect(await sent[1]).toMatchObject({ status: 401, errors: [{ extensions: { code: 'UNAUTHENTICATED' } }] })
    // What was asked for is done all the same.
    for (const agent of [first, second]) {
      expect(await activeRun(agent)).toBeDefined()
      await admin.data('mutation ($agent: ID!) { cancelRun(input: { agentId: $agent }) { __typename } }', { agent })
    }
  })

  it('[TOK7] a token or key may be sent in the upgrade request; connection_init comes first', async () => {
    const authorization = `Bearer ${await createToken({ subject: 'grace' })}`
    const anonymous = createGraphQLClient(one.url)
    const byUpgrade = anonymous.webSocket({ headers: { authorization } })
    expect((await byUpgrade.request(who)).data.viewer.actor.id).toBe('grace')
    const both = anonymous.webSocket({ headers: { authorization }, authorization: 'Bearer hp_configured' })
    expect((await both.request(who)).data.viewer.actor.id).toBe('HOLDPOINT_API_KEY')
    await Promise.all([byUpgrade.dispose(), both.dispose()])
  })
})
