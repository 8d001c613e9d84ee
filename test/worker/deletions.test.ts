import { sql } from 'kysely'
import { afterAll, afterEach, expect, onTestFinished, test } from 'vitest'

import { clearConversation } from '../../src/store/conversations/conversations.ts'
import { deleteMarked } from '../../src/store/deletions.ts'
import { deleteBatch } from '../../src/store/retention.ts'
import { systemClock } from '../../src/util/clock.ts'
import { Retention } from '../../src/worker/retention.ts'
import { startTestApp } from '../support/app.ts'
import { hookDatabase } from '../support/gated-database.ts'
import { createGatedModel, gatedHandle } from '../support/gated-model.ts'
import { addTurns } from '../support/many-turns.ts'
import { talkTo } from '../support/talk.ts'
import { longer } from '../support/long.ts'

/** In the long version, a million messages. */
const turns = longer(1_500, 500_000)

const model = createGatedModel()

const app = await startTestApp({ providers: [model.provider] })
const talk = talkTo(app)
afterEach(() => model.assertAllTaken())
afterAll(() => app.stop())

const uuidOf = (id: string) => id.slice(id.indexOf('_') + 1)

/** Holds the lock of a batch, so that nobody else deletes, until the returned function is called. */
async function holdDeletions(): Promise<() => Promise<void>> {
  const release = Promise.withResolvers<void>()
  for (;;) {
    const isHeld = Promise.withResolvers<boolean>()
    const batch = deleteBatch(app.database.db, async (trx) => {
      isHeld.resolve(true)
      // An idle transaction would be ended after a minute, and a million rows may take longer.
      const beat = setInterval(() => void sql`select 1`.execute(trx), 10_000)
      await release.promise
      clearInterval(beat)
      return 0
    })
    void batch.finally(() => isHeld.resolve(false))
    if (await isHeld.promise)
      return async () => {
        release.resolve()
        await batch
      }
  }
}

/** Deletes until nothing is left, and returns the sizes of the batches. */
async function deleteAll(db = app.database.db): Promise<number[]> {
  const sizes: number[] = []
  const rules = { defaults: {}, tenants: {}, agents: {} }
  const retention = new Retention({ db, clock: systemClock, rules, onDeleted: (rows) => void sizes.push(rows) })
  const left = async () =>
    (
      await app.database.pool.query(
        'select id from conversations where deleted_at is not null union select id from agents where deleted_at is not null',
      )
    ).rowCount
  while ((await left())! > 0) await retention.tidy()
  return sizes
}

async function mainOf(agent: string): Promise<string> {
  const { agent: shown } = await app.data('query ($id: ID!) { agent(id: $id) { mainConversation { id } } }', {
    id: agent,
  })
  return shown.mainConversation.id
}

async function createConversation(agent: string): Promise<string> {
  const { createConversation: made } = await app.data(
    'mutation ($id: ID!) { createConversation(input: { agentId: $id }) { conversation { id } } }',
    { id: agent },
  )
  return made.conversation.id
}

async function turn(to: string, text: string, options = {}): Promise<string> {
  const run = await talk.start(to, text, options)
  const call = await model.nextCall()
  call.say(`You said ${text}`)
  call.finish()
  await talk.settled(run)
  return run
}

/** Rows of the conversations that are in the tables, whoever may see them. */
async function countRows(conversationIds: readonly string[]): Promise<number> {
  const { rows } = await app.database.pool.query(
    `select (select count(*) from messages where conversation_id = any($1::uuid[]))
       + (select count(*) from runs where conversation_id = any($1::uuid[]))
       + (select count(*) from conversations where id = any($1::uuid[])) as n`,
    [conversationIds.map(uuidOf)],
  )
  return Number(rows[0].n)
}

/** Rows that belong to no run. */
async function countOrphans(): Promise<number> {
  const { rows } = await app.database.pool.query(
    `select (select count(*) from messages where conversation_id not in (select id from conversations))
       + (select count(*) from run_log where run_id not in (select id from runs))
       + (select count(*) from tool_calls where run_id not in (select id from runs))
       + (select count(*) from steps where run_id not in (select id from runs)) as n`,
  )
  return Number(rows[0].n)
}

