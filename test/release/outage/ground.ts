import { randomUUID } from 'node:crypto'
import { setTimeout as sleep } from 'node:timers/promises'

import { expect } from 'vitest'

import { manageKeys } from '../../../src/cli/manage-keys.ts'
import { storedTexts } from '../../live/reader.ts'
import { openDatabase } from '../../../src/store/database/open-database.ts'
import { prepareDatabase } from '../../../src/store/database/migrate.ts'
import { createLog } from '../../../src/util/log.ts'
import { createTestDatabase } from '../../support/database.ts'
import { createGraphQLClient, type GraphQLClient } from '../../support/graphql-client.ts'
import { startPostgresProxy, type PostgresProxy } from '../../support/postgres-proxy.ts'
import { spawnMain, type ServerProcess } from '../../support/server-process.ts'
import type { OutageLoad } from './load.ts'
import { isLong } from '../../support/long.ts'

const log = createLog('error')
const hasten = new URL('../../support/hasten-server.ts', import.meta.url).href

/** How long an outage takes in the long version. After that, a heartbeat is too old. */
export const longMs = 30_000

/** Two servers that reach their database through a proxy, which can take it away from them. */
export interface OutageGround {
  readonly proxy: PostgresProxy
  readonly servers: readonly ServerProcess[]
  readonly clients: readonly GraphQLClient[]
  close(): Promise<void>
}

export async function startOutageGround({
  url,
  hastens = !isLong,
}: {
  /** Of an empty database. By default, the servers have one of the tests' Postgres. */
  readonly url?: string
  readonly hastens?: boolean
} = {}): Promise<OutageGround> {
  const database = url === undefined ? await createTestDatabase() : await openDatabase(url, { log })
  if (url !== undefined) await prepareDatabase(database, { log })
  const proxy = await startPostgresProxy(database.url)
  const command = { name: 'keys', action: 'create', keyName: 'all', expires: undefined, tenant: undefined } as const
  const secret = (await manageKeys(database, { ...command, scopes: ['READ', 'RUN', 'APPROVE', 'MANAGE'] })).at(-1)!
  // A silent network is noticed after twenty seconds. In the short version, the test waits for a quarter of them.
  const hastened = hastens ? { NODE_OPTIONS: `--import=${hasten}` } : {}
  const env = { DATABASE_URL: proxy.url, LOG_LEVEL: 'warn', HOLDPOINT_DRAIN_MS: '1000', ...hastened }
  const servers = [0, 1].map(() => spawnMain(['serve'], env))
  const urls = await Promise.all(servers.map((server) => server.ready()))
  return {
    proxy,
    servers,
    clients: urls.map((url) => patient(createGraphQLClient(url, { authorization: `Bearer ${secret}` }))),
    async close() {
      proxy.restore()
      for (const { child } of servers) child.kill('SIGTERM')
      await Promise.all(servers.map(({ ended }) => ended))
      await proxy.close()
      await database.close()
    },
  }
}

/** Its `data` asks again as long as the server says so: hastened servers give up early on a busy machine. */
function patient(client: GraphQLClient): GraphQLClient {
  return {
    ...client,
    async data(document, variables) {
      for (;;) {
        const { data, errors } = await client.request(document, variables)
        if (!errors) return data
        if (errors[0]!.extensions.code !== 'UNAVAILABLE') throw new Error(JSON.stringify(errors))
        await sleep(50)
      }
    },
  }
}

export const submitApprovals =
  'mutation ($input: SubmitApprovalsInput!) { submitApprovals(input: $input) { __typename } }'
const asked = ['HTTP', 'SSE', 'WebSocket', 'open socket', 'mutation']

/** Whether each transport was asked to try again. */
export function hasRefusedAll(load: OutageLoad): boolean {
  const refused = load.answers('UNAVAILABLE')
  return asked.every((what) => refused.has(what))
}

export async function createAgent(load: OutageLoad, client: GraphQLClient): Promise<string> {
  const implementation = { javascript: { source: "export default () => 'paid'" } }
  const { upsertTool } = await load.persist(
    client,
    'mutation ($input: UpsertToolInput!) { upsertTool(input: $input) { tool { id } } }',
    { name: 'pay', requiresApproval: true, implementation },
  )
  const { createAgent: created } = await load.persist(
    client,
    'mutation ($input: CreateAgentInput!) { createAgent(input: $input) { agent { id } } }',
    { name: 'a', model: 'demo/scripted', includeBaseTools: false, tools: [{ toolId: upsertTool.tool.id }] },
  )
  return created.agent.id
}

/** A run that waits for approval, and the decision that it waits for. */
export async function startWaiting(client: GraphQLClient, agentId: string) {
  const { createConversation } = await client.data(
    'mutation ($input: CreateConversationInput!) { createConversation(input: $input) { conversation { id } } }',
    { input: { agentId } },
  )
  const { sendMessage } = await client.data(
    `mutation ($input: SendMessageInput!) { sendMessage(input: $input) { ... on SendMessageSuccess {
      run { id pendingToolCalls { id } } } } }`,
    {
      input: {
        to: { conversationId: createConversation.conversation.id },
        messages: [{ text: 'call pay {}' }],
        idempotencyKey: randomUUID(),
        waitMs: 30_000,
      },
    },
  )
  const { id: runId, pendingToolCalls } = sendMessage.run
  const decisions = [{ approve: { toolCallId: pendingToolCalls[0].id } }]
  return { client, input: { runId, decisions, idempotencyKey: randomUUID() } }
}

async function statusesOf(client: GraphQLClient, runIds: readonly string[]): Promise<string[]> {
  const statuses: string[] = []
  for (const id of runIds) {
    const { run } = await client.data('query ($id: ID!) { run(id: $id, waitMs: 60000) { status } }', { id })
    statuses.push(run.status)
  }
  return statuses
}

/** All runs completed, those that waited too, and what was streamed of each is what was stored, once. */
export async function expectNothingLost(
  load: OutageLoad,
  client: GraphQLClient,
  waitingRunIds: readonly string[],
): Promise<void> {
  expect(load.faults).toEqual([])
  const runIds = [...waitingRunIds, ...load.followed.map(({ runId }) => runId)]
  expect(await statusesOf(client, runIds)).toEqual(runIds.map(() => 'COMPLETED'))
  for (const { runId, text, reader } of load.followed) {
    const stored = await storedTexts(client, runId)
    expect(reader.stored).toEqual(stored)
    expect(stored.map(([, written]) => written)).toEqual([text, text.replace(/^.*\nsay /, '')])
  }
}
