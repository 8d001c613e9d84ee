import { sql, type Kysely, type Transaction } from 'kysely'

import type { Actor } from '../domain/access/actor.ts'
import type { RunKind, RunRequest } from '../domain/run.ts'
import type { Target } from '../domain/conversations/target.ts'
import type { Reach } from '../domain/access/viewer.ts'
import type { JsonObject } from '../util/json.ts'
import { currentTrace, formatTraceparent } from '../util/trace-context.ts'
import { livingWorker } from './workers/claim-runs.ts'
import { loadedRunColumns, toLoadedRun, type LoadedRun, type LoadedRunRow } from './runs/load-run.ts'
import { executePrepared } from './database/prepared.ts'
import type { Database } from './database/schema.ts'
import { ofTenant } from './access/tenant-scope.ts'

export interface NewRun {
  readonly id: string
  readonly tenantId: string
  readonly kind: RunKind
  readonly parentId: string | null
  readonly sentBy: Actor | null
  readonly urgent: boolean
  readonly maxSteps: number
  readonly maxTotalTokens: number | null
  readonly request: RunRequest
  readonly metadata: JsonObject
  readonly createdAt: Date
  /** The span that started the run. Defaults to the span of the current operation. */
  readonly traceparent?: string
}

export interface Admitted {
  readonly conversationId: string
  /** Whether the run holds the conversation, or waits behind another. */
  readonly holds: boolean
  /** Set if the run was stored with a lease of the given worker. */
  readonly claimed?: LoadedRun | undefined
}

export interface AdmissionOptions {
  readonly reach: Reach
  readonly mayWait: boolean
  /** The worker that drives the run at once if the conversation is free. Null leaves the run to be claimed. */
  readonly workerId: string | null
}

/**
 * Stores a run, and lets it hold the conversation if that is free, all in one statement: everything that decides is on
 * the conversation's row, which the statement locks. Returns undefined if the viewer cannot reach the target, or if it
 * is busy and the run would not wait. The first log entry (the run was queued) is derived from the run's row, so
 * `next_seq` starts at 2.
 *
 * With `workerId` the statement is also a claim. A worker that has been given up gets no lease.
 */
export async function admitRun(
  db: Kysely<Database> | Transaction<Database>,
  target: Target,
  run: NewRun,
  { reach, mayWait, workerId }: AdmissionOptions,
): Promise<Admitted | undefined> {
  const isClaimed = sql`hold is not null and exists (select from living)`
  const trace = currentTrace()
  const traceparent = run.traceparent ?? (trace ? formatTraceparent(trace) : null)
  const { rows } = await executePrepared(
    db,
    sql<{ conversation_id: string; holds: boolean } & Partial<LoadedRunRow>>`
    with conversation as (
      update conversations set
        next_run_number = next_run_number + 1,
        active_run_id = coalesce(active_run_id, ${run.id}),
        next_hold = next_hold + (active_run_id is null)::integer,
        updated_at = ${run.createdAt}, archived_at = null
      where ${isTarget(target)} and ${ofTenant('conversations', reach)} and (active_run_id is null or ${mayWait})
      returning *, next_run_number - 1 as number, active_run_id = ${run.id} as holds,
        case when active_run_id = ${run.id} then next_hold - 1 end as hold,
        case when active_run_id = ${run.id} then branch_tip(next_hold - 1, off_branch) end as previous_hold
    ), ${workerId === null ? sql`` : sql`living as materialized (${livingWorker(workerId)}),`}
    run as (
      insert into runs (id, tenant_id, agent_id, conversation_id, number, hold, previous_hold, kind, parent_id, sent_by, urgent,
        max_steps, max_total_tokens, created_at, request, metadata, status, next_seq, updated_at, traceparent
        ${workerId === null ? sql`` : sql`, lease, worker_id, attempts`})
      select ${run.id}, ${run.tenantId}, agent_id, id, number, hold, previous_hold, ${run.kind}, ${run.parentId}::uuid,
        ${run.sentBy && JSON.stringify(run.sentBy)}::jsonb, ${run.urgent}, ${run.maxSteps},
        ${run.maxTotalTokens}::integer, ${run.createdAt}, ${JSON.stringify(run.request)}::jsonb, ${JSON.stringify(run.metadata)}::jsonb,
        'QUEUED', 2, ${run.createdAt}, ${traceparent}::text
        ${
          workerId === null
            ? sql``
            : sql`, case when ${isClaimed} then gen_random_uuid() end, case when ${isClaimed} then ${workerId}::uuid end,
                (${isClaimed})::integer`
        }
      from conversation
      returning *
    )
    select conversations.id as conversation_id, conversations.holds
      ${workerId === null ? sql`` : sql`, ${loadedRunColumns}`}
    from conversation conversations cross join run runs`,
  )
  const row = rows[0]
  if (!row) return undefined
  const { conversation_id: conversationId, holds, lease } = row
  return { conversationId, holds, claimed: lease ? toLoadedRun(row as LoadedRunRow) : undefined }
}

function isTarget(target: Target) {
  return 'agentId' in target ? sql`agent_id = ${target.agentId} and is_main` : sql`id = ${target.conversationId}`
}

/** The run that holds the target's conversation. Undefined if the viewer cannot reach the target. */
export async function findActiveRun(
  db: Kysely<Database> | Transaction<Database>,
  reach: Reach,
  target: Target,
): Promise<{ readonly conversationId: string; readonly activeRunId: string | null } | undefined> {
  const { rows } = await sql<{ id: string; active_run_id: string | null }>`
    select id, active_run_id from conversations where ${isTarget(target)} and ${ofTenant('conversations', reach)}`.execute(
    db,
  )
  const row = rows[0]
  return row && { conversationId: row.id, activeRunId: row.active_run_id }
}

/** Like `findActiveRun`, but locks the conversation until the transaction ends. */
export async function lockConversation(
  trx: Transaction<Database>,
  reach: Reach,
  target: Target,
): Promise<{ readonly conversationId: string; readonly activeRunId: string | null } | undefined> {
  const { rows } = await sql<{ id: string; active_run_id: string | null }>`
    select id, active_run_id from conversations where ${isTarget(target)} and ${ofTenant('conversations', reach)} for no key update`.execute(
    trx,
  )
  const row = rows[0]
  return row && { conversationId: row.id, activeRunId: row.active_run_id }
}
