import { parse, subscribe, type ExecutionResult } from 'graphql'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'

import { breadthOf } from '../../src/auth/scopes.ts'
import { decodeId } from '../../src/domain/ids.ts'
import type { Viewer } from '../../src/domain/access/viewer.ts'
import { createLoaders } from '../../src/graphql/loaders.ts'
import { schema } from '../../src/graphql/schema.ts'
import { transportNames, transports } from '../server/transports.ts'
import { startTestApp, type TestApp } from '../support/app.ts'
import { createGround, type Ground } from '../support/execute.ts'
import { createGraphQLClient, type GraphQLClient } from '../support/graphql-client.ts'
import { createAgent, createCustomer, fingerprint, type Customer } from './customers.ts'
import { askAll, callOf, inputsWith, nodeTypes, showNode, walk, type Ask, type Walk } from './walk.ts'

let ground: Ground
let app: TestApp
let admin: GraphQLClient
let everything: Walk
let ada: Customer
let grace: Customer
let otherAgent: Customer

const uuid = (id: string) => (decodeId(id) as { uuid: string }).uuid

beforeAll(async () => {
  ground = await createGround()
  app = await startTestApp({ database: ground, env: { HOLDPOINT_API_KEY: 'hp_admin' } })
  admin = createGraphQLClient(app.url, { authorization: 'Bearer hp_admin' })
  const agentId = await createAgent(admin, 'shop')
  ada = await createCustomer(admin, agentId, 'ada-mark')
  grace = await createCustomer(admin, agentId, 'grace-mark')
  otherAgent = await createCustomer(admin, await createAgent(admin, 'bank'), 'bank-mark')
  await admin.data('mutation { createApiKey(input: { name: "key-mark", scopes: [READ] }) { secret } }')
  everything = await walk(asking(ground.viewer))
})
afterAll(async () => {
  await app.stop()
  await ground.close()
})

/** Every scope, so that only the limit matters. */
const limitedTo = (limits: Partial<Viewer>): Viewer => ({ ...ground.viewer, ...limits })
const asking =
  (viewer: Viewer): Ask =>
  (document, variables) =>
    ground.execute(document, variables, viewer)
const ofConversation = () => limitedTo({ allowedConversationIds: [uuid(ada.conversationId)] })
const ofAgent = () => limitedTo({ allowedAgentIds: [uuid(ada.agentId)] })

const marks = ['ada-mark', 'grace-mark', 'shop-agent-mark', 'bank-mark', 'bank-agent-mark', 'key-mark']
const limits = [
  ['a conversation', ofConversation, ['ada-mark']],
  ['an agent', ofAgent, ['ada-mark', 'grace-mark', 'shop-agent-mark']],
] as const

test('[REA1] the walk reaches every kind of object', () => {
  const reached = [...everything.ids.keys()]
  const unreached = nodeTypes.map(({ name }) => name).filter((name) => !reached.includes(name))
  expect(unreached.filter((name) => !name.endsWith('Message')).toSorted()).toEqual([
    'File',
    'McpServer',
    'WebhookDelivery',
  ])
  for (const mark of marks) expect(everything.text).toContain(mark)
})

test('[REA2] a file is within reach if its conversation is', async () => {
  const fileOf = async ({ runIds }: Customer) => {
    const document = 'query ($id: ID!) { run(id: $id) { input { content { file { id } } } } }'
    return (await ground.run(document, { id: runIds[0] })).run.input[0].content[1].file.id
  }
  const ids = [await fileOf(ada), await fileOf(grace)]
  const { nodes } = await ground.run('query ($ids: [ID!]!) { nodes(ids: $ids) { id } }', { ids }, ofConversation())
  expect(nodes).toEqual([{ id: ids[0] }, null])
})

