import { GraphQLObjectType, GraphQLSchema, GraphQLString } from 'graphql'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'

import { operationAccess } from '../../src/auth/scopes.ts'
import { apiScopes, type ApiScope } from '../../src/domain/access/viewer.ts'
import { requireScopes } from '../../src/graphql/access/require-scopes.ts'
import { schema } from '../../src/graphql/schema.ts'
import { transportNames, transports } from '../server/transports.ts'
import { startTestApp, type TestApp } from '../support/app.ts'
import { createGraphQLClient, type GraphQLClient } from '../support/graphql-client.ts'

const roots = [schema.getQueryType()!, schema.getMutationType()!, schema.getSubscriptionType()!]
const operations = roots.flatMap((root) =>
  Object.values(root.getFields()).map((field) => ({ root: root.name, name: field.name, field })),
)

describe('the table of scopes', () => {
  it('[SCP1] has an entry for every operation and for no others', () => {
    const entries = Object.entries(operationAccess).flatMap(([root, fields]) =>
      Object.keys(fields).map((name) => `${root}.${name}`),
    )
    expect(entries.toSorted()).toEqual(operations.map(({ root, name }) => `${root}.${name}`).toSorted())
  })

  it('[SCP1] a schema with an operation that has no entry is not built', () => {
    const query = new GraphQLObjectType({ name: 'Query', fields: { forgotten: { type: GraphQLString } } })
    expect(() => requireScopes(new GraphQLSchema({ query }))).toThrow('Query.forgotten has no scope')
  })

  it.each(operations)('[SCP1] $root.$name is FORBIDDEN without its scope', async ({ root, name, field }) => {
    const allowed = operationAccess[root]![name]!.scopes
    if (allowed.length === 0) return expect(['rateLimit', 'viewer']).toContain(name)
    const scopes = apiScopes.filter((scope) => !allowed.includes(scope))
    const resolve = field.subscribe ?? field.resolve!
    const call = async () => resolve({}, {}, { viewer: { scopes } }, {} as never)
    await expect(call()).rejects.toMatchObject({ code: 'FORBIDDEN' })
  })
})

describe('keys with few scopes', () => {
  let app: TestApp
  let admin: GraphQLClient
  let agentId: string
  beforeAll(async () => {
    app = await startTestApp({ env: { HOLDPOINT_API_KEY: 'hp_configured' } })
    admin = createGraphQLClient(app.url, { authorization: 'Bearer hp_configured' })
    const { createAgent } = await admin.data(
      'mutation { createAgent(input: { name: "a", model: "demo/scripted" }) { agent { id } } }',
    )
    agentId = createAgent.agent.id
  })
  afterAll(() => app.stop())

  async function keyWith(...scopes: ApiScope[]): Promise<GraphQLClient> {
    const { createApiKey } = await admin.data(
      'mutation ($scopes: [ApiScope!]!) { createApiKey(input: { name: "k", scopes: $scopes }) { secret } }',
      { scopes },
    )
    return createGraphQLClient(app.url, { authorization: `Bearer ${createApiKey.secret}` })
  }

  const codes = ({ errors }: { errors?: readonly { extensions: { code: string } }[] }) =>
    (errors ?? []).map(({ extensions }) => extensions.code)

  it.each(transportNames)('[SCP3] are refused over %s, and the error names the scopes', async (transport) => {
    const ask = transports[transport]
    const runner = await keyWith('RUN')
    const answer = await ask(runner, { query: '{ agents { totalCount } }' })
    expect(codes(answer)).toEqual(['FORBIDDEN'])
    expect(answer.errors![0]!.message).toContain('needs the scope READ. This key has RUN.')
    if (transport === 'HTTP') return
    expect(codes(await ask(runner, { query: 'subscription { approvalInbox { __typename } }' }))).toEqual(['FORBIDDEN'])
  })

  it('[SCP2] see what their own mutation changed, and need READ for links to other objects', async () => {
    const send = (more: string) =>
      `mutation ($id: ID!) { sendMessage(input: { to: { agentId: $id }, messages: [{ text: "say hi" }], whenBusy: ENQUEUE, waitMs: 10000 }) {
        ... on SendMessageSuccess { run { id status answer pendingToolCalls { id } ${more} } } } }`
    const runner = await keyWith('RUN')
    const sent = await runner.data(send(''), { id: agentId })
    expect(sent.sendMessage.run).toMatchObject({ status: 'COMPLETED', pendingToolCalls: [] })
    for (const more of ['agent { name }', 'conversation { id }', 'messages { nodes { id } }']) {
      expect(codes(await runner.request(send(more), { id: agentId }))).toEqual(['FORBIDDEN'])
    }
    const both = await keyWith('RUN', 'READ')
    expect((await both.data(send('agent { name }'), { id: agentId })).sendMessage.run.agent).toEqual({ name: 'a' })
  })

  it('[SCP2] cannot read keys by `node` without MANAGE', async () => {
    const { apiKeys } = await admin.data('{ apiKeys { id } }')
    const reader = await keyWith('READ')
    const query = 'query ($id: ID!) { node(id: $id) { ... on ApiKey { name } } }'
    expect(codes(await reader.request(query, { id: apiKeys[0].id }))).toEqual(['FORBIDDEN'])
    expect((await reader.data('{ viewer { scopes } }')).viewer.scopes).toEqual(['READ'])
  })
})
