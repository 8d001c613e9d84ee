import { sql, type RawBuilder } from 'kysely'

import { unfinishedRunsOf } from './conversations/conversations.ts'
import { deleteRuns } from './retention.ts'
import type { Trx } from './database/schema.ts'
import { countUnfinishedRuns } from './usage/count-runs.ts'

/**
 * An agent or conversation may have a million rows. Deleting it marks it and removes what is small or in progress; from
 * then on nobody sees it (see `ofTenant`). Its rows are deleted later, in batches, by any process.
 */

/**
 * Makes conversations disappear for their users, together with their unfinished runs. Returns the ids of those runs.
 * The caller has locked the conversations that it knows of; one that was added since then is locked here.
 */
export async function markConversationsDeleted(
  trx: Trx,
  which: { readonly agentId: string } | { readonly id: string },
  now: Date,
): Promise<string[]> {
  const isNamed = 'id' in which ? sql`id = ${which.id}` : sql`agent_id = ${which.agentId}`
  // The lock waits for transactions that add something to the conversation.
  const { rows } = await sql<{ id: string }>`
    select id from conversations
    where deleted_at is null and (${isNamed} or for_conversation in (select id from conversations where ${isNamed}))
    order by id for update`.execute(trx)
  const ids = rows.map(({ id }) => id)
  if (ids.length === 0) return []
  const { rows: runs } = await sql<{ id: string }>`
    select id from runs where id in (${unfinishedRunsOf(ids)}) and not ended for update`.execute(trx)
  const runIds = runs.map((run) => run.id)
  await countUnfinishedRuns(trx, runIds, now)
  await sql`delete from runs where id = any(${runIds}::uuid[])`.execute(trx)
  await sql`update conversations set deleted_at = ${now}, active_run_id = null where id = any(${ids}::uuid[])`.execute(
    trx,
  )
  await sql`delete from blocks where conversation_id = any(${ids}::uuid[])`.execute(trx)
  return runIds
}

/**
 * Makes an agent disappear for its users, together with its conversations. Its blocks and tools stay, and its key can
 * be used again. Returns the ids of the unfinished runs.
 */
export async function markAgentDeleted(trx: Trx, id: string, now: Date): Promise<string[]> {
  // The lock waits for transactions that add a conversation to the agent.
  await sql`select from agents where id = ${id} for update`.execute(trx)
  await sql`update agents set deleted_at = ${now}, key = null where id = ${id}`.execute(trx)
  for (const table of ['agent_tools', 'agent_blocks', 'sleeptime_groups', 'sleeptime_group_agents'])
    await sql`delete from ${sql.table(table)} where agent_id = ${id}`.execute(trx)
  return markConversationsDeleted(trx, { agentId: id }, now)
}

/** How many files are deleted at a time. A transaction that stores a file with the same content waits for the batch. */
const filesAtOnce = 20

/**
 * Deletes the next rows of marked agents and conversations. It locks only marked rows, which no turn uses. Returns the
 * number of rows, 0 if there is nothing to do.
 */
export async function deleteMarked(
  trx: Trx,
  { limit, now }: { readonly limit: number; readonly now: Date },
): Promise<number> {
  // Conversations that belong to another are deleted before it. Deleting a run changes its child runs, so it waits
  // while a worker drives one of them.
  const { rows } = await sql<{ id: string }>`
    select id from conversations where deleted_at is not null and id not in (
      select parent.conversation_id from runs child join runs parent on parent.id = child.parent_id
      where child.worker_id is not null)
    order by for_conversation is null, id limit 1 for update skip locked`.execute(trx)
  const id = rows[0]?.id
  if (id === undefined) return deleteEmptyAgent(trx, { limit, now })
  const ofRuns = await deleteRuns(
    trx,
    sql`select id from runs where conversation_id = ${id} order by hold limit ${limit} for update`,
  )
  return (
    ofRuns ||
    (await deleteSome(trx, 'messages', { of: id, limit: limit * 5 })) ||
    (await deleteSome(trx, 'files', { of: id, limit: filesAtOnce })) ||
    (await affected(trx, sql`delete from webhook_deliveries where conversation_id = ${id} and status <> 'PENDING'`)) ||
    affected(trx, sql`delete from conversations where id = ${id}`)
  )
}

async function deleteSome(
  trx: Trx,
  table: 'messages' | 'files' | 'passages',
  { of, limit }: { readonly of: string; readonly limit: number },
): Promise<number> {
  const rows = sql.table(table)
  const owner = sql.ref(table === 'passages' ? 'agent_id' : 'conversation_id')
  return affected(
    trx,
    sql`delete from ${rows} where ctid = any(array(select ctid from ${rows} where ${owner} = ${of} limit ${limit}))`,
  )
}

/** A conversation that was added while its agent was deleted is marked now. */
async function deleteEmptyAgent(
  trx: Trx,
  { limit, now }: { readonly limit: number; readonly now: Date },
): Promise<number> {
  const { rows } = await sql<{ id: string; conversations: number; unmarked: number }>`
    select id,
      (select count(*) from conversations where agent_id = agents.id) as conversations,
      (select count(*) from conversations where agent_id = agents.id and deleted_at is null) as unmarked
    from agents where deleted_at is not null limit 1 for update skip locked`.execute(trx)
  const agent = rows[0]
  if (!agent) return 0
  if (agent.unmarked > 0) await markConversationsDeleted(trx, { agentId: agent.id }, now)
  if (agent.conversations > 0) return agent.unmarked
  return (
    (await deleteSome(trx, 'passages', { of: agent.id, limit })) ||
    affected(trx, sql`delete from agents where id = ${agent.id}`)
  )
}

async function affected(trx: Trx, statement: RawBuilder<unknown>): Promise<number> {
  return Number((await statement.execute(trx)).numAffectedRows)
}