describe.each(limits)('a viewer who is limited to %s', (_what, viewerOf, allowedMarks) => {
  let seen: Walk
  beforeAll(async () => {
    seen = await walk(asking(viewerOf()))
  })

  test('[REA1] finds by lists, links and counts nothing that is out of reach', async () => {
    for (const mark of marks) expect(seen.text.includes(mark), mark).toBe(allowedMarks.includes(mark as never))
    expect(seen.text).not.toContain('INTERNAL_SERVER_ERROR')
    const inside = new Set([...seen.ids.values()].flatMap((ids) => [...ids]))
    const named = new Set([...seen.text.matchAll(/"([a-z]+_[0-9a-f]{32}(?:_\d+)?)"/g)].map(([, id]) => id!))
    const known = [...everything.ids.values()].flatMap((ids) => [...ids])
    for (const id of known) expect(named.has(id) && !inside.has(id), `${id} is named but not found`).toBe(false)
  })

  test('[REA2] gets null for every id that is out of reach', async () => {
    let outside = 0
    for (const [type, ids] of everything.ids) {
      for (const id of ids) {
        if (seen.ids.get(type)?.has(id)) continue
        outside += 1
        expect(await showNode(asking(viewerOf()), id), `${type} ${id}`).toBeNull()
      }
    }
    expect(outside).toBeGreaterThan(20)
  })

  test('[REA3] changes nothing that is out of reach, by any mutation', async () => {
    const viewer = viewerOf()
    const before = await fingerprint(ground)
    for (const field of Object.values(schema.getMutationType()!.getFields())) {
      const breadth = breadthOf(`Mutation.${field.name}`)
      const isBroader = breadth === 'tenant' || (breadth === 'agent' && viewer.allowedConversationIds !== null)
      const inputs = [...everything.ids].flatMap(([type, ids]) => {
        const id = [...ids].find((one) => !seen.ids.get(type)?.has(one))
        return id === undefined ? [] : inputsWith(id, field.args[0]!.type)
      })
      const answers = await askAll(asking(viewer), 'mutation', inputs.map(callOf(field)))
      for (const [index, { data, errors }] of answers.entries()) {
        // Its result contains no id: it is a token with the same limits.
        if (field.name === 'createToken' && errors.length === 0) continue
        const told = `${field.name} ${JSON.stringify(inputs[index])}: ${JSON.stringify({ data, errors })}`
        expect(data ?? null, told).toBeNull()
        const codes = errors.map(({ code }) => code)
        if (isBroader) expect(codes, told).toEqual(['FORBIDDEN'])
        else expect(['NOT_FOUND', 'FORBIDDEN', 'BAD_USER_INPUT'], told).toContain(codes[0])
      }
    }
    expect(await fingerprint(ground)).toBe(before)
  })

  test('[REA4] subscribes to nothing that is out of reach', async () => {
    const viewer = viewerOf()
    const refused = await open('subscription ($id: ID!) { runEvents(runId: $id) { __typename } }', viewer, {
      id: otherAgent.runIds[0],
    })
    expect(refused).toMatchObject({ errors: [{ originalError: { code: 'NOT_FOUND' } }] })
    const { conversation } = await ground.run('query ($id: ID!) { conversation(id: $id) { lastCursor } }', {
      id: otherAgent.conversationId,
    })
    const refusedConversation = await open(
      'subscription ($id: ID!, $after: EventCursor!) { conversationEvents(conversationId: $id, after: $after) { __typename } }',
      viewer,
      { id: otherAgent.conversationId, after: conversation.lastCursor },
    )
    expect(refusedConversation).toMatchObject({ errors: [{ originalError: { code: 'NOT_FOUND' } }] })

    const inbox = await firstOf(
      'subscription { approvalInbox { __typename ... on InboxSnapshot { toolCalls { arguments } } } }',
      viewer,
    )
    const text = JSON.stringify(inbox)
    expect(text).toContain('ada-mark')
    for (const mark of marks) if (!allowedMarks.includes(mark as never)) expect(text).not.toContain(mark)

    const changes = (await open(
      'subscription { runChanges(since: "2020-01-01T00:00:00Z") { id } }',
      viewer,
    )) as AsyncGenerator<any>
    const ids = new Set<string>()
    for (const count of allowedMarks.includes('grace-mark' as never) ? [1, 2, 3, 4] : [1, 2]) {
      ids.add((await changes.next()).value.data.runChanges.id)
      expect(ids.size).toBe(count)
    }
    await changes.return(undefined)
    const allowed = allowedMarks.includes('grace-mark' as never) ? [...ada.runIds, ...grace.runIds] : ada.runIds
    expect([...ids].toSorted()).toEqual([...allowed].toSorted())
  })
})

