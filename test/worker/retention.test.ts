import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'

import { afterAll, afterEach, expect, test } from 'vitest'

import { readConfig, retentionRules } from '../../src/config/config.ts'
import { retentionScopes, type RetentionRule, type RetentionRules } from '../../src/domain/retention.ts'
import { deleteBatch, deleteOldRuns } from '../../src/store/retention.ts'
import { systemClock } from '../../src/util/clock.ts'
import { Retention } from '../../src/worker/retention.ts'
import { startTestApp } from '../support/app.ts'
import { createGatedModel } from '../support/gated-model.ts'
import { addTurns } from '../support/many-turns.ts'
import { talkTo } from '../support/talk.ts'
import { makeTemporaryFolder } from '../support/temporary-folder.ts'

const model = createGatedModel()

const app = await startTestApp({ providers: [model.provider] })
const talk = talkTo(app)
afterEach(() => model.assertAllTaken())
afterAll(() => app.stop())

const rulesWith = (defaults: RetentionRule, rest: Partial<RetentionRules> = {}): RetentionRules => ({
  defaults,
  tenants: {},
  agents: {},
  ...rest,
})

/** Deletes everything old. Returns the deleted rows. */
async function tidy(rules: RetentionRules, db = app.database.db): Promise<number> {
  let deleted = 0
  const onDeleted = (rows: number) => void (deleted += rows)
  const retention = new Retention({ db, clock: systemClock, rules, onDeleted })
  for (let before = -1; before !== deleted;) {
    before = deleted
    await retention.tidy()
  }
  return deleted
}

async function turn(to: string, text: string): Promise<string> {
  const run = await talk.start(to, text)
  const call = await model.nextCall()
  call.say(`You said ${text}`)
  call.finish()
  await talk.settled(run)
  return run
}

const uuidOf = (id: string) => id.slice(id.indexOf('_') + 1)

async function count(table: string, where: string, ...values: unknown[]): Promise<number> {
  const { rows } = await app.database.pool.query(`select count(*)::integer as n from ${table} where ${where}`, values)
  return rows[0].n
}

async function mainOf(agent: string): Promise<string> {
  const { agent: shown } = await app.data('query ($id: ID!) { agent(id: $id) { mainConversation { id } } }', {
    id: agent,
  })
  return shown.mainConversation.id
}

/** As if a summary had taken the place of all turns so far. */
async function compact(agent: string): Promise<void> {
  const started = app.data(
    'mutation ($id: ID!) { compactConversation(input: { conversationId: $id, compaction: { mode: ALL } }) { ... on CompactConversationSuccess { run { id } } ... on Refusal { message } } }',
    { id: await mainOf(agent) },
  )
  const call = await model.nextCall()
  call.say('a summary')
  call.finish()
  await talk.settled((await started).compactConversation.run.id)
}

test('[OLD1] a run whose log was deleted keeps its messages, and its stream ends at once with how the run ended', async () => {
  const run = await talk.start(await talk.createAgent(), 'one')
  // A second step, so that the log has more than its last row.
  const first = await model.nextCall()
  first.call('unknown', {})
  first.finish()
  const second = await model.nextCall()
  second.say('Done.')
  second.finish()
  await talk.settled(run)
  expect(await tidy(rulesWith({ logs: 0 }))).toBeGreaterThan(0)
  expect(await count('run_log', 'run_id = $1', uuidOf(run))).toBe(1)
  const events = await app.events(
    `subscription { runEvents(runId: "${run}") { __typename ... on RunStatusChanged { status } } }`,
  )
  const seen: unknown[] = []
  for await (const { data } of events) seen.push(data.runEvents)
  expect(seen[0]).toEqual({ __typename: 'RunStatusChanged', status: 'QUEUED' })
  expect(seen.at(-1)).toEqual({ __typename: 'RunStatusChanged', status: 'COMPLETED' })
  expect(await talk.messages(run)).toHaveLength(4)
})

