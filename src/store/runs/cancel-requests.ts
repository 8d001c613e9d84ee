import { sql } from 'kysely'

import type { Actor } from '../../domain/access/actor.ts'
import type { AuditEntry } from '../../domain/access/audit.ts'
import { hasNoWorker } from '../workers/leases.ts'
import type { Db } from '../database/schema.ts'

/** The conversation and tenant of a run that was asked to stop. */
export interface CancelRequest {
  readonly conversationId: string
  readonly tenantId: string
}

/** The audit entry of the first request, written by the same statement. */
type CancelEntry = Pick<AuditEntry, 'id' | 'action' | 'subjectId'>

/**
 * Asks the worker that drives the run to stop it: its next checkpoint ends the run, and can do nothing else. Asking
 * again changes nothing. Returns undefined if no living worker drives the run; the caller then ends it.
 *
 * One statement is enough, because everything that decides is on the run's row. If the worker dies at this moment, the
 * request stays on the run, and whoever takes the run over or finds it abandoned acts on it.
 */
export async function requestCancel(
  db: Db,
  runId: string,
  { by, now, entry }: { readonly by: Actor; readonly now: Date; readonly entry: CancelEntry },
): Promise<CancelRequest | undefined> {
  const actor = JSON.stringify(by)
  const { rows } = await sql<CancelRequest>`
    with asked as (
      update runs set cancel_requested_at = coalesce(cancel_requested_at, ${now}),
        cancelled_by = coalesce(cancelled_by, ${actor}::jsonb)
      where id = ${runId} and not ended and lease is not null
        and exists (select from workers where workers.id = runs.worker_id)
      returning conversation_id, tenant_id, cancel_requested_at
    ), recorded as (
      insert into audit_entries (id, tenant_id, at, actor, action, subject_id)
      select ${entry.id}::uuid, tenant_id, cancel_requested_at, ${actor}::jsonb, ${entry.action}, ${entry.subjectId}
      from asked where cancel_requested_at = ${now}
    )
    select conversation_id as "conversationId", tenant_id as "tenantId" from asked`.execute(db)
  return rows[0]
}

/** Records who cancelled a run that no worker drives, in the transaction that ends it. */
export async function setCancelledBy(db: Db, runId: string, by: Actor): Promise<void> {
  await db
    .updateTable('runs')
    .set({ cancelled_by: JSON.stringify(by) })
    .where('id', '=', runId)
    .where('cancelled_by', 'is', null)
    .execute()
}

/** It was asked to stop, and no living worker drives it. */
export const isAbandoned = sql<boolean>`not runs.ended and runs.cancel_requested_at is not null and ${hasNoWorker}`

export async function listAbandonedCancels(db: Db): Promise<string[]> {
  const { rows } = await sql<{ id: string }>`select id from runs where ${isAbandoned}`.execute(db)
  return rows.map((row) => row.id)
}