async function open(document: string, viewer: Viewer, variableValues: Record<string, unknown> = {}) {
  const contextValue = { ...ground.context, viewer, loaders: createLoaders(ground.db, viewer) }
  return subscribe({ schema, document: parse(document), variableValues, contextValue })
}

async function firstOf(document: string, viewer: Viewer): Promise<ExecutionResult> {
  const events = (await open(document, viewer)) as AsyncGenerator<ExecutionResult>
  const { value } = await events.next()
  await events.return(undefined)
  return value
}

describe('a token that is limited to a conversation', () => {
  async function tokenFor(input: object): Promise<GraphQLClient> {
    const { createToken } = await admin.data(
      'mutation ($input: CreateTokenInput!) { createToken(input: $input) { token } }',
      { input: { subject: 'ada', scopes: ['READ', 'RUN', 'APPROVE', 'MANAGE'], ...input } },
    )
    return createGraphQLClient(app.url, { authorization: `Bearer ${createToken.token}` })
  }

  test.each(transportNames)('[REA5] holds over %s', async (transport) => {
    const client = await tokenFor({ allowedConversationIds: [ada.conversationId] })
    const { data } = await transports[transport](client, {
      query:
        '{ conversations { totalCount nodes { id title } } runs { totalCount } agents { nodes { name } } tools { totalCount } blocks { totalCount } }',
    })
    expect(data).toEqual({
      conversations: { totalCount: 1, nodes: [{ id: ada.conversationId, title: 'ada-mark' }] },
      runs: { totalCount: 2 },
      agents: { nodes: [{ name: 'shop' }] },
      tools: { totalCount: 0 },
      blocks: { totalCount: 0 },
    })
    const other = await transports[transport](client, {
      query: 'query ($id: ID!) { conversation(id: $id) { id } }',
      variables: { id: grace.conversationId },
    })
    expect(other.data).toEqual({ conversation: null })
  })

  test('[REA6] chats in its conversation, and nowhere else: not in the main one, and not in a new one', async () => {
    const client = await tokenFor({ allowedConversationIds: [ada.conversationId] })
    const send = (to: object) =>
      client.request(
        'mutation ($input: SendMessageInput!) { sendMessage(input: $input) { __typename ... on SendMessageSuccess { run { id answer messages { nodes { __typename } } } } } }',
        { input: { to, messages: [{ text: 'say hello' }], waitMs: 30_000, whenBusy: 'INTERRUPT' } },
      )
    expect((await send({ agentId: ada.agentId })).errors![0]!.extensions.code).toBe('NOT_FOUND')
    expect((await send({ conversationId: grace.conversationId })).errors![0]!.extensions.code).toBe('NOT_FOUND')
    const create = await client.request(
      'mutation ($id: ID!) { createConversation(input: { agentId: $id }) { conversation { id } } }',
      { id: ada.agentId },
    )
    expect(create.errors![0]!.extensions.code).toBe('FORBIDDEN')
    const { data } = await send({ conversationId: ada.conversationId })
    expect(data.sendMessage.run).toMatchObject({ answer: 'hello' })

    const events = await client.events('subscription ($id: ID!) { runEvents(runId: $id) { __typename } }', {
      id: data.sendMessage.run.id,
    })
    const types: string[] = []
    for await (const event of events) {
      expect(event.errors).toBeUndefined()
      types.push(event.data.runEvents.__typename)
    }
    // The turn started a background run, which belongs to another conversation.
    expect(types).not.toContain('ChildRunStarted')
    expect(types.at(-1)).toBe('RunStatusChanged')
  })

  test('[REA6] `lastStopReason` of an agent covers only conversations within reach', async () => {
    const client = await tokenFor({ allowedConversationIds: [grace.conversationId] })
    const query = 'query ($id: ID!) { agent(id: $id) { lastStopReason } }'
    expect((await client.data(query, { id: ada.agentId })).agent.lastStopReason).toBe('REQUIRES_APPROVAL')
    const empty = await tokenFor({ allowedConversationIds: [] })
    expect((await empty.data(query, { id: ada.agentId })).agent).toBeNull()
    expect((await empty.data('{ conversations { totalCount } agents { totalCount } }')).agents.totalCount).toBe(0)
  })
})
