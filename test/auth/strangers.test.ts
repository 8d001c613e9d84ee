import { afterAll, beforeAll, describe, expect, test } from 'vitest'

import { startTestApp, type TestApp } from '../support/app.ts'
import { createGraphQLClient, type GraphQLClient } from '../support/graphql-client.ts'
import { createAgent, createCustomer, type Customer } from './customers.ts'

let app: TestApp
let admin: GraphQLClient
let ada: Customer
let grace: Customer
let fileOfAda: string
let fileOfGrace: string

const clientOf = (secret: string) => createGraphQLClient(app.url, { authorization: `Bearer ${secret}` })

beforeAll(async () => {
  app = await startTestApp({ env: { HOLDPOINT_API_KEY: 'hp_admin_of_strangers' } })
  admin = clientOf('hp_admin_of_strangers')
  const agentId = await createAgent(admin, 'shop')
  ada = await createCustomer(admin, agentId, 'ada-mark')
  grace = await createCustomer(admin, agentId, 'grace-mark')
  fileOfAda = await fileOf(ada)
  fileOfGrace = await fileOf(grace)
})
afterAll(() => app.stop())

async function fileOf({ runIds }: Customer): Promise<string> {
  const document = 'query ($id: ID!) { run(id: $id) { input { content { file { id } } } } }'
  return (await admin.data(document, { id: runIds[0] })).run.input[0].content[1].file.id
}

async function createToken(input: object): Promise<string> {
  const document = 'mutation ($input: CreateTokenInput!) { createToken(input: $input) { token } }'
  const scopes = ['READ', 'RUN', 'APPROVE', 'MANAGE']
  return (await admin.data(document, { input: { subject: 'ada', scopes, ...input } })).createToken.token
}

/** Asks an address that is not GraphQL's. */
async function get(path: string, authorization: string | undefined): Promise<readonly [number, string]> {
  const response = await fetch(new URL(path, app.url), { headers: authorization ? { authorization } : {} })
  return [response.status, await response.text()]
}

describe('a token that is limited to a conversation', () => {
  let token: string
  let client: GraphQLClient
  beforeAll(async () => {
    token = await createToken({ allowedConversationIds: [ada.conversationId] })
    client = clientOf(token)
  })

  const codesOf = async (document: string, variables: object = {}) =>
    (await client.request(document, variables)).errors?.map(({ extensions }) => extensions.code)

  test('[REA60] opens its files and no others, by address or in a message', async () => {
    const authorization = `Bearer ${token}`
    expect(await get(`/files/${fileOfAda}`, authorization)).toEqual([200, 'ada-mark'.repeat(800)])
    const [status, text] = await get(`/files/${fileOfGrace}`, authorization)
    expect([status, text.includes('grace-mark')]).toEqual([404, false])
    for (const content of [{ fileId: fileOfGrace }, { documentUrl: `/files/${fileOfGrace}` }]) {
      const input = {
        to: { conversationId: ada.conversationId },
        messages: [{ content: [content] }],
        whenBusy: 'ENQUEUE',
      }
      const { data, errors } = await client.request(
        'mutation ($input: SendMessageInput!) { sendMessage(input: $input) { __typename } }',
        { input },
      )
      expect(data?.sendMessage ?? null, JSON.stringify({ content, errors })).toBeNull()
      expect(['NOT_FOUND', 'BAD_USER_INPUT']).toContain(errors![0]!.extensions.code)
    }
    const upload = `mutation ($input: UploadFileInput!) { uploadFile(input: $input) { file { id } } }`
    const input = { conversationId: grace.conversationId, dataUrl: 'data:text/plain;base64,aGk=' }
    expect(await codesOf(upload, { input })).toEqual(['NOT_FOUND'])
  })

  test('[REA60] finds nothing by searches, filters, cursors and waiting that is not in it', async () => {
    const { data } = await client.request(
      `query ($id: ID!, $agent: ID!, $run: ID!) {
        byText: conversations(filter: { titleContains: "grace" }) { totalCount nodes { id } }
        ofConversation: runs(filter: { conversationId: $id }) { totalCount nodes { id } }
        byMetadata: conversations(filter: { metadataContains: { mark: "grace-mark" } }) { totalCount nodes { id } }
        ofAgent: runs(filter: { agentIds: [$agent] }) { totalCount nodes { conversation { id } } }
        calls: toolCalls(filter: { agentIds: [$agent], needs: [APPROVAL] }) { totalCount nodes { run { id } } }
        waited: run(id: $run, waitMs: 1000) { id } }`,
      { id: grace.conversationId, agent: ada.agentId, run: grace.runIds[1] },
    )
    const nothing = { totalCount: 0, nodes: [] }
    const own = { conversation: { id: ada.conversationId } }
    expect(data).toEqual({
      byText: nothing,
      byMetadata: nothing,
      ofConversation: nothing,
      ofAgent: { totalCount: 2, nodes: [own, own] },
      calls: { totalCount: 1, nodes: [{ run: { id: ada.runIds[1] } }] },
      waited: null,
    })
    const { conversations } = await admin.data('{ conversations(first: 50) { edges { cursor } } }')
    for (const { cursor } of conversations.edges) {
      const page = 'query ($after: String) { conversations(after: $after) { nodes { title } } }'
      const { data: shown } = await client.request(page, { after: cursor })
      for (const { title } of shown.conversations.nodes) expect(title).toBe('ada-mark')
    }
    const { conversation } = await admin.data('query ($id: ID!) { conversation(id: $id) { lastCursor } }', {
      id: grace.conversationId,
    })
    const follow = `subscription ($id: ID!, $after: EventCursor!) {
      conversationEvents(conversationId: $id, after: $after) { __typename } }`
    const variables = { id: ada.conversationId, after: conversation.lastCursor }
    const socket = client.webSocket()
    const overSocket = await socket.stream(follow, variables).next()
    const overEvents = await (await client.events(follow, variables)).next()
    for (const answer of [overSocket, overEvents]) expect(answer!.errors![0]!.extensions.code).toBe('BAD_CURSOR')
    await socket.dispose()
  })

  test('[REA60] the idempotency key of another conversation gives nothing away', async () => {
    const send =
      'mutation ($input: SendMessageInput!) { sendMessage(input: $input) { ... on SendMessageSuccess { run { id } } } }'
    const input = {
      to: { conversationId: grace.conversationId },
      messages: [{ text: 'say hello' }],
      idempotencyKey: 'of grace',
      whenBusy: 'ENQUEUE',
    }
    await admin.data(send, { input })
    expect(await codesOf(send, { input })).toEqual(['NOT_FOUND'])
  })

  test('[REA60] shows nothing of the whole server or of the agent', async () => {
    expect((await get('/metrics', `Bearer ${token}`))[0]).toBe(403)
    for (const query of ['auditLog', 'workers', 'apiKeys']) {
      const selection = query === 'auditLog' ? '{ totalCount }' : '{ id }'
      expect(await codesOf(`{ ${query} ${selection} }`), query).toEqual(['FORBIDDEN'])
    }
    const ofAgent = 'query ($id: ID!) { agent(id: $id) { export } }'
    expect(await codesOf(ofAgent, { id: ada.agentId })).toEqual(['FORBIDDEN'])
    const { data } = await client.request(
      `query ($id: ID!) { conversation(id: $id) { agent { name blocks { id } tools { id } }
        runs { nodes { children { id } } } } }`,
      { id: ada.conversationId },
    )
    expect(JSON.stringify(data)).not.toContain('agent-mark')
  })
})