const overview = `query ($ids: [ID!]!, $agent: ID!) {
  nodes(ids: $ids) { id }
  agent(id: $agent) { id }
  agents(first: 200) { totalCount nodes { id name } }
  conversations(first: 200) { totalCount nodes { id agent { name } } }
  runs(first: 200) { totalCount nodes { id agent { name } conversation { id } } }
  toolCalls(first: 200) { nodes { id run { id agent { name } } } }
  tools(first: 200) { nodes { name } }
}`

test(
  '[OPS62] a deleted agent is gone at once, however many rows it has, and they are deleted in the background',
  {
    timeout: 1_800_000,
  },
  async () => {
    const agent = await talk.createAgent({ name: 'doomed', tools: ['memory_insert'] })
    await app.database.pool.query("update agents set key = 'the key' where id = $1", [uuidOf(agent)])
    const conversations = [await mainOf(agent), await createConversation(agent)]
    const runs = [await turn(conversations[0]!, 'one', { idempotencyKey: 'k' }), await turn(conversations[1]!, 'two')]
    const { run } = await app.data('query ($id: ID!) { run(id: $id) { messages { nodes { id } } } }', { id: runs[0] })
    const messages = run.messages.nodes.map(({ id }: { id: string }) => id)
    await addTurns(app.database.pool, uuidOf(conversations[0]!), turns)
    const release = await holdDeletions()
    onTestFinished(release)
    const before = await countRows(conversations)
    const streamed = await app.events(
      `subscription { conversationEvents(conversationId: "${conversations[1]}", after: "${await lastCursor(conversations[1]!)}") { __typename } }`,
    )

    // A turn in progress ends with the agent.
    const going = await talk.start(conversations[1]!, 'three')
    const call = await model.nextCall()
    await app.data('mutation ($id: ID!) { deleteAgent(input: { id: $id }) { __typename } }', { id: agent })
    await call.aborted
    for await (const _event of streamed);

    expect(await countRows(conversations)).toBeGreaterThanOrEqual(before)
    const ids = [agent, ...conversations, ...runs, ...messages, going]
    const shown = await app.data(overview, { ids, agent })
    expect(shown.nodes).toEqual(ids.map(() => null))
    expect(shown.agent).toBeNull()
    expect(JSON.stringify(shown)).not.toContain('doomed')
    for (const id of ids) expect(JSON.stringify(shown)).not.toContain(id)
    for (const list of ['agents', 'conversations', 'runs'])
      expect(shown[list].totalCount).toBe(shown[list].nodes.length)
    const refused = await app.request(
      'mutation ($id: ID!) { sendMessage(input: { to: { conversationId: $id }, messages: [{ text: "x" }] }) { __typename } }',
      { id: conversations[0] },
    )
    expect(refused.errors![0]!.extensions.code).toBe('NOT_FOUND')

    // The key of the agent can be used again.
    const { upsertAgent } = await app.data(
      'mutation ($input: UpsertAgentInput!) { upsertAgent(input: $input) { agent { id } } }',
      { input: { key: 'the key', agent: { name: 'heir', model: gatedHandle } } },
    )
    const heir = upsertAgent.agent.id
    await turn(heir, 'one')

    await release()
    const sizes = await deleteAll()
    expect(Math.max(...sizes)).toBeLessThanOrEqual(1_000)
    expect(await countRows(conversations)).toBe(0)
    expect(await countOrphans()).toBe(0)
    expect(await talk.messages(await turn(heir, 'two'))).toHaveLength(2)
  },
)

async function lastCursor(id: string): Promise<string> {
  const { conversation } = await app.data('query ($id: ID!) { conversation(id: $id) { lastCursor } }', { id })
  return conversation.lastCursor
}

