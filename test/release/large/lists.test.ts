import { graphql, parse, subscribe, type ExecutionResult } from 'graphql'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'

import { encodeId } from '../../../src/domain/ids.ts'
import { viewerOf } from '../../support/viewer.ts'
import { createLoaders } from '../../../src/graphql/loaders.ts'
import { schema } from '../../../src/graphql/schema.ts'
import { searchMessages } from '../../../src/store/conversations/search-messages.ts'
import { startTestApp } from '../../support/app.ts'
import { createGround, type Ground } from '../../support/execute.ts'
import { explain, type Explanation, type Statement } from '../../support/explain.ts'
import { hookDatabase } from '../../support/gated-database.ts'
import { createLargeDatabase, firstRunAt, type LargeDatabase } from '../../support/large-database.ts'

let large: LargeDatabase
let ground: Ground
let ids: Record<string, string>

beforeAll(async () => {
  large = await createLargeDatabase()
  ground = await createGround()
  ids = {
    agent: encodeId('Agent', large.agentId),
    quiet: encodeId('Agent', large.quietAgentId),
    conversation: encodeId('Conversation', large.longConversationId),
    early: new Date(firstRunAt.getTime() + 100_000).toISOString(),
    late: new Date(firstRunAt.getTime() + 19_990_000).toISOString(),
  }
}, 60_000)
afterAll(async () => {
  await large.close()
  await ground.close()
})

const largeTables = ['runs', 'messages', 'tool_calls', 'steps', 'run_log', 'conversations']

/** Collects the statements that `work` sends, each text once. */
function collect() {
  const statements = new Map<string, Statement>()
  const sent = new Map<string, number>()
  const db = hookDatabase(large.pool, {
    before(sql, parameters = []) {
      sent.set(sql, (sent.get(sql) ?? 0) + 1)
      if (/^\s*(select|with|insert|update|delete)/i.test(sql)) statements.set(sql, { sql, parameters })
    },
  })
  const viewer = viewerOf(large.tenantId)
  const context = { ...ground.context, db, viewer, loaders: createLoaders(db, viewer) }
  return { db, context, statements, mostSent: () => Math.max(0, ...sent.values()) }
}

/** Fails if a statement reads a large table completely, or reads far more rows than a page. */
async function expectSmall(statements: ReadonlyMap<string, Statement>, { visited = 2_000 } = {}): Promise<void> {
  expect(statements.size).toBeGreaterThan(0)
  for (const statement of statements.values()) {
    const explanation = await explain(large.pool, statement)
    const told = `${statement.sql}\n${explanation.plan}\n${explanation.blocks} blocks`
    expect(scansOf(explanation), told).toEqual([])
    expect(explanation.visited, told).toBeLessThanOrEqual(visited)
    expect(explanation.blocks, told).toBeLessThanOrEqual(visited * 2)
  }
}

function scansOf({ scanned }: Explanation): string[] {
  return scanned.filter((table) => largeTables.includes(table))
}

async function statementsOf(document: string): Promise<ReadonlyMap<string, Statement>> {
  const { context, statements } = collect()
  const { errors } = await graphql({ schema, source: document, contextValue: context, variableValues: ids })
  if (errors) throw new Error(JSON.stringify(errors))
  return statements
}

const runFilters = {
  all: '{}',
  'completed ones': '{ statuses: [COMPLETED] }',
  'failed ones': '{ statuses: [FAILED] }',
  'cancelled ones': '{ statuses: [CANCELLED] }',
  'running ones': '{ statuses: [RUNNING] }',
  'queued and cancelling ones': '{ statuses: [QUEUED, CANCELLING] }',
  'waiting ones': '{ statuses: [AWAITING_APPROVAL] }',
  'those that stopped for a rare reason': '{ stopReasons: [MAX_STEPS] }',
  'those that stopped for a reason that none has': '{ stopReasons: [TOOL_RULE, INVALID_TOOL_CALL] }',
  'those that waited or wait': '{ stopReasons: [REQUIRES_APPROVAL] }',
  'early ones': '{ createdBefore: $early }',
  'late ones': '{ createdAfter: $late }',
  'early failed ones': '{ createdBefore: $early, statuses: [FAILED] }',
  'background ones': '{ background: true }',
  'foreground ones': '{ background: false }',
}

describe('[LARGE1] a page of runs is read by index', () => {
  const variables = '($agent: ID!, $quiet: ID!, $conversation: ID!, $early: DateTime!, $late: DateTime!)'
  // Each variable must be used.
  const used =
    'a: node(id: $agent) { id } b: node(id: $quiet) { id } c: node(id: $conversation) { id } d: runs(first: 1, filter: { createdAfter: $late, createdBefore: $early }) { nodes { id } }'
  const query = (list: string) => `query ${variables} { ${used} ${list} }`

  it.each(Object.entries(runFilters))('of the tenant: %s', async (_name, filter) => {
    await expectSmall(await statementsOf(query(`runs(filter: ${filter}) { nodes { id } }`)))
    await expectSmall(await statementsOf(query(`runs(last: 50, filter: ${filter}) { nodes { id } }`)))
  })

  it.each(Object.entries(runFilters))('of an agent: %s', async (_name, filter) => {
    if (filter.includes('background')) return
    for (const agent of ['agent', 'quiet'])
      await expectSmall(await statementsOf(query(`agent(id: $${agent}) { runs(filter: ${filter}) { nodes { id } } }`)))
  })

  it.each(Object.entries(runFilters))('of a long conversation: %s', async (_name, filter) => {
    if (filter.includes('background')) return
    const list = `conversation(id: $conversation) { runs(filter: ${filter}) { nodes { id } } }`
    await expectSmall(await statementsOf(query(list)))
  })
})

