import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'

import { exportJWK, exportSPKI, generateKeyPair, SignJWT, type CryptoKey } from 'jose'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'

import { ensureTenant } from '../../src/store/access/tenants.ts'
import { systemClock } from '../../src/util/clock.ts'
import { createIdSource } from '../../src/util/ids.ts'
import { startTestApp, type TestApp } from '../support/app.ts'
import { createGraphQLClient, type GraphQLAnswer } from '../support/graphql-client.ts'

const secret = 'a secret of at least thirty-two bytes'.replaceAll(' ', '-')
const bytes = new TextEncoder().encode(secret)
const who =
  '{ viewer { actor { kind id name } scopes allowedAgentIds allowedConversationIds expiresAt } agents { totalCount } }'
const agentId = `agent_${'a'.repeat(32)}`

interface Signed {
  readonly algorithm?: string
  readonly key?: Uint8Array | CryptoKey
  readonly kid?: string
  readonly expires?: string | number | null
}

async function sign(
  claims: Record<string, unknown>,
  { algorithm = 'HS256', key = bytes, kid, expires = '1h' }: Signed = {},
) {
  const token = new SignJWT({ sub: 'ada', scopes: ['READ'], ...claims })
  token.setProtectedHeader({ alg: algorithm, ...(kid && { kid }) })
  if (expires !== null) token.setExpirationTime(expires)
  return token.sign(key)
}

const ask = (app: TestApp, token: string): Promise<GraphQLAnswer> =>
  createGraphQLClient(app.url, { authorization: `Bearer ${token}` }).request(who)