describe('a secret that is no longer valid', () => {
  const who = '{ viewer { actor { id } } }'

  async function expectLockedOut(secret: string): Promise<void> {
    const authorization = `Bearer ${secret}`
    const client = clientOf(secret)
    expect((await client.request(who)).status).toBe(401)
    const byUrl = `/graphql?query=${encodeURIComponent(who)}`
    for (const path of [`/files/${fileOfAda}`, '/metrics', byUrl]) {
      const [status, text] = await get(path, authorization)
      expect([status, JSON.parse(text).errors[0].extensions.code], path).toEqual([401, 'UNAUTHENTICATED'])
    }
    const events = await client.events('subscription { approvalInbox { __typename } }')
    expect(events.status).toBe(401)
    events.close()
    const socket = client.webSocket({ retryAttempts: 5 })
    await expect(socket.request(who)).rejects.toThrow('4401')
    await socket.dispose()
    // In the upgrade request.
    const upgraded = createGraphQLClient(app.url).webSocket({ headers: { authorization }, retryAttempts: 5 })
    await expect(upgraded.request(who)).rejects.toThrow('4401')
    await upgraded.dispose()
  }

  test('[KEY60] a revoked key opens nothing, on any address and transport', async () => {
    const { createApiKey } = await admin.data(
      'mutation { createApiKey(input: { name: "lost", scopes: [READ, RUN, APPROVE, MANAGE] }) { secret apiKey { id } } }',
    )
    const { secret, apiKey } = createApiKey
    expect((await get(`/files/${fileOfAda}`, `Bearer ${secret}`))[0]).toBe(200)
    await admin.data('mutation ($id: ID!) { revokeApiKey(input: { id: $id }) { apiKey { id } } }', { id: apiKey.id })
    await expectLockedOut(secret)
  })

  test('[TOK60] neither does an expired token', async () => {
    const secret = await createToken({ expiresInSeconds: 1 })
    await expect.poll(async () => (await clientOf(secret).request(who)).status).toBe(401)
    await expectLockedOut(secret)
  })
})
