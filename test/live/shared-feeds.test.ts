import { sql } from 'kysely'
import { afterAll, expect, test } from 'vitest'

import { Hub } from '../../src/live/hub.ts'
import { watchInbox, type InboxEvent } from '../../src/live/watch-inbox.ts'
import { watchRuns } from '../../src/live/watch-runs.ts'
import { createGround } from '../support/execute.ts'
import { createFailingDatabase } from '../support/failing-database.ts'
import { createFixtures } from '../support/fixtures.ts'
import { hookDatabase } from '../support/gated-database.ts'

const ground = await createGround()
const make = createFixtures(ground.db)
afterAll(() => ground.close())

/** A tenant with a run that waits for this many approvals. */
async function waitingRun(count: number) {
  const tenantId = await make.tenant(`with ${count} calls`)
  const agent = await make.agent({ tenant_id: tenantId })
  const conversation = await make.conversation({ tenant_id: tenantId, agent_id: agent.id })
  const run = await make.run(conversation, { status: 'AWAITING_APPROVAL' })
  await sql`
    insert into tool_calls (id, tenant_id, run_id, step_index, ordinal, provider_call_id, name, arguments_text, needs,
      created_at, status)
    select ('00000000-0000-7000-8000-' || right(${run.id}::text, 6) || lpad(n::text, 6, '0'))::uuid, ${tenantId}::uuid,
      ${run.id}::uuid, 0, n, n::text, 'pay', '{}', 'APPROVAL', now(), 'PENDING'
    from generate_series(1, ${count}::integer) n`.execute(ground.db)
  const decide = async (ordinal: number) => {
    const where = sql`where run_id = ${run.id} and ordinal = ${ordinal}`
    await sql`update tool_calls set status = 'READY' ${where}`.execute(ground.db)
  }
  return { tenantId, agent, conversation, run, decide }
}

test('[INB3] a long list is read page by page: 200 calls at first, the rest one by one, and a change reads one run', async () => {
  const count = 1_300
  const { tenantId, conversation, run, decide } = await waitingRun(count)
  const statements: { readonly sql: string; readonly parameters: readonly unknown[] }[] = []
  const db = hookDatabase(ground.pool, {
    before: (text, parameters) => void statements.push({ sql: text, parameters }),
  })
  const hub = new Hub()
  const filter = { agentIds: undefined, needs: ['APPROVAL'] } as const
  const inbox = watchInbox({ ...ground.context, db, hub }, { tenantId }, filter)
  const next = async () => (await inbox.next()).value as InboxEvent
  const ordinals: (number | undefined)[] = []

  const snapshot = await next()
  if (snapshot.type !== 'InboxSnapshot') throw new Error(`${snapshot.type} came first`)
  expect(snapshot.totalCount).toBe(count)
  ordinals.push(...snapshot.toolCalls.map(({ ordinal }) => ordinal))
  expect(ordinals).toHaveLength(200)
  while (ordinals.length < count) {
    const event = await next()
    ordinals.push(event.type === 'InboxAdded' ? event.toolCall.ordinal : undefined)
  }
  expect(ordinals).toEqual(Array.from({ length: count }, (_, index) => index + 1))
  const pages = statements.filter(({ sql: text }) => text.includes('"exception"') && text.includes('limit'))
  expect(pages.length).toBeGreaterThanOrEqual(3)
  for (const { parameters } of pages) expect(parameters).toContain(500)

  await decide(700)
  hub.announce({ runId: run.id, conversationId: conversation.id, tenantId, status: null, calls: true })
  expect(await next()).toMatchObject({ type: 'InboxRemoved', toolCall: { ordinal: 700 } })
  await expect.poll(() => statements.some(({ sql: text }) => text.includes('tool_calls.run_id = any('))).toBe(true)
  await inbox.return!()
})

