import { randomUUID } from 'node:crypto'

import { afterAll, beforeAll, expect, test } from 'vitest'

import { manageKeys } from '../../src/manage-keys.ts'
import type { OpenDatabase } from '../../src/store/open-database.ts'
import { storedTexts } from '../live/reader.ts'
import { createTestDatabase } from '../support/database.ts'
import { createGraphQLClient, type GraphQLClient } from '../support/graphql-client.ts'
import { startPostgresProxy, type PostgresProxy } from '../support/postgres-proxy.ts'
import { spawnMain, type ServerProcess } from '../support/server-process.ts'
import { OutageLoad } from './load.ts'

/** How long the database is unavailable. `npm run test:outage` sets 30 s. */
const awayMs = Number(process.env['HOLDPOINT_OUTAGE_MS'] ?? 2_000)
/** Conversations of each server. */
const conversations = Number(process.env['HOLDPOINT_CLIENTS'] ?? 2)

let database: OpenDatabase
let proxy: PostgresProxy
let servers: readonly ServerProcess[]
let clients: readonly GraphQLClient[]

beforeAll(async () => {
  database = await createTestDatabase()
  proxy = await startPostgresProxy(database.url)
  const command = { name: 'keys', action: 'create', keyName: 'all', expires: undefined, tenant: undefined } as const
  const secret = (await manageKeys(database, { ...command, scopes: ['READ', 'RUN', 'APPROVE', 'MANAGE'] })).at(-1)!
  servers = [0, 1].map(() => spawnMain(['serve'], { DATABASE_URL: proxy.url, LOG_LEVEL: 'warn' }))
  const urls = await Promise.all(servers.map((server) => server.ready()))
  clients = urls.map((url) => createGraphQLClient(url, { authorization: `Bearer ${secret}` }))
})
afterAll(async () => {
  proxy.restore()
  for (const { child } of servers) child.kill('SIGTERM')
  await Promise.all(servers.map(({ ended }) => ended))
  await proxy.close()
  await database.close()
})

test(
  '[QUO80] while the database is away everyone is told to try again, no process dies, and no run or token is lost or doubled',
  { timeout: 240_000 + 4 * awayMs },
  async () => {
    const load = new OutageLoad(clients)
    const agentId = await createAgent(load)
    const waiting = await Promise.all(clients.map((client) => startWaiting(client, agentId)))
    for (let count = 0; count < conversations; count += 1) load.talk(agentId, 40)
    load.ask()
    // In the middle of an answer, with another run behind it.
    const inAnAnswer = () => load.followed.filter(({ reader }) => reader.live.size > 0).length
    await expect.poll(inAnAnswer).toBeGreaterThanOrEqual(conversations)

    const before = load.answered.length
    const began = performance.now()
    proxy.cut()
    const decided = waiting.map(({ client, input }) => load.persist(client, submitApprovals, input))
    await expect
      .poll(() => performance.now() - began > awayMs && hasRefusedAll(load), { timeout: awayMs + 60_000 })
      .toBe(true)
    const during = load.answered.slice(before)
    proxy.restore()

    await Promise.all(decided)
    const ended = load.followed.length
    await expect.poll(() => load.followed.slice(ended).filter(({ reader }) => reader.end).length).toBeGreaterThan(3)
    await load.stop()
    const runIds = [...waiting.map(({ input }) => input.runId), ...load.followed.map(({ runId }) => runId)]
    expect(await statusesOf(runIds)).toEqual(runIds.map(() => 'COMPLETED'))
    for (const { runId, text, reader } of load.followed) {
      const stored = await storedTexts(clients[0]!, runId)
      expect(reader.stored).toEqual(stored)
      expect(stored.map(([, written]) => written)).toEqual([text, text.replace(/^.*\nsay /, '')])
    }
    expect(load.faults).toEqual([])
    expect(servers.map(({ child }) => child.exitCode)).toEqual([null, null])
    expect(servers.flatMap(badLines)).toEqual([])
    if (awayMs > 10_000) report(load, during)
  },
)

test('[QUO81] an outage is not the death of a worker: a run that several outages interrupt is not given up', async () => {
  const load = new OutageLoad(clients)
  const text = `slow 100\nsay ${'word '.repeat(20).trim()}`
  const following = load.sendAndFollow(clients[0]!, { agentId: await createAgent(load) }, text)
  await expect.poll(() => load.followed.length).toBe(1)
  const { reader } = load.followed[0]!
  const restarts = () => reader.types.filter((type) => type === 'StepRestarted').length
  // More often than a run may kill workers, with nothing of the run stored in between.
  for (let outage = 1; outage <= 4; outage += 1) {
    await expect.poll(() => reader.live.size).toBeGreaterThan(0)
    proxy.cut()
    for (const client of clients)
      await expect.poll(async () => (await client.request('{ viewer { keyName } }')).status).toBe(503)
    proxy.restore()
    await expect.poll(restarts).toBe(outage)
  }
  await following
  expect([reader.end, load.faults]).toEqual(['COMPLETED', []])
})

const submitApprovals = 'mutation ($input: SubmitApprovalsInput!) { submitApprovals(input: $input) { __typename } }'
const asked = ['HTTP', 'SSE', 'WebSocket', 'open socket', 'mutation']

/** Whether each transport was asked to try again. */
function hasRefusedAll(load: OutageLoad): boolean {
  const refused = load.answers('UNAVAILABLE')
  return asked.every((what) => refused.has(what))
}

async function createAgent(load: OutageLoad): Promise<string> {
  const implementation = { javascript: { source: "export default () => 'paid'" } }
  const { upsertTool } = await load.persist(
    clients[0]!,
    'mutation ($input: UpsertToolInput!) { upsertTool(input: $input) { tool { id } } }',
    { name: 'pay', requiresApproval: true, implementation },
  )
  const { createAgent: created } = await load.persist(
    clients[0]!,
    'mutation ($input: CreateAgentInput!) { createAgent(input: $input) { agent { id } } }',
    { name: 'a', model: 'demo/scripted', includeBaseTools: false, tools: [{ toolId: upsertTool.tool.id }] },
  )
  return created.agent.id
}

/** A run that waits for approval, and the decision that it waits for. */
async function startWaiting(client: GraphQLClient, agentId: string) {
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
        waitMs: 30_000,
      },
    },
  )
  const { id: runId, pendingToolCalls } = sendMessage.run
  const decisions = [{ approve: { toolCallId: pendingToolCalls[0].id } }]
  return { client, input: { runId, decisions, idempotencyKey: randomUUID() } }
}

async function statusesOf(runIds: readonly string[]): Promise<string[]> {
  const statuses: string[] = []
  for (const id of runIds) {
    const { run } = await clients[0]!.data('query ($id: ID!) { run(id: $id, waitMs: 60000) { status } }', { id })
    statuses.push(run.status)
  }
  return statuses
}

function badLines(server: ServerProcess): string[] {
  return server
    .stderr()
    .split('\n')
    .filter((line) => /unhandled|uncaught|this is a bug|"level":[56]0/i.test(line))
}

function report(load: OutageLoad, during: OutageLoad['answered']): void {
  const times = during.filter(({ code }) => code !== undefined).map(({ ms }) => ms)
  const at = (share: number) => Math.round(times.toSorted((a, b) => a - b)[Math.floor(share * (times.length - 1))] ?? 0)
  const counts = { runs: load.followed.length, refused: times.length, resumedStreams: load.resumed.length }
  console.log(JSON.stringify({ awayMs, ...counts, refusalMs: { p50: at(0.5), p99: at(0.99), max: at(1) } }))
}
