import {
  getNamedType,
  isInputObjectType,
  isLeafType,
  type GraphQLField,
  type GraphQLInputType,
  type GraphQLObjectType,
} from 'graphql'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'

import { manageKeys } from '../../src/cli/manage-keys.ts'
import { schema } from '../../src/graphql/schema.ts'
import { startTestApp, type TestApp } from '../support/app.ts'
import { createGraphQLClient, type GraphQLClient, type GraphQLResult } from '../support/graphql-client.ts'
import { createAgent, createCustomer, fingerprint, type Customer } from './customers.ts'
import { askAll, callOf, inputsWith, showNode, walk, type Ask, type Question, type Walk } from './walk.ts'

let app: TestApp
let theirs: Customer
/** Everything that one tenant has. */
let everything: Walk
let cursor: string
/** A client of the other tenant, with every scope, an agent and a conversation. */
let stranger: GraphQLClient
let own: Customer

beforeAll(async () => {
  const env = {
    HOLDPOINT_API_KEY: 'hp_admin',
    HOLDPOINT_KEY_REQUESTS: '0',
    HOLDPOINT_TENANT_REQUESTS: '0',
    HOLDPOINT_PUBLIC_URL: 'https://agents.example.com',
  }
  app = await startTestApp({
    env,
    tools: [
      { name: 'in_code', description: 'x', parameters: { type: 'object' }, requiresApproval: true, run: () => 'done' },
    ],
  })
  const admin = createGraphQLClient(app.url, { authorization: 'Bearer hp_admin' })
  const { tools } = await admin.data('{ tools(filter: { kinds: [BUILTIN] }, first: 100) { nodes { id name } } }')
  const { id } = tools.nodes.find(({ name }: { name: string }) => name === 'in_code')
  await admin.data('mutation ($id: ID!) { updateTool(input: { id: $id, requiresApproval: false }) { __typename } }', {
    id,
  })
  theirs = await createCustomer(admin, await createAgent(admin, 'shop'), 'shop-mark')
  everything = await walk((document, variables) => admin.request(document, variables))
  const { conversation } = await admin.data('query ($id: ID!) { conversation(id: $id) { lastCursor } }', {
    id: theirs.conversationId,
  })
  cursor = conversation.lastCursor
  const scopes = ['READ', 'RUN', 'APPROVE', 'MANAGE']
  const command = { name: 'keys', action: 'create', keyName: 'all', expires: undefined, tenant: 'other' } as const
  const secret = (await manageKeys(app.database, { ...command, scopes })).at(-1)!
  stranger = createGraphQLClient(app.url, { authorization: `Bearer ${secret}` })
  own = await createCustomer(stranger, await createAgent(stranger, 'own'), 'own-mark')
})
afterAll(() => app.stop())

test('[TEN6] a tenant that is created while a server runs has the tools in code, as the code defines them', async () => {
  const { tools } = await stranger.data('{ tools(first: 100) { nodes { name requiresApproval isAvailable } } }')
  expect(tools.nodes).toContainEqual({ name: 'in_code', requiresApproval: true, isAvailable: true })
  expect(tools.nodes).toContainEqual({ name: 'memory_insert', requiresApproval: false, isAvailable: true })
})

/** Transports that stay open between operations. */
const connections: Readonly<Record<string, () => { ask: Ask; close(): unknown }>> = {
  HTTP: () => ({ ask: (document, variables) => stranger.request(document, variables), close: () => {} }),
  SSE: () => ({ ask: overEvents, close: () => {} }),
  WebSocket: () => {
    const socket = stranger.webSocket()
    return { ask: (document, variables) => socket.request(document, variables), close: () => socket.dispose() }
  },
}

async function overEvents(document: string, variables?: Record<string, unknown>): Promise<GraphQLResult> {
  const stream = await stranger.events(document, variables)
  const result = await stream.next()
  stream.close()
  return result!
}

function takesId(type: GraphQLInputType): boolean {
  const named = getNamedType(type)
  if (!isInputObjectType(named)) return named.name === 'ID'
  return Object.values(named.getFields()).some((field) => getNamedType(field.type).name === 'ID')
}

interface FieldQuestion extends Question {
  readonly field: string
  /** What the field gave, of the whole answer. */
  readonly found: (data: any) => unknown
}

/**
 * Calls of a field with this id, in one of its arguments after another. The field is one of the queries or of a type.
 */
function questionsWith(id: string, field: GraphQLField<unknown, unknown>, owner?: string): FieldQuestion[] {
  return field.args.flatMap((arg) => {
    if (!takesId(arg.type)) return []
    const named = getNamedType(arg.type)
    const values = isInputObjectType(named)
      ? Object.values(named.getFields())
          .filter(({ type }) => getNamedType(type).name === 'ID')
          .map(({ name, type }) => ({ [name]: inputsWith(id, type)[0] }))
      : inputsWith(id, arg.type)
    const needsCursor = field.args.some(({ name, type }) => name === 'after' && String(type) === 'EventCursor!')
    const selection = isLeafType(getNamedType(field.type)) ? '' : selectionOf(field)
    const after = needsCursor ? `, after: "${cursor}"` : ''
    return values.map((value) => ({
      field: field.name,
      type: String(arg.type),
      value,
      call: (variable) => {
        const call = `${field.name}(${arg.name}: ${variable}${after}) ${selection}`
        return owner ? `node(id: "${ownIdOf(owner)}") { ... on ${owner} { ${call} } }` : call
      },
      found: (data) => (owner ? data?.[field.name] : data),
    }))
  })
}