test('[OLD2] an ended run is deleted with its messages once it has left the context; what a model is sent never changes', async () => {
  const agent = await talk.createAgent()
  const old = await turn(agent, 'one')
  expect(await tidy(rulesWith({ runs: 0 }, { agents: { [uuidOf(agent)]: { runs: 0 } } }))).toBe(0)
  await compact(agent)
  const recent = await turn(agent, 'two')
  const context = async () => {
    const { agent: shown } = await app.data(
      'query ($id: ID!) { agent(id: $id) { mainConversation { context { request } messages { totalCount } } } }',
      { id: agent },
    )
    return shown.mainConversation
  }
  const before = await context()
  expect(await tidy(rulesWith({ runs: 0 }))).toBe(1)
  expect(await talk.run(old)).toBeNull()
  expect(await talk.run(recent)).toMatchObject({ status: 'COMPLETED' })
  const after = await context()
  expect(after.context).toEqual(before.context)
  expect(after.messages.totalCount).toBe(before.messages.totalCount - 2)
  expect(
    await count(
      'messages',
      'not exists (select from runs where runs.conversation_id = messages.conversation_id and runs.hold = run_hold)',
    ),
  ).toBe(0)
  await turn(agent, 'three')
})

test('[OLD3] an archived conversation is deleted, a main one is emptied, and others are left alone', async () => {
  const agent = await talk.createAgent()
  const create = async () => {
    const { createConversation } = await app.data(
      'mutation ($id: ID!) { createConversation(input: { agentId: $id }) { conversation { id } } }',
      { id: agent },
    )
    return createConversation.conversation.id as string
  }
  const [archived, other] = [await create(), await create()]
  const { agent: shown } = await app.data('query ($id: ID!) { agent(id: $id) { mainConversation { id } } }', {
    id: agent,
  })
  const main = shown.mainConversation.id as string
  for (const id of [archived, other, main]) await turn(id, 'hello')
  await app.database.pool.query('update conversations set archived_at = now() where id = any($1::uuid[])', [
    [uuidOf(archived), uuidOf(main)],
  ])
  await tidy(rulesWith({ archived: 0 }))
  expect(await count('conversations', 'id = $1', uuidOf(archived))).toBe(0)
  expect(await count('messages', 'conversation_id = any($1::uuid[])', [uuidOf(archived), uuidOf(main)])).toBe(0)
  expect(await count('messages', 'conversation_id = $1', uuidOf(other))).toBe(2)
  await turn(main, 'and again')
})

test('[OLD4] rules hold for all, for a tenant or for an agent, and the narrowest one counts', async () => {
  const now = new Date(1_000_000)
  const rules = rulesWith(
    { runs: 1_000, logs: null },
    { tenants: { acme: { runs: null, audit: 5 } }, agents: { a1: { runs: 10, audit: 1 } } },
  )
  const tenants = [
    { id: 't1', name: 'default' },
    { id: 't2', name: 'acme' },
  ]
  const before = (ms: number) => new Date(1_000_000 - ms)
  expect(retentionScopes(rules, 'runs', tenants, now)).toEqual([
    { of: { tenantId: 't1', exceptAgentIds: ['a1'] }, before: before(1_000) },
    { of: { agentId: 'a1' }, before: before(10) },
  ])
  expect(retentionScopes(rules, 'logs', tenants, now)).toEqual([])
  expect(retentionScopes(rules, 'audit', tenants, now)).toEqual([
    { of: { tenantId: 't2', exceptAgentIds: ['a1'] }, before: before(5) },
  ])

  const folder = await makeTemporaryFolder()
  const file = join(folder, 'retention.json')
  const agent = `agent_${'0'.repeat(31)}1`
  const read = async (text: string) => {
    await writeFile(file, text)
    return retentionRules(readConfig({ HOLDPOINT_RETENTION: file, HOLDPOINT_KEEP_RUNS: '30d' }))
  }
  const given = { tenants: { acme: { runs: '1d' } }, agents: { [agent]: { logs: 'forever' } } }
  expect(await read(JSON.stringify(given))).toEqual({
    defaults: { logs: null, runs: 30 * 86_400_000, archived: null, audit: null },
    tenants: { acme: { runs: 86_400_000 } },
    agents: { '00000000-0000-0000-0000-000000000001': { logs: null } },
  })
  const wrong = {
    '{': /JSON/,
    '{"tenants":{"acme":{"all":"1d"}}}': /tenants\.acme has no field "all": expected logs, runs, archived, audit/,
    '{"agents":{"ada":{}}}': /agents has "ada", which is not the id of an agent/,
  }
  for (const [text, message] of Object.entries(wrong)) await expect(read(text)).rejects.toThrow(message)
  await expect(read('{"tenants":{"acme":{"runs":"soon"}}}')).rejects.toThrow(/such as 12h or 30d/)
})

