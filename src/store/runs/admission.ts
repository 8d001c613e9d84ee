import { sql } from 'kysely'

import type { Actor } from '../../domain/access/actor.ts'
import type { Beginning } from '../../domain/runs/take-up.ts'
import type { RunKind, RunRequest } from '../../domain/runs/run.ts'
import type { Target } from '../../domain/conversations/conversation.ts'
import type { Reach } from '../../domain/access/viewer.ts'
import type { JsonObject } from '../../util/json.ts'
import { currentTrace, formatTraceparent } from '../../util/trace-context.ts'
import { livingWorker } from '../workers/claim-runs.ts'
import { loadedRunColumns, toLoadedRun, type LoadedRun, type LoadedRunRow } from './load-run.ts'
import { executePrepared } from '../database/prepared.ts'
import { givenRows, recordColumns } from './record-rows.ts'
import type { Db, Trx } from '../database/schema.ts'
import { ofTenant } from '../access/tenant-scope.ts'
import { isBudgeted } from '../usage/budgets.ts'

export interface NewRun {
  readonly id: string
  readonly tenantId: string
  readonly kind: RunKind
  readonly parentId: string | null
  readonly scheduleId?: string
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
  /** Who drives the run at once if the conversation is free. Null leaves the run to be claimed. */
  readonly driver: Driver | null
}

export interface Driver {
  readonly workerId: string
  /** Agents whose runs this worker leaves to others. */
  readonly leftAgentIds: readonly string[]
  /** What the run stores because it begins at once. Null: it only gets its lease. */
  readonly beginning: Beginning | null
}

/**
 * Stores a run, and lets it hold the conversation if that is free, all in one statement: everything that decides is on
 * the conversation's row, which the statement locks. Returns undefined if the viewer cannot reach the target, or if it
 * is busy and the run would not wait. The first log entry (the run was queued) is derived from the run's row, so
 * `next_seq` starts at 2.
 *
 * With a driver the statement is also a claim, and the run's beginning, whose messages are the only place where the
 * client's messages are stored. A worker that has been given up gets no lease.
 */
export async function admitRun(
  db: Db,
  target: Target,
  run: NewRun,
  { reach, mayWait, driver }: AdmissionOptions,
): Promise<Admitted | undefined> {
  const trace = currentTrace()
  const traceparent = run.traceparent ?? (trace ? formatTraceparent(trace) : null)
  const beginning = driver?.beginning
  const { messages: given, clientTools, ...others } = run.request
  const messages = JSON.stringify(given)
  const request = JSON.stringify({ ...(clientTools.length > 0 && { clientTools }), ...others })
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
    ), ${driver ? sql`driver as materialized (${driverOf(driver)}),` : sql``}
    run as (
      insert into runs (id, tenant_id, agent_id, conversation_id, number, hold, previous_hold, kind, parent_id, sent_by, urgent,
        max_steps, max_total_tokens, created_at, request, metadata, status, next_seq, updated_at, traceparent, schedule_id
        ${driver ? sql`, lease, worker_id, attempts, started_at, first_position, next_position` : sql``})
      select ${run.id}, ${run.tenantId}, agent_id, conversation.id, number, hold, previous_hold, ${run.kind}, ${run.parentId}::uuid,
        ${run.sentBy && JSON.stringify(run.sentBy)}::jsonb, ${run.urgent}, ${run.maxSteps},
        ${run.maxTotalTokens}::integer, ${run.createdAt}, ${request}::jsonb || jsonb_build_object('messages', ${
          beginning
            ? sql`case when driver.id is null then ${messages}::jsonb else to_jsonb(${beginning.messages.length}::integer) end`
            : sql`${messages}::jsonb`
        }), ${JSON.stringify(run.metadata)}::jsonb,
        ${beginning ? sql`case when driver.id is null then 'QUEUED' else 'RUNNING' end` : sql`'QUEUED'`},
        ${beginning ? sql`2 + case when driver.id is null then 0 else ${beginning.entries.length}::integer end` : sql`2`},
        ${run.createdAt}, ${traceparent}::text, ${run.scheduleId ?? null}::uuid
        ${driver ? sql`, case when driver.id is not null then gen_random_uuid() end, driver.id, (driver.id is not null)::integer` : sql``}
        ${driver && !beginning ? sql`, null, null, null` : sql``}
        ${
          beginning
            ? sql`, case when driver.id is not null then ${run.createdAt}::timestamptz end,
                case when driver.id is not null then conversation.next_position end,
                case when driver.id is not null then conversation.next_position + ${beginning.messages.length}::integer end`
            : sql``
        }
      from conversation ${driver ? sql`left join driver on true` : sql``}
      returning *
    )${beginning ? sql`, ${begun(beginning)}` : sql``}
    select conversations.id as conversation_id, conversations.holds
      ${driver ? sql`, ${loadedRunColumns}` : sql``}
    from conversation conversations cross join run runs`,
  )
  const row = rows[0]
  if (!row) return undefined
  const { conversation_id: conversationId, holds, lease } = row
  return {
    conversationId,
    holds,
    claimed: lease ? toLoadedRun({ ...(row as LoadedRunRow), request: run.request }) : undefined,
  }
}

/** The worker, if the run holds the conversation and the worker lives and drives runs of the agent. */
function driverOf({ workerId, leftAgentIds }: Driver) {
  return sql`
    select living.id from (${livingWorker(workerId)}) living, conversation
    where conversation.holds and conversation.agent_id <> all (${leftAgentIds}::uuid[])
      -- The first step begins only after a look at what is left.
      and not ${isBudgeted(sql`conversation.agent_id`)}`
}

const { definition: givenMessages } = recordColumns({
  id: 'uuid',
  place: 'integer',
  type: 'text',
  client_id: 'text',
  content: 'jsonb',
})

/** The rows of a checkpoint that starts the first step, for a run that has a driver. */
function begun({ messages }: Beginning) {
  const rows = messages.map(({ id, type, clientId, content }, place) => ({
    id,
    place,
    type,
    client_id: clientId,
    content,
  }))
  return sql`
    added_messages as (
      insert into messages (conversation_id, run_hold, position, created_at, id, type, client_id, content)
      select run.conversation_id, run.hold, run.first_position + given.place, run.created_at, given.id, given.type,
        given.client_id, given.content
      from run join ${givenRows(givenMessages, rows)} on run.lease is not null),
    added_step as (
      insert into steps (run_id, index, attempt, model, created_at, status)
      select run.id, 0, 1, agents.model, run.created_at, 'RUNNING'
      from run join agents on agents.id = run.agent_id where run.lease is not null)`
}

function isTarget(target: Target) {
  return 'agentId' in target ? sql`agent_id = ${target.agentId} and is_main` : sql`id = ${target.conversationId}`
}

/** The run that holds the target's conversation. Undefined if the viewer cannot reach the target. */
export async function findActiveRun(
  db: Db,
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
  trx: Trx,
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
