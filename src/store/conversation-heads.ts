import { sql, type Kysely } from 'kysely'

import type { Resumed } from '../domain/run.ts'
import type { Reach } from '../domain/access/viewer.ts'
import { tipHold } from './conversations/branches.ts'
import { executePrepared } from './database/prepared.ts'
import type { Database } from './database/schema.ts'
import { ofTenant } from './access/tenant-scope.ts'

/**
 * The changing parts of a conversation, read in one statement. A reader that shows the last entry next to other fields
 * reads this first and the other fields after it, so that nothing it shows is older than that entry.
 */
export interface ConversationHead {
  readonly conversationId: string
  /** The place of the last run on the current branch. */
  readonly tipHold: number
  /** The runs that are not on the current branch: see `isHoldOnBranch`. */
  readonly offBranch: string
  readonly contextFrom: number
  readonly summaryPosition: number | null
  readonly activeRunId: string | null
  /** The step whose calls have no return yet. The model is sent none of its messages until they do. */
  readonly openStep: { readonly runId: string; readonly index: number } | null
  /** The last run on the current branch. Null before the first run. */
  readonly latestRunId: string | null
  /** The place of the run that held the conversation last. */
  readonly lastHold: number
  /** The last stored entry of that run. Null before the first run, and after the conversation was cleared. */
  readonly lastEntry: { readonly runId: string; readonly seq: number } | null
  /** See `queueTag`. */
  readonly queue: string
}

/** A text that differs between different queues of `conversations`. Empty for an empty queue. */
const queueTag = sql<string>`coalesce((
  select left(md5(string_agg(id::text, ' ' order by urgent desc, number)), 8) from runs
  where conversation_id = conversations.id and not ended and hold is null), '')`

export async function findConversationHeads(
  db: Kysely<Database>,
  reach: Reach,
  conversationIds: readonly string[],
): Promise<ConversationHead[]> {
  const { rows } = await executePrepared(
    db,
    sql<{
      id: string
      tip_hold: number
      off_branch: string
      context_from: number
      summary_position: number | null
      active_run_id: string | null
      open_step_index: number | null
      latest_run_id: string | null
      last_hold: number
      last_run_id: string | null
      next_seq: number | null
      queue: string
    }>`
      select conversations.id, ${tipHold} as tip_hold, off_branch, context_from, summary_position, active_run_id,
        latest.id as latest_run_id, next_hold - 1 as last_hold, last_run.id as last_run_id, last_run.next_seq,
        open.step_index as open_step_index, ${queueTag} as queue
      from conversations
        left join runs latest on latest.conversation_id = conversations.id and latest.hold = ${tipHold}
        left join runs last_run on last_run.conversation_id = conversations.id and last_run.hold = next_hold - 1
        left join runs active on active.id = active_run_id
        -- A step of the run has open calls if the run's last message is not their return.
        left join messages open on open.conversation_id = conversations.id and open.position = active.next_position - 1
          and open.run_hold = active.hold
          and open.type in ('TOOL_CALL', 'APPROVAL_REQUEST', 'APPROVAL_RESPONSE')
      where ${ofTenant('conversations', reach)} and conversations.id = any(${conversationIds}::uuid[])`,
  )
  return rows.map((row) => ({
    conversationId: row.id,
    tipHold: row.tip_hold,
    offBranch: row.off_branch,
    contextFrom: row.context_from,
    summaryPosition: row.summary_position,
    activeRunId: row.active_run_id,
    openStep: row.open_step_index === null ? null : { runId: row.active_run_id!, index: row.open_step_index },
    latestRunId: row.latest_run_id,
    lastHold: row.last_hold,
    lastEntry: row.last_run_id === null ? null : { runId: row.last_run_id, seq: row.next_seq! - 1 },
    queue: row.queue,
  }))
}

/** How far the streams of these conversations have got. Conversations that are gone are missing. */
export async function listConversationPlaces(
  db: Kysely<Database>,
  conversationIds: readonly string[],
): Promise<Map<string, string>> {
  const { rows } = await executePrepared(
    db,
    sql<{ id: string; place: string }>`
      select conversations.id,
        concat_ws(' ', next_hold, ${tipHold}, coalesce(last_run.next_seq, 0), ${queueTag}) as place
      from conversations left join runs last_run
        on last_run.conversation_id = conversations.id and last_run.hold = next_hold - 1
      where conversations.id = any(${conversationIds}::uuid[]) and conversations.deleted_at is null`,
  )
  return new Map(rows.map((row) => [row.id, row.place]))
}

/** What follows the run at a given place in a conversation's stream. */
export interface ConversationPlace {
  /** The run at that place. Null if there is none. */
  readonly nextSeq: number | null
  /** The next run that held the conversation. */
  readonly next:
    | (HeldRun & {
        readonly previousHold: number
        readonly resumed: Resumed | null
        readonly createdAt: Date
      })
    | null
  /** The last run of the current branch. */
  readonly tip: number
  readonly queue: string
  readonly changedAt: Date
}

/** Undefined if the conversation was deleted. */
export async function findConversationPlace(
  db: Kysely<Database>,
  conversationId: string,
  { hold }: { readonly hold: number },
): Promise<ConversationPlace | undefined> {
  const { rows } = await executePrepared(
    db,
    sql<{
      next_seq: number | null
      next_id: string | null
      next_hold: number | null
      previous_hold: number | null
      resumed: Resumed | null
      created_at: Date | null
      tip: number
      queue: string
      updated_at: Date
    }>`
      select current.next_seq, next.id as next_id, next.hold as next_hold, next.previous_hold, next.resumed,
        next.created_at, ${tipHold} as tip, ${queueTag} as queue, conversations.updated_at
      from conversations
        left join runs current on current.conversation_id = conversations.id and current.hold = ${hold}
        left join lateral (
          select id, hold, previous_hold, resumed, created_at from runs
          where conversation_id = conversations.id and hold > ${hold} order by hold limit 1
        ) next on true
      where conversations.id = ${conversationId} and conversations.deleted_at is null`,
  )
  const row = rows[0]
  if (!row) return undefined
  const { next_id: runId, next_hold: nextHold, previous_hold: previousHold, resumed, created_at: createdAt } = row
  return {
    nextSeq: row.next_seq,
    next:
      runId === null ? null : { runId, hold: nextHold!, previousHold: previousHold!, resumed, createdAt: createdAt! },
    tip: row.tip,
    queue: row.queue,
    changedAt: row.updated_at,
  }
}

export interface HeldRun {
  readonly runId: string
  /** Its place among the runs that held the conversation. */
  readonly hold: number
}
