import { composeServices as composeWithApollo } from '@apollo/composition'
import { composeServices as composeWithGuild } from '@theguild/federation-composition'
import { parse } from 'graphql'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'

import { encodeId } from '../../src/domain/ids.ts'
import { schema } from '../../src/graphql/schema.ts'
import { createSubgraph } from '../../src/graphql/subgraph.ts'
import { startTestApp, type TestApp } from '../support/app.ts'
import { createFixtures } from '../support/fixtures.ts'
import { createGraphQLClient, type GraphQLClient } from '../support/graphql-client.ts'
import { ticketsSdl } from '../../examples/federation/tickets.ts'

let app: TestApp
let api: GraphQLClient
let origin: string

beforeAll(async () => {
  app = await startTestApp({ env: { HOLDPOINT_SUBGRAPH: '1', HOLDPOINT_API_KEY: 'hp_subgraph' } })
  api = createGraphQLClient(app.url, { authorization: 'Bearer hp_subgraph' })
  origin = new URL(app.url).origin
})
afterAll(() => app.stop())

const entitiesQuery = `query ($of: [_Any!]!) {
  _entities(representations: $of) { __typename ... on Agent { id name } ... on Message { id } ... on Step { id } }
}`

async function createAgent(): Promise<{ id: string; mainConversation: { id: string } }> {
  const input = { name: 'Ada', model: 'demo/scripted' }
  const made = await api.data(
    'mutation ($input: CreateAgentInput!) { createAgent(input: $input) { agent { id mainConversation { id } } } }',
    { input },
  )
  return made.createAgent.agent
}

