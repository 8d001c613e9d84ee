import { afterAll, describe, expect, it } from 'vitest'

import type { ApiScope } from '../../src/domain/access/viewer.ts'
import { startTestApp, type TestApp } from '../support/app.ts'
import { createGraphQLClient } from '../support/graphql-client.ts'

const env = { HOLDPOINT_API_KEY: 'hp_configured' }

const one = await startTestApp({ env })
const other = await startTestApp({ env, database: one.database })
const admin = createGraphQLClient(one.url, { authorization: 'Bearer hp_configured' })
afterAll(async () => {
  await other.stop()
  await one.stop()
})

interface MadeKey {
  readonly id: string
  readonly secret: string
}

async function createKey(input: { scopes: ApiScope[]; name?: string; expiresAt?: string }): Promise<MadeKey> {
  const { createApiKey } = await admin.data(
    'mutation ($input: CreateApiKeyInput!) { createApiKey(input: $input) { apiKey { id } secret } }',
    { input: { name: 'test', ...input } },
  )
  return { id: createApiKey.apiKey.id, secret: createApiKey.secret }
}

const revoke = (id: string) =>
  admin.data('mutation ($id: ID!) { revokeApiKey(input: { id: $id }) { apiKey { id revokedAt } } }', { id })
const clientOf = ({ url }: TestApp, { secret }: MadeKey) =>
  createGraphQLClient(url, { authorization: `Bearer ${secret}` })
const who = '{ viewer { actor { kind id name } scopes expiresAt } }'

describe('API keys', () => {
  it('[KEY1] a new key identifies its holder in every process, with its scopes and expiry', async () => {
    const expiresAt = new Date(Date.now() + 3_600_000).toISOString()
    const key = await createKey({ name: 'reader', scopes: ['RUN', 'READ', 'READ'], expiresAt })
    expect(key.secret).toMatch(/^hp_[\w-]{43}$/)
    for (const app of [one, other]) {
      const { viewer } = await clientOf(app, key).data(who)
      expect(viewer).toEqual({
        actor: { kind: 'KEY', id: key.id, name: 'reader' },
        scopes: ['READ', 'RUN'],
        expiresAt,
      })
    }
  })

  it('[KEY1] only a hash of the secret is stored, and the API shows it once', async () => {
    const { secret, id } = await createKey({ scopes: ['READ'] })
    const { rows } = await one.database.pool.query('select k.*, k::text as whole from api_keys k')
    expect(rows.map(({ whole }) => whole).join()).not.toContain(secret)
    const { apiKeys, node } = await admin.data(
      'query ($id: ID!) { apiKeys { id name scopes createdBy { id } lastUsedAt revokedAt expiresAt } node(id: $id) { id } }',
      { id },
    )
    expect(JSON.stringify(apiKeys)).not.toContain(secret)
    expect(apiKeys).toContainEqual(expect.objectContaining({ id, createdBy: { id: 'HOLDPOINT_API_KEY' } }))
    expect(node).toEqual({ id })
  })

  it('[KEY2] the first use of a key is recorded', async () => {
    const key = await createKey({ scopes: ['READ'] })
    const usedAt = async () => {
      const { node } = await admin.data('query ($id: ID!) { node(id: $id) { ... on ApiKey { lastUsedAt } } }', {
        id: key.id,
      })
      return node.lastUsedAt
    }
    expect(await usedAt()).toBeNull()
    await clientOf(one, key).data(who)
    const first = await usedAt()
    expect(first).not.toBeNull()
    await clientOf(other, key).data(who)
    expect(await usedAt()).toBe(first)
  })

  it('[KEY3] a revoked key is refused at once in every process, and its streams end with 4403', async () => {
    const key = await createKey({ scopes: ['READ'] })
    const open = [one, other].map((app) => {
      const socket = clientOf(app, key).webSocket()
      const next = socket.stream('subscription { approvalInbox { __typename } }').next()
      return { socket, next }
    })
    for (const { next } of open) await next
    const first = (await revoke(key.id)).revokeApiKey.apiKey.revokedAt
    for (const app of [one, other]) {
      const { status, errors } = await clientOf(app, key).request(who)
      expect([status, errors![0]!.extensions.code]).toEqual([401, 'UNAUTHENTICATED'])
    }
    for (const { socket } of open) expect((await socket.closed).code).toBe(4403)
    expect((await revoke(key.id)).revokeApiKey.apiKey.revokedAt).toBe(first)
  })

  it('[KEY4] an expired key is refused', async () => {
    const key = await createKey({ scopes: ['READ'], expiresAt: new Date(Date.now() + 60_000).toISOString() })
    await clientOf(one, key).data(who)
    await one.database.pool.query("update api_keys set expires_at = now() - interval '1 second' where name = 'test'")
    expect((await clientOf(one, key).request(who)).status).toBe(401)
  })

  it.each([
    [{ name: ' ', scopes: ['READ'] }, 'input.name'],
    [{ name: 'x', scopes: [] }, 'input.scopes'],
    [{ name: 'x', scopes: ['READ'], expiresAt: '2020-01-01T00:00:00Z' }, 'input.expiresAt'],
  ])('[KEY5] a bad key is refused with the field at fault: %j', async (input, field) => {
    const { errors } = await admin.request(
      'mutation ($input: CreateApiKeyInput!) { createApiKey(input: $input) { secret } }',
      { input },
    )
    expect(errors![0]!.extensions).toEqual({ code: 'BAD_USER_INPUT', field })
  })

  it.each(['Bearer hp_nonsense', 'Bearer nonsense', 'Basic aHA6', ''])(
    '[KEY6] a wrong key is reported at once, over HTTP with 401 and to a WebSocket client with default settings with 4401: %j',
    async (authorization) => {
      const client = createGraphQLClient(one.url)
      const { status } = await client.request(who, {}, { headers: { authorization } })
      expect(status).toBe(401)
      const socket = client.webSocket({ authorization, retryAttempts: 5 })
      await expect(socket.stream('subscription { approvalInbox { __typename } }').next()).rejects.toThrow('4401')
      await socket.dispose()
    },
  )
})