describe('tokens that are signed with HOLDPOINT_JWT_SECRET', () => {
  let app: TestApp
  beforeAll(async () => {
    const env = {
      HOLDPOINT_JWT_SECRET: secret,
      HOLDPOINT_JWT_ISSUER: 'https://id.example',
      HOLDPOINT_JWT_AUDIENCE: 'us',
    }
    app = await startTestApp({ env })
  })
  afterAll(() => app.stop())
  const expected = { iss: 'https://id.example', aud: ['us', 'others'] }

  it('[JWT1] name a person with scopes, limits and expiry', async () => {
    const expires = Math.floor(Date.now() / 1000) + 600
    const claims = { ...expected, name: 'Ada', scopes: ['READ', 'RUN'], agents: [agentId], conversations: [] }
    const { data } = await ask(app, await sign(claims, { expires }))
    expect(data.viewer).toEqual({
      actor: { kind: 'PERSON', id: 'ada', name: 'Ada' },
      scopes: ['READ', 'RUN'],
      allowedAgentIds: [agentId],
      allowedConversationIds: [],
      expiresAt: new Date(expires * 1000).toISOString(),
    })
    const oauth = await ask(app, await sign({ ...expected, scopes: undefined, scope: 'openid read' }))
    expect(oauth.data.viewer).toMatchObject({ actor: { name: 'ada' }, scopes: ['READ'], allowedAgentIds: null })
  })

  it('[JWT1] without a scope nothing but `viewer` is allowed', async () => {
    const { errors } = await ask(app, await sign({ ...expected, scopes: [] }))
    expect(errors![0]!.extensions.code).toBe('FORBIDDEN')
  })

  it('[JWT2] a server that accepts such tokens is not open, even without any key', async () => {
    const { status } = await createGraphQLClient(app.url).request(who)
    expect(status).toBe(401)
  })

  type Refused = [what: string, claims: Record<string, unknown>, signed: Signed, message: string]

  it.each<Refused>([
    ['has expired', expected, { expires: Math.floor(Date.now() / 1000) - 1 }, 'The token has expired.'],
    ['has no expiry', expected, { expires: null }, "The token's claim `exp` is missing."],
    ['is not valid yet', { ...expected, nbf: 4_000_000_000 }, {}, "The token's claim `nbf` is not accepted."],
    [
      'has another issuer',
      { ...expected, iss: 'https://evil.example' },
      {},
      "The token's claim `iss` is not accepted.",
    ],
    ['has no issuer', { aud: 'us' }, {}, "The token's claim `iss` is missing."],
    ['has another audience', { ...expected, aud: 'them' }, {}, "The token's claim `aud` is not accepted."],
    ...[1e14, 253_402_300_800].map((expires): Refused => [
      `expires at ${expires}`,
      expected,
      { expires },
      "The token's claim `exp` must be a time before the year 10000",
    ]),
    ...[[{}], [{ toString: 1 }], [['READ']], [1], { length: 1 }, 7].map((scopes): Refused => [
      `has the scopes ${JSON.stringify(scopes)}`,
      { ...expected, scopes },
      {},
      "The token's claim `scopes` must be a list of texts.",
    ]),
    ...['a\0da', '\ud800', ' '].flatMap((text) =>
      ['sub', 'name', 'tenant'].map((claim): Refused => [
        `has ${JSON.stringify(text)} as ${claim}`,
        { ...expected, [claim]: text },
        {},
        `The token's claim \`${claim}\` must be a text`,
      ]),
    ),
    ['has a limit to something odd', { ...expected, agents: [{ toString: 1 }] }, {}, "The token's claim `agents` must"],
    ['has no subject', { ...expected, sub: undefined }, {}, 'The token has no subject'],
    [
      'has a name that is too long',
      { ...expected, name: 'x'.repeat(201) },
      {},
      'must be a text of 1 to 200 characters',
    ],
    ['has a subject that is not text', { ...expected, sub: 7 }, {}, "The token's claim `sub` must be"],
    ['is signed with another secret', expected, { key: new Uint8Array(32) }, 'The token is not valid.'],
    ['names a tenant that does not exist', { ...expected, tenant: 'nowhere' }, {}, 'There is no tenant "nowhere"'],
    [
      'has a limit that is not a list',
      { ...expected, agents: agentId },
      {},
      "The token's claim `agents` must be a list",
    ],
    ['has a limit of another kind', { ...expected, conversations: [agentId] }, {}, "The token's claim `conversations`"],
    ['has a limit under the name of the API', { ...expected, allowedAgentIds: 1 }, {}, "The token's claim `agents`"],
  ])('[JWT3] a token that %s is refused with 401 and a reason', async (_what, claims, signed, message) => {
    const { status, errors } = await ask(app, await sign(claims, signed))
    expect([status, errors![0]!.extensions.code]).toEqual([401, 'UNAUTHENTICATED'])
    expect(errors![0]!.message).toContain(message)
  })

  it.each(['e30.e30.', 'eyJhbGciOiJub25lIn0.eyJzdWIiOiJhZGEiLCJleHAiOjQwMDAwMDAwMDB9.', 'x.y.z'])(
    '[JWT3] a token without a signature is refused: %s',
    async (token) => {
      expect((await ask(app, token)).status).toBe(401)
    },
  )

  it('[JWT7] two subjects that differ are two people, whatever the difference', async () => {
    const people = await Promise.all(
      [' ada', 'ada', 'ada\n'].map(async (sub) => ask(app, await sign({ ...expected, sub }))),
    )
    expect(people.map(({ data }) => data.viewer.actor.id)).toEqual([' ada', 'ada', 'ada\n'])
  })

  it('[JWT4] the claim `tenant` names the tenant', async () => {
    const ids = createIdSource(systemClock)
    const tenantId = await ensureTenant(app.database.db, 'acme', { clock: systemClock, ids })
    const client = createGraphQLClient(app.url, {
      authorization: `Bearer ${await sign({ ...expected, tenant: 'acme' })}`,
    })
    expect((await client.data('{ viewer { tenantId } }')).viewer.tenantId).toBe(
      `tenant_${tenantId.replaceAll('-', '')}`,
    )
  })
})