const selectionOf = ({ type }: GraphQLField<unknown, unknown>): string =>
  getNamedType(type).name.endsWith('Connection') ? '{ totalCount nodes { id } }' : '{ __typename }'

const queryFields = () => Object.values(schema.getQueryType()!.getFields())
const typeFields = (name: string) => Object.values((schema.getType(name) as GraphQLObjectType).getFields())
const everyId = () => [...everything.ids].map(([type, ids]) => [type, [...ids][0]!] as const)

/** Null, or NOT_FOUND. */
function isNothing(value: any): boolean {
  if (value === null || value === undefined) return true
  if (Array.isArray(value)) return value.every(isNothing)
  return value.totalCount === 0 && value.nodes.length === 0
}

/** What the other tenant sees over each transport. Nothing changes it: one walk per transport is enough. */
const walks: Record<string, Promise<Walk>> = {}

describe.each(Object.keys(connections))('another tenant, over %s', (transport) => {
  let ask: Ask
  let close: () => unknown
  beforeAll(() => {
    ;({ ask, close } = connections[transport]!())
  })
  afterAll(() => close())

  test('[TEN2] finds nothing by lists, links and counts', async () => {
    const seen = await (walks[transport] ??= walk(ask))
    expect(seen.text).toContain('own-mark')
    expect(seen.text).not.toContain('shop')
    expect(seen.text).not.toContain('INTERNAL_SERVER_ERROR')
    for (const [type, ids] of everything.ids)
      if (type !== 'Worker') for (const id of ids) expect(seen.text.includes(id), `${type} ${id}`).toBe(false)
  })

  test('[TEN3] gets null for every id, whatever it names', async () => {
    for (const [type, ids] of everything.ids)
      if (type !== 'Worker') for (const id of ids) expect(await showNode(ask, id), `${type} ${id}`).toBeNull()
    expect(everything.ids.size).toBeGreaterThan(10)
  })

  test('[TEN3] gets nothing from any field that takes an id', async () => {
    const asked = new Set<string>()
    for (const [type, id] of everyId()) {
      if (type === 'Worker') continue
      const questions = [
        ...queryFields().flatMap((field) => questionsWith(id, field)),
        ...['Agent', 'Conversation'].flatMap((owner) =>
          typeFields(owner).flatMap((field) => questionsWith(id, field, owner)),
        ),
      ]
      for (const [index, { data, errors }] of (await askAll(ask, 'query', questions)).entries()) {
        const { field, value, found } = questions[index]!
        const told = `${field} ${type} ${JSON.stringify({ value, data, errors })}`
        asked.add(field)
        for (const { extensions } of errors) expect(['NOT_FOUND', 'BAD_USER_INPUT'], told).toContain(extensions.code)
        expect(isNothing(found(data)), told).toBe(true)
        expect(JSON.stringify(data ?? null), told).not.toContain(id)
      }
    }
    expect([...asked]).toEqual(expect.arrayContaining(['agent', 'node', 'nodes', 'run', 'runs', 'toolCalls']))
  })

  test('[TEN4] changes nothing, by any mutation', async () => {
    const before = await fingerprint(app.database)
    const unknown = new Set<string>()
    for (const field of Object.values(schema.getMutationType()!.getFields())) {
      const inputs = everyId().flatMap(([, id]) =>
        inputsWith(id, field.args[0]!.type).filter((one) => JSON.stringify(one).includes(id)),
      )
      for (const [index, { data, errors }] of (await askAll(ask, 'mutation', inputs.map(callOf(field)))).entries()) {
        const told = `${field.name} ${JSON.stringify(inputs[index])}: ${JSON.stringify({ data, errors })}`
        expect(data ?? null, told).toBeNull()
        const codes = errors.map(({ extensions }) => extensions.code)
        for (const code of codes) expect(['NOT_FOUND', 'BAD_USER_INPUT'], told).toContain(code)
        if (codes.includes('NOT_FOUND')) unknown.add(field.name)
      }
    }
    expect(await fingerprint(app.database)).toBe(before)
    // With an id of the right kind, and all other input valid.
    expect(unknown.size, [...unknown].join()).toBeGreaterThan(25)
  })
})

