import { graphql, isObjectType, parse, subscribe, type ExecutionResult } from 'graphql'
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
import { counts, createLargeDatabase, firstRunAt, type LargeDatabase } from '../../support/large-database.ts'

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
    short: encodeId('Conversation', large.shortConversationId),
    run: encodeId('Run', large.waitingRunId),
    early: new Date(firstRunAt.getTime() + 100_000).toISOString(),
    late: new Date(firstRunAt.getTime() + 19_990_000).toISOString(),
  }
}, 60_000)
afterAll(async () => {
  await large.close()
  await ground.close()
})

const largeTables = [
  ...['runs', 'messages', 'tool_calls', 'steps', 'run_log', 'conversations', 'audit_entries', 'usage_hours'],
  'passages',
]

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
  'those with common metadata': '{ metadataContains: { env: "live" } }',
  'those with rare metadata': '{ metadataContains: { env: "test" } }',
  'those with metadata that none has': '{ metadataContains: { env: "none" }, statuses: [COMPLETED] }',
  'those of a busy sender': '{ sentBy: "service" }',
  'failed ones of a busy sender': '{ sentBy: "service", statuses: [FAILED] }',
  'those of a rare sender': '{ sentBy: "ann" }',
  'those of nobody': '{ sentBy: "bob" }',
  'those of a common model': '{ models: ["demo/scripted", "demo/none"] }',
  'those of a rare model': '{ models: ["demo/rare"] }',
  'those of a model that none used': '{ models: ["demo/none"] }',
  'those that wait for approval': '{ waitingFor: [APPROVAL] }',
  'those that wait for a client': '{ waitingFor: [CLIENT_RESULT] }',
  'those of a rare sender that wait': '{ waitingFor: [APPROVAL, CLIENT_RESULT], sentBy: "ann" }',
}

/** 2,000 runs wait, each for one call. */
const limitOf = (filter: string) => ({ visited: filter.includes('waitingFor') ? 8_000 : 2_000 })