describe('tokens that are signed with a key pair', () => {
  let keys: Server
  let published: object[]
  const apps: TestApp[] = []

  beforeAll(async () => {
    keys = createServer((_request, response) => {
      response.setHeader('content-type', 'application/json').end(JSON.stringify({ keys: published }))
    })
    await new Promise<void>((resolve) => keys.listen(0, '127.0.0.1', resolve))
  })
  afterAll(async () => {
    for (const app of apps) await app.stop()
    await new Promise((resolve) => keys.close(resolve))
  })

  async function start(env: Record<string, string>): Promise<TestApp> {
    const app = await startTestApp({ env })
    apps.push(app)
    return app
  }
  const jwksUrl = () => `http://127.0.0.1:${(keys.address() as AddressInfo).port}/jwks`

  it.each(['RS256', 'ES256', 'EdDSA'])('[JWT5] are verified with HOLDPOINT_JWT_PUBLIC_KEY: %s', async (algorithm) => {
    const { privateKey, publicKey } = await generateKeyPair(algorithm, { extractable: true })
    const pem = await exportSPKI(publicKey)
    const app = await start({ HOLDPOINT_JWT_PUBLIC_KEY: pem.replaceAll('\n', '\\n') })
    expect((await ask(app, await sign({}, { algorithm, key: privateKey }))).data.viewer.actor.id).toBe('ada')
    // The public key is not secret. If it were used as a shared secret, anyone could sign.
    const forged = await sign({}, { key: new TextEncoder().encode(pem) })
    expect((await ask(app, forged)).status).toBe(401)
    // Of the same kind, and of another.
    for (const other of [algorithm, algorithm === 'RS256' ? 'ES256' : 'RS256']) {
      const { privateKey: strange } = await generateKeyPair(other)
      expect((await ask(app, await sign({}, { algorithm: other, key: strange }))).status, other).toBe(401)
    }
  })

  it('[JWT5] are verified with the keys at HOLDPOINT_JWKS_URL, whichever of them signed', async () => {
    const pairs = await Promise.all(['ES256', 'RS256'].map((alg) => generateKeyPair(alg, { extractable: true })))
    published = await Promise.all(
      pairs.map(async ({ publicKey }, index) => ({ ...(await exportJWK(publicKey)), kid: `key-${index}` })),
    )
    const app = await start({ HOLDPOINT_JWKS_URL: jwksUrl() })
    for (const [index, algorithm] of ['ES256', 'RS256'].entries()) {
      const token = await sign({}, { algorithm, key: pairs[index]!.privateKey, kid: `key-${index}` })
      expect((await ask(app, token)).data.viewer.actor.id).toBe('ada')
    }
    const { privateKey } = await generateKeyPair('ES256')
    expect((await ask(app, await sign({}, { algorithm: 'ES256', key: privateKey, kid: 'key-0' }))).status).toBe(401)
    expect((await ask(app, await sign({}, { algorithm: 'ES256', key: privateKey, kid: 'other' }))).status).toBe(401)
  })

  it('[JWT6] while the keys cannot be fetched, tokens get UNAVAILABLE, and own tokens and keys work', async () => {
    const { privateKey } = await generateKeyPair('ES256')
    const app = await start({ HOLDPOINT_JWKS_URL: 'http://127.0.0.1:9/jwks', HOLDPOINT_API_KEY: 'hp_admin' })
    const { status, errors } = await ask(app, await sign({}, { algorithm: 'ES256', key: privateKey }))
    expect([status, errors![0]!.extensions.code]).toEqual([503, 'UNAVAILABLE'])
    // Otherwise its sockets would stay open.
    const expired = await sign({}, { algorithm: 'ES256', key: privateKey, expires: Math.floor(Date.now() / 1000) - 1 })
    expect((await ask(app, expired)).status).toBe(401)
    const admin = createGraphQLClient(app.url, { authorization: 'Bearer hp_admin' })
    const { createToken } = await admin.data(
      'mutation { createToken(input: { subject: "ada", scopes: [READ] }) { token } }',
    )
    expect((await ask(app, createToken.token)).data.viewer.actor.id).toBe('ada')
  })
})