test('[OLD5] a turn does not wait for a batch that is being deleted, not even one of its own conversation', async () => {
  const agent = await talk.createAgent()
  const old = await turn(agent, 'one')
  await compact(agent)
  const deleted = Promise.withResolvers<void>()
  const release = Promise.withResolvers<void>()
  const deleteOne = () =>
    deleteBatch(app.database.db, async (trx) => {
      const rows = await deleteOldRuns(trx, [uuidOf(old)])
      deleted.resolve()
      await release.promise
      return rows
    })
  // The server's own retention may have the lock at this moment.
  const batch = (async () => {
    for (;;) {
      const rows = await deleteOne()
      if (rows !== undefined) return rows
    }
  })()
  await deleted.promise
  await turn(agent, 'two')
  // Another process finds the lock taken, and does nothing.
  expect(await deleteBatch(app.database.db, async () => 1)).toBeUndefined()
  release.resolve()
  expect(await batch).toBe(1)
})

test('[OLD6] audit entries are deleted when they are old', async () => {
  await talk.createAgent()
  expect(await count('audit_entries', 'true')).toBeGreaterThan(0)
  await expect.poll(() => tidy(rulesWith({ audit: 1 })).then(() => count('audit_entries', 'true'))).toBe(0)
})

test('[OLD7] the rows of months are deleted in small batches, and only those that are old', async () => {
  const agent = await talk.createAgent()
  const conversation = uuidOf(await mainOf(agent))
  await addTurns(app.database.pool, conversation, 1_500)
  const going = await talk.start(agent, 'and now')
  const call = await model.nextCall()
  const sizes: number[] = []
  const rules = rulesWith({}, { agents: { [uuidOf(agent)]: { runs: 0 } } })
  const options = { db: app.database.db, clock: systemClock, rules, onDeleted: (rows: number) => void sizes.push(rows) }
  await expect
    .poll(async () => {
      await new Retention(options).tidy()
      return count('runs', 'conversation_id = $1 and ended', conversation)
    })
    .toBe(0)
  expect(Math.max(...sizes)).toBeLessThanOrEqual(200)
  // What has not ended stays.
  expect(await count('runs', 'conversation_id = $1', conversation)).toBe(1)
  expect(await count('messages', 'conversation_id = $1', conversation)).toBe(1)
  for (const table of ['steps', 'run_log', 'tool_calls'])
    expect(await count(table, 'not exists (select from runs where runs.id = run_id)')).toBe(0)
  call.say('done')
  call.finish()
  expect(await talk.settled(going)).toMatchObject({ status: 'COMPLETED' })
})

test('[OLD8] runs that one process passed over while another deleted are deleted in its next round', async () => {
  const agent = await talk.createAgent()
  const conversation = uuidOf(await mainOf(agent))
  await addTurns(app.database.pool, conversation, 250)
  const rules = rulesWith({}, { agents: { [uuidOf(agent)]: { runs: 0 } } })
  const retention = new Retention({ db: app.database.db, clock: systemClock, rules, onDeleted: () => undefined })
  const release = Promise.withResolvers<void>()
  const held = Promise.withResolvers<void>()
  const other = deleteBatch(app.database.db, async () => {
    held.resolve()
    await release.promise
    return 0
  })
  await Promise.race([held.promise, other])
  await retention.tidy()
  const left = () => count('runs', 'conversation_id = $1', conversation)
  expect(await left()).toBe(250)
  release.resolve()
  await other
  await expect.poll(() => retention.tidy().then(left)).toBe(0)
})