describe('[LARGE1] a page of runs is read by index', () => {
  const variables = '($agent: ID!, $quiet: ID!, $conversation: ID!, $early: DateTime!, $late: DateTime!)'
  // Each variable must be used.
  const used =
    'a: node(id: $agent) { id } b: node(id: $quiet) { id } c: node(id: $conversation) { id } d: runs(first: 1, filter: { createdAfter: $late, createdBefore: $early }) { nodes { id } }'
  const query = (list: string) => `query ${variables} { ${used} ${list} }`

  it.each(Object.entries(runFilters))('of the tenant: %s', async (_name, filter) => {
    for (const page of ['', 'last: 50, '])
      await expectSmall(await statementsOf(query(`runs(${page}filter: ${filter}) { nodes { id } }`)), limitOf(filter))
  })

  it.each(Object.entries(runFilters))('of an agent: %s', async (_name, filter) => {
    if (filter.includes('background')) return
    for (const agent of ['agent', 'quiet'])
      await expectSmall(
        await statementsOf(query(`agent(id: $${agent}) { runs(filter: ${filter}) { nodes { id } } }`)),
        limitOf(filter),
      )
  })

  it.each(Object.entries(runFilters))('of a long conversation: %s', async (_name, filter) => {
    if (filter.includes('background')) return
    const list = `conversation(id: $conversation) { runs(filter: ${filter}) { nodes { id } } }`
    // The conversation has 2,000 runs.
    await expectSmall(await statementsOf(query(list)), { visited: 8_000 })
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
  'those of a run': '{ runId: $run }',
  'pending ones of a run': '{ runId: $run, statuses: [PENDING] }',
  'those of a short conversation': '{ conversationId: $short }',
  'pending ones of a short conversation': '{ conversationId: $short, statuses: [PENDING, FAILED] }',
  'early ones': '{ createdBefore: $early }',
  'late ones': '{ createdAfter: $late }',
}

function callsOf(args: string) {
  const types = { $run: 'ID', $short: 'ID', $early: 'DateTime', $late: 'DateTime' }
  const used = Object.entries(types).filter(([name]) => args.includes(name))
  const variables = used.map(([name, type]) => `${name}: ${type}!`).join(' ')
  return statementsOf(`query ${used.length > 0 ? `(${variables})` : ''} { toolCalls(${args}) { nodes { id } } }`)
}

it.each(Object.entries(callFilters))('[LARGE2] a page of tool calls is read by index: %s', async (_name, filter) => {
  for (const page of ['', 'last: 50, '])
    await expectSmall(await callsOf(`${page}filter: ${filter}`), { visited: filter.includes('$late') ? 8_000 : 2_000 })
})

/** The lists of the schema that the tests above do not name, by their fields. */
const otherLists: Readonly<Record<string, readonly string[]>> = {
  'Query.agents': [
    '{ agents { totalCount nodes { id } } }',
    ...filtered('agents', '{ tags: ["rare"] }', '{ nameContains: "999" }', '{ key: "key 7" }'),
  ],
  'Query.blocks': ['{ blocks { totalCount nodes { id agents { id } } } }', ...filtered('blocks', '{ label: "rare" }')],
  'Query.mcpServers': ['{ mcpServers { nodes { id } } }'],
  'Query.tools': [
    '{ tools { nodes { id } } }',
    ...filtered('tools', '{ nameContains: "x" }', '{ names: ["look_up"] }', '{ kinds: [HTTP] }'),
  ],
  'Query.webhooks': ['{ webhooks { totalCount nodes { id } } }'],
  'Webhook.deliveries': ['{ webhooks(first: 1) { nodes { deliveries(status: DEAD) { totalCount nodes { id } } } } }'],
  'Query.schedules': [
    '{ schedules { nodes { id nextTimes } } }',
    'query ($agent: ID!) { schedules(agentId: $agent, last: 50) { nodes { id runs(first: 10) { nodes { id } } } } }',
  ],
  'Schedule.runs': ['{ schedules(first: 1) { nodes { runs { totalCount nodes { id } } } } }'],
  'Query.auditLog': [
    '{ auditLog { nodes { id } } }',
    '{ auditLog(last: 50) { nodes { id } } }',
    ...filtered(
      'auditLog',
      '{ actions: ["deleteAgent"] }',
      '{ actorId: "ann" }',
      '{ actorId: "nobody" }',
      '{ subjectId: "agent_7" }',
    ),
  ],
  'Query.conversations': [
    '{ conversations { nodes { id lastActivityAt } } }',
    '{ conversations(orderBy: CREATED, last: 50) { nodes { id } } }',
  ],
  'Agent.conversations': ['query ($agent: ID!) { agent(id: $agent) { conversations { nodes { id } } } }'],
  'Agent.passages': [
    'query ($agent: ID!, $quiet: ID!) { agent(id: $agent) { passages { nodes { id } } } node(id: $quiet) { ... on Agent { passages(last: 50) { nodes { id } } } } }',
    ...['common', 'rare', 'nowhere'].map(
      (query) => `query ($agent: ID!) { agent(id: $agent) { searchPassages(query: "${query}") { passage { id } } } }`,
    ),
  ],
  'Run.events': ['query ($run: ID!) { run(id: $run) { events { nodes { __typename } } } }'],
  'Run.messages': ['query ($run: ID!) { run(id: $run) { messages(filter: { types: [USER] }) { nodes { id } } } }'],
  'Query.nodes': [
    'query ($run: ID!, $agent: ID!, $conversation: ID!) { nodes(ids: [$run, $agent, $conversation]) { id } }',
  ],
  'Query.apiKeys': ['{ apiKeys { id } }'],
  'Query.workers': ['{ workers { id activeRunCount } }'],
}

function filtered(list: string, ...filters: readonly string[]): string[] {
  return filters.map((filter) => `{ ${list}(filter: ${filter}) { nodes { id } } }`)
}

it.each(Object.entries(otherLists))('[LARGE9] %s is read by index', async (_name, documents) => {
  for (const document of documents)
    await expectSmall(await statementsOf(document), {
      // The index of words names all passages with a common word, of which few are read.
      visited: document.includes('searchPassages') ? 2 * counts.auditEntries : 12_000,
    })
})

it.each([
  '{ conversations { totalCount } }',
  '{ conversations(orderBy: LAST_ACTIVITY) { nodes { id } } }',
  '{ conversations(filter: { titleContains: "nowhere" }) { nodes { id } } }',
  '{ conversations(filter: { metadataContains: { a: 1 } }) { nodes { id } } }',
  `{ usage(input: { from: "${new Date(Date.now() - 30 * 86_400_000).toISOString()}", to: "${new Date().toISOString()}", interval: DAY, groupBy: [AGENT] }) { runs } }`,
])('[LARGE10] reads what passes its other filters, and scans no table of runs or messages: %s', async (document) => {
  const statements = await statementsOf(document)
  for (const statement of statements.values()) {
    const { visited, plan, scanned } = await explain(large.pool, statement)
    expect(visited, plan).toBeLessThanOrEqual(4 * Math.max(counts.conversations, counts.auditEntries))
    const mayBeRead = ['conversations', 'usage_hours', 'audit_entries']
    expect(
      scanned.filter((table) => !mayBeRead.includes(table) && largeTables.includes(table)),
      plan,
    ).toEqual([])
  }
})

it('[LARGE10] budgets read the runs that have not ended and their steps, and no messages', async () => {
  // A tenth of the runs wait here. Postgres then reads all runs and steps rather than theirs by index.
  const statements = await statementsOf('{ budgets { id spentTokens spentUsd unpricedModels } }')
  for (const statement of statements.values()) {
    const { visited, plan, scanned } = await explain(large.pool, statement)
    expect(visited, plan).toBeLessThanOrEqual(4 * counts.runs)
    expect(
      scanned.filter((table) => ['messages', 'run_log', 'tool_calls'].includes(table)),
      plan,
    ).toEqual([])
  }
})

it('[LARGE9] every list and subscription of the schema is explained here', () => {
  const above = ['Query.runs', 'Agent.runs', 'Conversation.runs', 'Query.toolCalls', 'Conversation.messages']
  const streams = ['approvalInbox', 'runChanges', 'runEvents', 'conversationEvents'].map(
    (name) => `Subscription.${name}`,
  )
  // No rows of their own: the configuration's, or read in LARGE10.
  const others = ['Query.models', 'Query.usage', 'Query.budgets']
  const lists = Object.values(schema.getTypeMap())
    .filter(isObjectType)
    .flatMap((type) =>
      Object.values(type.getFields())
        .filter(({ type: of }) => {
          const isPage = /Connection!?$/.test(String(of))
          return isPage || type.name === 'Subscription' || (type.name === 'Query' && String(of).startsWith('['))
        })
        .map(({ name }) => `${type.name}.${name}`),
    )
  const explained = new Set([...above, ...streams, ...others, ...Object.keys(otherLists)])
  expect(lists.filter((list) => !explained.has(list))).toEqual([])
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