test('[INB3] a subscriber that is too far behind starts over with a snapshot', async () => {
  const { tenantId, run, conversation } = await waitingRun(1_200)
  const hub = new Hub()
  const filter = { agentIds: undefined, needs: ['APPROVAL'] } as const
  const open = () => watchInbox({ ...ground.context, hub }, { tenantId }, filter)
  const slow = open()
  for (let events = 0; events < 1_001; events += 1) await slow.next()
  await sql`update tool_calls set status = 'READY' where run_id = ${run.id} and ordinal > 1`.execute(ground.db)
  hub.announce({ runId: run.id, conversationId: conversation.id, tenantId, status: null, calls: true })
  // Another subscriber sees that the change was read.
  const other = open()
  expect((await other.next()).value).toMatchObject({ type: 'InboxSnapshot', totalCount: 1 })
  expect((await slow.next()).value).toMatchObject({ type: 'InboxSnapshot', totalCount: 1 })
  await slow.return!()
  await other.return!()
})

test('[CHG4] runChanges finds what changed while the database was unavailable, however long that was', async () => {
  const { tenantId, run } = await waitingRun(1)
  const failing = createFailingDatabase(ground)
  let now = ground.context.clock.now()
  const clock = { ...ground.context.clock, now: () => now }
  const later = (seconds: number) => (now = new Date(now.getTime() + seconds * 1_000))
  const context = { ...ground.context, clock, db: failing.db, hub: new Hub() }
  const filter = { agentIds: undefined, conversationId: undefined }
  const changes = watchRuns(context, { tenantId }, { since: new Date(0), filter })
  expect((await changes.next()).value).toMatchObject({ id: run.id, status: 'AWAITING_APPROVAL' })

  const next = changes.next()
  failing.failNext(Infinity)
  const ended = { status: 'CANCELLED', stop_reason: 'CANCELLED', finished_at: later(60) } as const
  await ground.db.updateTable('runs').set(ended).where('id', '=', run.id).execute()
  later(600)
  failing.recover()
  expect((await next).value).toMatchObject({ id: run.id, status: 'CANCELLED' })
  await changes.return!()
})

test('[CHG81] runChanges finds a run that changed back after it was sent, although the news was lost', async () => {
  const { tenantId, agent } = await waitingRun(0)
  const conversation = await make.conversation({ tenant_id: tenantId, agent_id: agent.id })
  const run = await make.run(conversation)
  const [polled, pollAgain] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()]
  const [asked, answer] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()]
  let polls = 0
  const isPoll = (statement: string) => statement.includes('greatest(')
  const db = hookDatabase(ground.pool, {
    async before(statement) {
      if (isPoll(statement) && (polls += 1) > 1) await pollAgain.promise
      if (!/^\s*select runs\.id/.test(statement)) return
      asked.resolve()
      await answer.promise
    },
    after: (statement) => void (isPoll(statement) && polled.resolve()),
  })
  const hub = new Hub()
  const filter = { agentIds: undefined, conversationId: undefined }
  const changes = watchRuns(
    { ...ground.context, db, hub },
    { tenantId },
    { since: new Date(Date.now() + 60_000), filter },
  )
  const set = (status: 'RUNNING' | 'AWAITING_APPROVAL') =>
    ground.db.updateTable('runs').set({ status, updated_at: new Date() }).where('id', '=', run.id).execute()
  const first = changes.next()
  await polled.promise

  // The news is about a status that is over when the run is read.
  hub.announce({ runId: run.id, conversationId: conversation.id, tenantId, status: 'RUNNING', calls: false })
  await asked.promise
  await set('AWAITING_APPROVAL')
  answer.resolve()
  expect((await first).value).toMatchObject({ id: run.id, status: 'AWAITING_APPROVAL' })
  await set('RUNNING')
  const second = changes.next()
  pollAgain.resolve()
  expect((await second).value).toMatchObject({ id: run.id, status: 'RUNNING' })
  await changes.return!()
})