test('[OPS63] no turn waits for a batch of a deleted conversation, and a process that dies in one leaves it to others', async () => {
  const release = await holdDeletions()
  onTestFinished(release)
  const agent = await talk.createAgent()
  const conversation = await createConversation(agent)
  await addTurns(app.database.pool, uuidOf(conversation), 450)
  await app.data('mutation ($id: ID!) { deleteConversation(input: { id: $id }) { __typename } }', { id: conversation })

  // A process dies in the middle of a batch, with its locks held until then.
  const reached = Promise.withResolvers<void>()
  const died = Promise.withResolvers<void>()
  const dying = hookDatabase(app.database.pool, {
    async before(statement) {
      if (statement !== 'commit') return
      reached.resolve()
      await died.promise
      throw new Error('the process died')
    },
  })
  const batch = dying.transaction().execute((trx) => deleteMarked(trx, { limit: 200, now: new Date() }))
  batch.catch(() => undefined)
  await reached.promise
  await turn(agent, 'meanwhile')
  died.resolve()
  await expect(batch).rejects.toThrow('died')
  expect(await countRows([conversation])).toBe(1 + 3 * 450)

  await release()
  await deleteAll()
  expect(await countRows([conversation])).toBe(0)
  expect(await countOrphans()).toBe(0)
  await turn(agent, 'afterwards')
})

test('[OPS62] a conversation that was added while its agent was deleted goes too, with its unfinished run', async () => {
  const release = await holdDeletions()
  onTestFinished(release)
  const agent = await talk.createAgent()
  const conversation = await createConversation(agent)
  await addTurns(app.database.pool, uuidOf(conversation), 3)
  await app.data('mutation ($id: ID!) { deleteAgent(input: { id: $id }) { __typename } }', { id: agent })
  await app.database.pool.query(
    `with paused as (
       update runs set status = 'AWAITING_APPROVAL', stop_reason = 'REQUIRES_APPROVAL', finished_at = null
       where conversation_id = $1 and number = 1 returning id)
     update conversations set deleted_at = null, active_run_id = paused.id from paused where conversations.id = $1`,
    [uuidOf(conversation)],
  )
  await release()
  await deleteAll()
  expect(await countRows([conversation])).toBe(0)
  expect(await countOrphans()).toBe(0)
})

test('[OPS85] a batch finds its rows by index, however large the tables are', async () => {
  const release = await holdDeletions()
  onTestFinished(release)
  const conversation = await createConversation(await talk.createAgent())
  await addTurns(app.database.pool, uuidOf(conversation), 450)
  await app.data('mutation ($id: ID!) { deleteConversation(input: { id: $id }) { __typename } }', { id: conversation })
  const tables = ['messages', 'run_log', 'steps', 'tool_calls']
  // Now the planner knows that reading these small tables would be cheaper.
  await app.database.pool.query(`analyze ${tables.join()}`)
  await app.database.db.transaction().execute(async (trx) => {
    const countScans = async () => {
      const { rows } = await sql<{ scans: number }>`
        select sum(seq_scan)::integer as scans from pg_stat_xact_user_tables where relname = any(${tables})`.execute(
        trx,
      )
      return rows[0]!.scans
    }
    const before = await countScans()
    expect(await deleteMarked(trx, { limit: 200, now: new Date() })).toBe(200)
    expect(await countScans()).toBe(before)
  })
})

test('[OPS86] while a conversation is being cleared, the other conversations of its agent and retention go on', async () => {
  const agent = await talk.createAgent()
  const [cleared, other, deleted] = [
    await mainOf(agent),
    await createConversation(agent),
    await createConversation(agent),
  ]
  await addTurns(app.database.pool, uuidOf(cleared), 450)
  await addTurns(app.database.pool, uuidOf(deleted), 10)
  const isCleared = Promise.withResolvers<void>()
  const release = Promise.withResolvers<void>()
  onTestFinished(() => release.resolve())
  const clearing = app.database.db.transaction().execute(async (trx) => {
    await sql`select from conversations where id = ${uuidOf(cleared)} for no key update`.execute(trx)
    await clearConversation(trx, uuidOf(cleared), new Date())
    isCleared.resolve()
    await release.promise
  })
  await isCleared.promise
  await turn(other, 'meanwhile')
  await app.data('mutation ($id: ID!) { deleteConversation(input: { id: $id }) { __typename } }', { id: deleted })
  await deleteAll()
  expect(await countRows([deleted])).toBe(0)
  release.resolve()
  await clearing
  expect(await countRows([cleared])).toBe(1)
  await turn(cleared, 'afterwards')
})
