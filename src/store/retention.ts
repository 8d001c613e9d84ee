import { sql, type RawBuilder } from 'kysely'

import type { RetentionScope } from '../domain/retention.ts'
import { firstIdAt } from '../util/ids.ts'
import { onlyRow } from './database/rows.ts'
import type { Db, Trx } from './database/schema.ts'
import { countEndedRuns } from './usage/count-runs.ts'

/** An arbitrary number that nothing else locks in this database. */
const retentionLock = 0x484f4c445245

/**
 * Deletes one batch, unless another process is doing so at this moment. A batch is one short transaction. It locks only
 * ended runs and archived conversations and skips those that someone else has locked, so no turn waits for it. Returns
 * the number of rows, or undefined if another process is deleting now.
 */
export async function deleteBatch(db: Db, batch: (trx: Trx) => Promise<number>): Promise<number | undefined> {
  return db.transaction().execute(async (trx) => {
    const lock = await sql<{ alone: boolean }>`select pg_try_advisory_xact_lock(${retentionLock}) as alone`.execute(trx)
    return onlyRow(lock).alone ? batch(trx) : undefined
  })
}

/** How far a pass over old runs has got. */
export interface RetentionCursor {
  readonly finishedAt: Date
  readonly id: string
}

export interface OldRuns {
  readonly ids: readonly string[]
  /** Undefined if the pass has reached its end. */
  readonly next: RetentionCursor | undefined
}

/** The next ended runs that are older than the rule allows, oldest first. */
export async function listOldRuns(
  db: Db,
  { of, before }: RetentionScope,
  { after, limit }: { readonly after: RetentionCursor | undefined; readonly limit: number },
): Promise<OldRuns> {
  const from = after ? sql`and (finished_at, id) > (${after.finishedAt}, ${after.id})` : sql``
  const { rows } = await sql<{ id: string; finished_at: Date }>`
    select id, finished_at from runs where ended and ${ownedBy(of)} and finished_at < ${before} ${from}
    order by finished_at, id limit ${limit}`.execute(db)
  const last = rows.at(-1)
  const next = rows.length === limit && last ? { finishedAt: last.finished_at, id: last.id } : undefined
  return { ids: rows.map(({ id }) => id), next }
}

function ownedBy(of: RetentionScope['of'], column = sql`tenant_id`): RawBuilder<unknown> {
  if ('agentId' in of) return sql`agent_id = ${of.agentId}`
  return sql`${column} = ${of.tenantId} and agent_id <> all (${of.exceptAgentIds}::uuid[])`
}

/**
 * Deletes the logs of ended runs except the last row, which says how the run ended. The stream of such a run ends at
 * once.
 */
export async function deleteRunLogs(trx: Trx, runIds: readonly string[]): Promise<number> {
  const { numAffectedRows } = await sql`
    delete from run_log using runs
    where run_log.run_id = any (${runIds}::uuid[]) and runs.id = run_log.run_id and runs.ended
      and run_log.first_seq < (select max(first_seq) from run_log last where last.run_id = runs.id)`.execute(trx)
  return Number(numAffectedRows)
}

/**
 * Deletes ended runs with their messages, steps, calls and logs, but only runs that are no longer sent to any model:
 * their messages are before the context, and the current summary is not among them.
 */
export async function deleteOldRuns(trx: Trx, runIds: readonly string[]): Promise<number> {
  return deleteRuns(
    trx,
    sql`select runs.id from runs join conversations on conversations.id = runs.conversation_id
      where runs.id = any (${runIds}::uuid[]) and runs.ended and conversations.active_run_id is distinct from runs.id
        and (runs.next_position is null or (runs.next_position <= conversations.context_from
          and not coalesce(conversations.summary_position between runs.first_position and runs.next_position - 1, false)))
      for update of runs skip locked`,
  )
}

/** What belongs to a run goes with it, but not what it used. */
export async function deleteRuns(trx: Trx, which: RawBuilder<unknown>): Promise<number> {
  await countEndedRuns(trx)
  const { numAffectedRows } = await sql`
    with doomed as materialized (${which})
    delete from runs using doomed where runs.id = doomed.id`.execute(trx)
  return Number(numAffectedRows)
}

/**
 * Deletes the oldest turns of a conversation that was archived before that time and, when none are left, the
 * conversation. A main conversation stays, empty: every agent has one.
 */
export async function deleteFromArchive(trx: Trx, { of, before }: RetentionScope, limit: number): Promise<number> {
  const { rows } = await sql<{ id: string; is_main: boolean }>`
    select id, is_main from conversations
    where archived_at < ${before} and active_run_id is null and ${ownedBy(of)}
      and (not is_main or exists (select from runs where runs.conversation_id = conversations.id))
    order by archived_at limit 1 for no key update skip locked`.execute(trx)
  const conversation = rows[0]
  if (!conversation) return 0
  const deleted = await deleteRuns(
    trx,
    sql`select id from runs
      where conversation_id = ${conversation.id} and ended order by hold limit ${limit} for update`,
  )
  if (deleted > 0) return deleted
  await sql`delete from messages where conversation_id = ${conversation.id}`.execute(trx)
  if (!conversation.is_main) await sql`delete from conversations where id = ${conversation.id}`.execute(trx)
  return 1
}

/** Audit ids are ordered by time, so the oldest come first in the index. */
export async function deleteAuditEntries(trx: Trx, { of, before }: RetentionScope, limit: number): Promise<number> {
  if ('agentId' in of) return 0
  const { numAffectedRows } = await sql`
    delete from audit_entries where id in (
      select id from audit_entries where tenant_id = ${of.tenantId} and id < ${firstIdAt(before)} and at < ${before}
      order by id limit ${limit})`.execute(trx)
  return Number(numAffectedRows)
}