describe.each(['SSE', 'WebSocket'] as const)('subscriptions of another tenant, over %s', (transport) => {
  async function open(document: string, variables: Record<string, unknown> = {}) {
    if (transport === 'SSE') return stranger.events(document, variables)
    const socket = stranger.webSocket()
    const stream = socket.stream(document, variables)
    return { next: () => stream.next(), close: () => void socket.dispose() }
  }

  test('[TEN5] an agent, a conversation or a run is refused', async () => {
    const questions = [
      ['subscription ($id: ID!) { runEvents(runId: $id) { __typename } }', theirs.runIds[1]],
      [
        `subscription ($id: ID!) { conversationEvents(conversationId: $id, after: "${cursor}") { __typename } }`,
        theirs.conversationId,
      ],
      [
        'subscription ($id: ID!) { runChanges(since: "2020-01-01T00:00:00Z", conversationId: $id) { id } }',
        theirs.conversationId,
      ],
      ['subscription ($id: ID!) { runChanges(since: "2020-01-01T00:00:00Z", agentIds: [$id]) { id } }', theirs.agentId],
      ['subscription ($id: ID!) { approvalInbox(agentIds: [$id]) { __typename } }', theirs.agentId],
    ] as const
    for (const [document, id] of questions) {
      const stream = await open(document, { id })
      const { data, errors } = (await stream.next())!
      expect([data ?? null, errors?.map(({ extensions }) => extensions.code)]).toEqual([null, ['NOT_FOUND']])
      stream.close()
    }
  })

  test("[TEN5] lists of runs and waiting calls have the tenant's own alone", async () => {
    const inbox = await open('subscription { approvalInbox { ... on InboxSnapshot { toolCalls { arguments } } } }')
    const { toolCalls } = (await inbox.next())!.data.approvalInbox
    expect(toolCalls).toEqual([{ arguments: { note: 'own-mark' } }])
    inbox.close()
    // The other tenant's runs are older, and would be listed first.
    const changes = await open('subscription { runChanges(since: "2020-01-01T00:00:00Z") { id } }')
    const ids = [await changes.next(), await changes.next()].map((result) => result!.data.runChanges.id)
    const { nodes } = await stranger.data('query ($ids: [ID!]!) { nodes(ids: $ids) { id } }', { ids })
    expect(nodes).toEqual(ids.map((id) => ({ id })))
    changes.close()
  })
})

describe('mutations with an id of another tenant among own ids', () => {
  test('[TEN80] are refused, wherever the id is, and change nothing', async () => {
    const before = await fingerprint(app.database)
    const ask: Ask = (document, variables) => stranger.request(document, variables)
    const ownIds = (await (walks['HTTP'] ??= walk(ask))).ids
    const tried = new Set<string>()
    for (const field of Object.values(schema.getMutationType()!.getFields())) {
      const inputs = inputsWith(place, field.args[0]!.type).flatMap((input) => mixedInputs(input, field.name, ownIds))
      const questions = inputs.map(({ mixed }) => callOf(field)(mixed))
      for (const [index, { data, errors }] of (await askAll(ask, 'mutation', questions)).entries()) {
        const { mixed, path } = inputs[index]!
        const told = `${field.name} ${JSON.stringify(mixed)}: ${JSON.stringify({ data, errors })}`
        for (const { extensions } of errors) expect(['NOT_FOUND', 'BAD_USER_INPUT'], told).toContain(extensions.code)
        expect(data?.__typename ?? 'a Refusal', told).toMatch(/Refusal$/)
        tried.add(`${field.name} ${path}`)
      }
    }
    expect(await fingerprint(app.database)).toBe(before)
    expect([...tried]).toEqual(
      expect.arrayContaining([
        'attachTool toolId',
        'createAgent tools.0.toolId',
        'sendMessage messages.0.content.0.fileId',
        'submitApprovals decisions.0.approve.toolCallId',
        'updateAgent tools.0.toolId',
      ]),
    )
  })
})

const place = 'an id'

/** For each place of an id in the input: the input with another tenant's id there, and own ids in all other places. */
function mixedInputs(input: unknown, mutation: string, ownIds: Walk['ids']) {
  const paths: string[] = []
  const fill = (value: any, path: string, idAt: (path: string) => string): any => {
    if (value === place) return idAt(path)
    if (typeof value !== 'object' || value === null) return value
    const entries = Object.entries(value).map(([key, inner]) => [key, fill(inner, path ? `${path}.${key}` : key, idAt)])
    return Array.isArray(value) ? entries.map(([, inner]) => inner) : Object.fromEntries(entries)
  }
  fill(input, '', (path) => (paths.push(path), place))
  const isNested = (path: string) => paths.length > 1 || path.includes('.')
  return paths.filter(isNested).map((foreign) => ({
    path: foreign,
    mixed: fill(input, '', (path) => anIdOf((path === foreign ? everything : { ids: ownIds }).ids, path, mutation)),
  }))
}

/** An id of the kind that the field wants, by its name. */
function anIdOf(ids: Walk['ids'], path: string, mutation: string): string {
  const [key] = path
    .split('.')
    .filter((part) => !/^\d+$/.test(part))
    .slice(-1)
  const noun = key === 'id' ? mutation.replace(/^[a-z]+/, '') : key!.replaceAll(/^allowed|Ids?$/g, '')
  const wanted = noun.toLowerCase()
  const found = [...ids].find(([type]) => type.toLowerCase() === wanted || type.toLowerCase() === `${wanted}message`)
  return [...(found?.[1] ?? ids.get('Agent')!)][0]!
}

const ownIdOf = (type: string): string => (type === 'Agent' ? own.agentId : own.conversationId)