const callFilters = {
  all: '{}',
  'succeeded ones': '{ statuses: [SUCCEEDED] }',
  'pending ones': '{ statuses: [PENDING] }',
  'failed, denied and cancelled ones': '{ statuses: [FAILED, DENIED, CANCELLED] }',
  'those under way': '{ statuses: [READY, RUNNING] }',
  'those of a rare tool': '{ toolNames: ["seldom", "never"] }',
  'those of a common tool': '{ toolNames: ["look_up"] }',
  'those that someone decided': '{ decidedBy: "ann" }',
  'those that nobody decided': '{ decidedBy: "bob" }',
  'those that need approval': '{ needs: [APPROVAL] }',
  'those that need the client': '{ needs: [CLIENT_EXECUTION] }',
}

it.each(Object.entries(callFilters))('[LARGE2] a page of tool calls is read by index: %s', async (_name, filter) => {
  await expectSmall(await statementsOf(`{ toolCalls(filter: ${filter}) { nodes { id } } }`))
  await expectSmall(await statementsOf(`{ toolCalls(last: 50, filter: ${filter}) { nodes { id } } }`))
})

it('[LARGE3] `totalCount` stops counting at 10,000', async () => {
  const { context } = collect()
  const source =
    '{ runs { totalCount } failed: runs(filter: { statuses: [FAILED] }) { totalCount } toolCalls { totalCount } }'
  const { data } = await graphql({ schema, source, contextValue: context })
  expect(data).toEqual({ runs: { totalCount: 10_000 }, failed: { totalCount: 4 }, toolCalls: { totalCount: 10_000 } })
  for (const list of [
    'runs',
    'runs(filter: { statuses: [COMPLETED] })',
    'toolCalls',
    'runs(filter: { stopReasons: [MAX_STEPS] })',
  ])
    await expectSmall(await statementsOf(`{ ${list} { totalCount } }`), { visited: 12_000 })
})

it('[LARGE4] a page of messages is read by index, of whatever type', async () => {
  const query = (args: string) =>
    `query ($conversation: ID!) { conversation(id: $conversation) { lastCursor lastStopReason messages(${args}) { nodes { id inContext } } } }`
  for (const args of [
    'first: 50',
    'last: 50',
    'last: 50, filter: { types: [USER] }',
    'last: 1, filter: { types: [SUMMARY] }',
    'first: 5, filter: { types: [APPROVAL_REQUEST, SYSTEM] }',
  ])
    await expectSmall(await statementsOf(query(args)))
})

it('[LARGE5] the fields below a run cost no more in a large database', async () => {
  const all = `{ runs(first: 20) { nodes { id status answer canRetry usage { steps } steps { id messages { id } toolCalls { id } }
    messages { nodes { id } } children { id } parent { id } pendingToolCalls { id } agent { lastStopReason } } } }`
  await expectSmall(await statementsOf(all))
})

it('[LARGE6] subscriptions to changes read only what changed', async () => {
  const documents = [
    'subscription ($late: DateTime!) { runChanges(since: $late) { id } }',
    `subscription { runChanges(since: "${new Date(Date.now() - 60_000).toISOString()}") { id } }`,
    'subscription { approvalInbox { __typename ... on InboxSnapshot { toolCalls { id } totalCount } } }',
  ]
  for (const document of documents) {
    const { context, statements } = collect()
    const opened = await subscribe({ schema, document: parse(document), contextValue: context, variableValues: ids })
    const events = opened as AsyncGenerator<ExecutionResult>
    const first = events.next()
    const isInbox = document.includes('approvalInbox')
    if (isInbox || document.includes('$late')) expect((await first).value.errors).toBeUndefined()
    const table = isInbox ? 'tool_calls' : 'run_log'
    await expect.poll(() => [...statements.keys()].filter((sql) => sql.includes(table)).length).toBeGreaterThan(0)
    await events.return(undefined)
    await first
    await expectSmall(statements)
  }
})

it.each(['common', 'rare', 'nowhere', 'common rare', '"common 10"', null])(
  '[LARGE7] a search in a long conversation looks at a limited number of messages: %s',
  async (query) => {
    const { db, statements } = collect()
    const found = await searchMessages(db, {
      conversationId: large.longConversationId,
      before: 4_001,
      query,
      types: ['USER', 'ASSISTANT', 'SYSTEM', 'SUMMARY'],
      from: null,
      to: null,
      timezone: 'UTC',
      limit: 5,
    })
    expect(found.length).toBe({ nowhere: 0, '"common 10"': 2 }[query ?? ''] ?? 5)
    await expectSmall(statements)
  },
)

it(
  '[LARGE8] the sweep and the claims of workers look at what needs them, however many runs there are',
  { timeout: 30_000 },
  async () => {
    // Otherwise the worker would drive them.
    await large.pool.query(
      `update runs set status = 'COMPLETED', stop_reason = 'END_TURN', finished_at = updated_at where outcome = 'ACTIVE'`,
    )
    const { db, statements, mostSent } = collect()
    const app = await startTestApp({ database: { ...large, db } })
    // A round of the sweep sends some statement, and every fourth round does the rare tasks too.
    await expect.poll(mostSent, { timeout: 20_000 }).toBeGreaterThan(8)
    await app.stop()
    const sent = [...statements.keys()].join(' ')
    for (const table of ['runs', 'tool_calls', 'workers']) expect(sent).toContain(table)
    await expectSmall(statements)
  },
)
