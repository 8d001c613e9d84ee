import { sql, type Kysely } from 'kysely'
import type { Reach } from '../domain/viewer.ts'

import { tipHold } from './branches.ts'
import type { Database } from './schema.ts'
import { ofTenant } from './tenant-scope.ts'

/**
 * What moves in a conversation, read in one statement. A reader that shows the last entry beside other fields reads
 * this first and them afterwards: what it shows is then never older than the entry it names.
 */
export interface ConversationHead {
  readonly conversationId: string
  /** The place of the last run on the current branch. */
  readonly tipHold: number
  /** Which runs are not on the current branch: see `isHoldOnBranch`. */
  readonly offBranch: string
  readonly contextFrom: number
  readonly summaryPosition: number | null
  readonly activeRunId: string | null
  /** The step whose calls have no return yet: the model is not sent any of its messages until they do. */
  readonly openStep: { readonly runId: string; readonly index: number } | null
  /** The last stored entry of the last run on the current branch. Null before the first run. */
  readonly lastEntry: { readonly runId: string; readonly seq: number } | null
}

export async function findConversationHeads(
  db: Kysely<Database>,
  reach: Reach,
  conversationIds: readonly string[],
): Promise<ConversationHead[]> {
  const { rows } = await sql<{
    id: string
    tip_hold: number
    off_branch: string
    context_from: number
    summary_position: number | null
    active_run_id: string | null
    open_step_index: number | null
    last_run_id: string | null
    next_seq: number | null
  }>`
    select conversations.id, ${tipHold} as tip_hold, off_branch, context_from, summary_position, active_run_id,
      last_run.id as last_run_id, last_run.next_seq, open.step_index as open_step_index
    from conversations
      left join runs last_run on last_run.conversation_id = conversations.id and last_run.hold = ${tipHold}
      left join runs active on active.id = active_run_id
      -- A run's step has open calls if the run's last message is not their return.
      left join messages open on open.conversation_id = conversations.id and open.position = active.next_position - 1
        and open.run_number = active.number
        and open.type in ('TOOL_CALL', 'APPROVAL_REQUEST', 'APPROVAL_RESPONSE')
    where ${ofTenant('conversations', reach)} and conversations.id = any(${conversationIds}::uuid[])`.execute(db)
  return rows.map((row) => ({
    conversationId: row.id,
    tipHold: row.tip_hold,
    offBranch: row.off_branch,
    contextFrom: row.context_from,
    summaryPosition: row.summary_position,
    activeRunId: row.active_run_id,
    openStep: row.open_step_index === null ? null : { runId: row.active_run_id!, index: row.open_step_index },
    lastEntry: row.last_run_id === null ? null : { runId: row.last_run_id, seq: row.next_seq! - 1 },
  }))
}

/** Where the streams of conversations stand, to be compared with where they stood. One that is gone is not there. */
export async function listConversationPlaces(
  db: Kysely<Database>,
  conversationIds: readonly string[],
): Promise<Map<string, string>> {
  const { rows } = await sql<{ id: string; place: string }>`
    select conversations.id, next_hold || ' ' || coalesce(last_run.next_seq, 0) as place
    from conversations left join runs last_run
      on last_run.conversation_id = conversations.id and last_run.hold = next_hold - 1
    where conversations.id = any(${conversationIds}::uuid[])`.execute(db)
  return new Map(rows.map((row) => [row.id, row.place]))
}

/** What a conversation's stream has after the run at `hold`: more of the same run, or the next one. */
export async function findNextInConversation(
  db: Kysely<Database>,
  conversationId: string,
  hold: number,
): Promise<{ readonly current: { readonly nextSeq: number } | null; readonly next: HeldRun | null } | undefined> {
  const { rows } = await sql<{ next_seq: number | null; next_id: string | null; next_hold: number | null }>`
    select current.next_seq, next.id as next_id, next.hold as next_hold
    from conversations
      left join runs current on current.conversation_id = conversations.id and current.hold = ${hold}
      left join lateral (
        select id, hold from runs where conversation_id = conversations.id and hold > ${hold} order by hold limit 1
      ) next on true
    where conversations.id = ${conversationId}`.execute(db)
  const row = rows[0]
  if (!row) return undefined
  return {
    current: row.next_seq === null ? null : { nextSeq: row.next_seq },
    next: row.next_id === null ? null : { runId: row.next_id, hold: row.next_hold! },
  }
}

export interface HeldRun {
  readonly runId: string
  /** Its place among the runs that held the conversation. */
  readonly hold: number
}