describe('the subgraph', () => {
  it.each([
    ['Apollo', composeWithApollo],
    ['The Guild', composeWithGuild],
  ] as const)('[FED1] composes beside another subgraph with the composition of %s', (_name, compose) => {
    const { sdl } = createSubgraph(schema, { shown: true })
    const result = compose([
      { name: 'holdpoint', url: 'http://localhost:4000/graphql', typeDefs: parse(sdl) },
      { name: 'tickets', url: 'http://localhost:4001/graphql', typeDefs: parse(ticketsSdl) },
    ] as never)
    expect(result.errors ?? []).toEqual([])
    expect(result.supergraphSdl).toContain('tickets: [Ticket!]!')
  })

  it('[FED2] marks every type of a node as an entity, and keeps `node` and `nodes` to itself', async () => {
    const { sdl } = createSubgraph(schema, { shown: true })
    const entities = [...sdl.matchAll(/^type (\w+).* @key\(fields: "id"\)/gm)].map(([, name]) => name)
    const nodes = schema.getPossibleTypes(schema.getType('Node') as never).map(({ name }) => name)
    expect(entities.toSorted()).toEqual(nodes.toSorted())
    expect(sdl).toContain('type PageInfo @shareable')
    expect(sdl).not.toMatch(/^ {2}nodes?\(/m)
    const { _service } = await api.data('{ _service { sdl } }')
    expect(_service.sdl).toBe(sdl)
    expect(await (await fetch(`${origin}/schema.graphql?subgraph=1`)).text()).toBe(sdl)
  })

  it('[FED9] shows its schema without a key, and nothing else', async () => {
    const nobody = createGraphQLClient(app.url)
    const { sdl } = createSubgraph(schema, { shown: true })
    for (const query of [
      '{ _service { sdl } }',
      '{_service{sdl}}',
      'query __ApolloGetServiceDefinition__ { _service { sdl } }',
      'query SubgraphIntrospectQuery {\n  _service {\n    sdl\n  }\n}',
    ])
      expect(await nobody.data(query)).toEqual({ _service: { sdl } })
    for (const query of [
      '{ _service { sdl } viewer { scopes } }',
      '{ agents { nodes { id } } }',
      'mutation { _service { sdl } }',
      '{ _service { sdl } } query B { viewer { scopes } }',
      `{ _service { sdl } } #${' '.repeat(1_000)}`,
    ])
      expect((await nobody.request(query)).errors![0]!.extensions.code).toBe('UNAUTHENTICATED')
    const wrong = createGraphQLClient(app.url, { authorization: 'Bearer hp_wrong' })
    expect((await wrong.request('{ _service { sdl } }')).errors![0]!.extensions.code).toBe('UNAUTHENTICATED')
  })

  it('[FED3] finds entities in the order of their references, and null for what the viewer cannot find', async () => {
    const { id, mainConversation } = await createAgent()
    const sent = await api.data(
      `mutation ($input: SendMessageInput!) { sendMessage(input: $input) { ... on SendMessageSuccess {
        run { steps { id } messages { nodes { __typename id } } } } } }`,
      { input: { to: { agentId: id }, messages: [{ content: [{ text: 'hello' }] }], waitMs: 60_000 } },
    )
    const { steps, messages } = sent.sendMessage.run
    const user = messages.nodes[0]
    const make = createFixtures(app.database.db)
    const tenantId = await make.tenant('another')
    const theirs = encodeId('Agent', (await make.agent({ tenant_id: tenantId })).id)
    const of = [
      { __typename: 'Step', id: steps[0].id },
      { __typename: 'Agent', id },
      { __typename: 'Agent', id: theirs },
      { __typename: 'Agent', id: mainConversation.id },
      { __typename: 'Agent', id: 'agent_x' },
      { __typename: 'UserMessage', id: user.id, other: { key: 1 } },
      { __typename: 'AssistantMessage', id: user.id },
      { __typename: 'Agent', id },
    ]
    const { _entities } = await api.data(entitiesQuery, { of })
    const agent = { __typename: 'Agent', id, name: 'Ada' }
    expect(_entities).toEqual([
      { __typename: 'Step', id: steps[0].id },
      agent,
      null,
      null,
      null,
      { __typename: 'UserMessage', id: user.id },
      null,
      agent,
    ])
  })

  it('[FED4] refuses references that no entity can have', async () => {
    const refused = async (reference: unknown) => {
      const { errors } = await api.request(entitiesQuery, { of: [{ __typename: 'Agent', id: 'agent_x' }, reference] })
      return errors?.[0]?.extensions
    }
    const input = { code: 'BAD_USER_INPUT' }
    const typename = { ...input, field: 'representations.1.__typename' }
    for (const name of ['Actor', 'Message', 'Node', 'Query', 'nothing', '__proto__', 7, undefined])
      expect(await refused({ __typename: name, id: 'x' })).toEqual(typename)
    expect(await refused('agent_x')).toEqual({ ...input, field: 'representations.1' })
    expect(await refused({ __typename: 'Agent' })).toEqual({ ...input, field: 'representations.1.id' })
    const many = (count: number) => ({
      of: Array.from({ length: count }, () => ({ __typename: 'Agent', id: 'agent_x' })),
    })
    const small = 'query ($of: [_Any!]!) { _entities(representations: $of) { __typename } }'
    expect((await api.data(small, many(1_000)))._entities).toHaveLength(1_000)
    expect((await api.request(small, many(1_001))).errors![0]!.extensions).toEqual({
      ...input,
      field: 'representations',
    })
  })

  it('[FED5] counts entities in the cost, and needs the scope READ for them, none for the schema', async () => {
    const query = `query ($of: [_Any!]!) { rateLimit { cost } _entities(representations: $of) { ... on Agent { id name } } }`
    const of = Array.from({ length: 40 }, () => ({ __typename: 'Agent', id: 'agent_x' }))
    expect((await api.data(query, { of })).rateLimit.cost).toBe(2 + 1 + 40 * 2)
    const dear = `query ($of: [_Any!]!) { _entities(representations: $of) { ... on Agent { runs { nodes { id } } } } }`
    const all = Array.from({ length: 1_000 }, () => ({ __typename: 'Agent', id: 'agent_x' }))
    expect((await api.request(dear, { of: all })).errors![0]!.extensions).toMatchObject({
      code: 'OPERATION_TOO_COMPLEX',
      cost: 51_001,
    })
    const { createApiKey } = await api.data(
      'mutation { createApiKey(input: { name: "runner", scopes: [RUN] }) { secret } }',
    )
    const runner = createGraphQLClient(app.url, { authorization: `Bearer ${createApiKey.secret}` })
    expect((await runner.request(entitiesQuery, { of: [] })).errors![0]!.extensions.code).toBe('FORBIDDEN')
    expect((await runner.data('{ _service { sdl } }'))._service.sdl).toContain('@key')
  })
})

describe('a server that is no subgraph', () => {
  it('[FED6] has nothing of federation, and says where its schema would come from', async () => {
    const plain = await startTestApp()
    const { origin: plainOrigin } = new URL(plain.url)
    const query = '{ __schema { types { name } queryType { fields { name } } } }'
    const { __schema } = await plain.data(query)
    const names = [...__schema.types, ...__schema.queryType.fields].map(({ name }) => name)
    expect(names.filter((name) => /^_[^_]/.test(name))).toEqual([])
    const missing = await fetch(`${plainOrigin}/schema.graphql?subgraph=1`)
    expect(missing.status).toBe(404)
    expect(await missing.text()).toContain('HOLDPOINT_SUBGRAPH=1')
    const schemas = [plainOrigin, origin].map(async (of) => (await fetch(`${of}/schema.graphql`)).text())
    const [one, other] = await Promise.all(schemas)
    expect(one).toBe(other)
    expect(one).not.toContain('@key')
    await plain.stop()
  })

  it('[FED6] hides the schema of a subgraph like its own', async () => {
    const env = { HOLDPOINT_SUBGRAPH: '1', HOLDPOINT_INTROSPECTION: '0' }
    const hidden = await startTestApp({ env })
    expect((await fetch(`${new URL(hidden.url).origin}/schema.graphql?subgraph=1`)).status).toBe(404)
    const { errors } = await hidden.request('{ _service { sdl } }')
    expect(errors![0]!.extensions.code).toBe('GRAPHQL_VALIDATION_FAILED')
    await hidden.stop()
    const locked = await startTestApp({ env: { ...env, HOLDPOINT_API_KEY: 'hp_subgraph' } })
    expect((await locked.request('{ _service { sdl } }')).errors![0]!.extensions.code).toBe('UNAUTHENTICATED')
    await locked.stop()
  })
})
