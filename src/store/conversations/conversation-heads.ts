import { sql } from 'kysely'

import type { Resumed } from '../../domain/runs/run.ts'
import type { Reach } from '../../domain/access/viewer.ts'
import { tipHold } from './branches.ts'
import { plainListLimit } from '../database/page.ts'
import { executePrepared } from '../database/prepared.ts'
import type { Db } from '../database/schema.ts'
import { ofTenant } from '../access/tenant-scope.ts'

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
  readonly queue: ConversationQueue
}

/** The runs that wait for a conversation. */
export interface ConversationQueue {
  /** A text that differs between different queues. Empty for an empty queue. */
  readonly tag: string
  /** In the order in which they will start, as many as one answer holds. */
  readonly runIds: readonly string[]
}

/** The queue of `conversations`. What is shown and what a cursor names are read by one statement. */
const queue = sql`lateral (
  select coalesce(left(md5(array_to_string(ids, ' ')), 8), '') as tag,
    coalesce(ids[1:${sql.lit(plainListLimit)}], '{}') as run_ids
  from (select array_agg(id order by urgent desc, number) as ids from runs
    where conversation_id = conversations.id and not ended and hold is null) waiting) queue`

const queueObject = sql`json_build_object('tag', queue.tag, 'runIds', queue.run_ids)`

export async function findConversationHeads(
  db: Db,
  reach: Reach,
  conversationIds: readonly string[],
): Promise<ConversationHead[]> {
  const { rows } = await executePrepared(
    db,
    sql<ConversationHead>`
      select conversations.id as "conversationId", ${tipHold} as "tipHold", off_branch as "offBranch",
        context_from as "contextFrom", summary_position as "summaryPosition", active_run_id as "activeRunId",
        latest.id as "latestRunId", next_hold - 1 as "lastHold",
        case when last_run.id is not null
          then json_build_object('runId', last_run.id, 'seq', last_run.next_seq - 1) end as "lastEntry",
        case when open.step_index is not null
          then json_build_object('runId', active_run_id, 'index', open.step_index) end as "openStep",
        ${queueObject} as queue
      from conversations cross join ${queue}
        left join runs latest on latest.conversation_id = conversations.id and latest.hold = ${tipHold}
        left join runs last_run on last_run.conversation_id = conversations.id and last_run.hold = next_hold - 1
        left join runs active on active.id = active_run_id
        -- A step of the run has open calls if the run's last message is not their return.
        left join messages open on open.conversation_id = conversations.id and open.position = active.next_position - 1
          and open.run_hold = active.hold
          and open.type in ('TOOL_CALL', 'APPROVAL_REQUEST', 'APPROVAL_RESPONSE')
      where ${ofTenant('conversations', reach)} and conversations.id = any(${conversationIds}::uuid[])`,
  )
  return rows
}

/** The two states of a conversation that its stream tells about. Each may change, and change back. */
export interface ConversationState {
  /** The place of the last run on the current branch. */
  readonly tip: number
  /** The tag of the queue. */
  readonly queue: string
}

/** How far the stream of a conversation has got. */
export interface StreamEnd extends ConversationState {
  /** Changes with every run that gets the conversation, and every entry of the last one. It never changes back. */
  readonly end: string
}

/** Conversations that are gone are missing. */
export async function listStreamEnds(db: Db, conversationIds: readonly string[]): Promise<Map<string, StreamEnd>> {
  const { rows } = await executePrepared(
    db,
    sql<{ id: string } & StreamEnd>`
      select conversations.id, concat_ws(' ', next_hold, coalesce(last_run.next_seq, 0)) as end, ${tipHold} as tip,
        queue.tag as queue
      from conversations cross join ${queue} left join runs last_run
        on last_run.conversation_id = conversations.id and last_run.hold = next_hold - 1
      where conversations.id = any(${conversationIds}::uuid[]) and conversations.deleted_at is null`,
  )
  return new Map(rows.map((row) => [row.id, row]))
}

/** What follows a run at a given place in a conversation's stream. */
export interface ConversationPlace {
  /** The seq after the last entry that the run has at that place. Null if the run does not exist. */
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
  readonly queue: ConversationQueue
  readonly changedAt: Date
}

/** Undefined if the conversation was deleted. */
export async function findConversationPlace(
  db: Db,
  conversationId: string,
  { hold, runId: currentId }: HeldRun,
): Promise<ConversationPlace | undefined> {
  const { rows } = await executePrepared(
    db,
    sql<Omit<ConversationPlace, 'next'> & (NextRow | { readonly next_id: null })>`
      select
        case when current.hold = ${hold} then current.next_seq else (current.resumed ->> 'seq')::integer end as "nextSeq",
        next.id as next_id, next.hold as next_hold, next.previous_hold, next.resumed, next.created_at,
        ${tipHold} as tip, ${queueObject} as queue, conversations.updated_at as "changedAt"
      from conversations cross join ${queue}
        left join runs current on current.conversation_id = conversations.id and current.id = ${currentId}
        left join lateral (
          select id, hold, previous_hold, resumed, created_at from runs
          where conversation_id = conversations.id and hold > ${hold} order by hold limit 1
        ) next on true
      where conversations.id = ${conversationId} and conversations.deleted_at is null`,
  )
  const [row] = rows
  if (!row) return undefined
  const { nextSeq, tip, queue: waiting, changedAt } = row
  return { nextSeq, next: row.next_id === null ? null : toNextRun(row), tip, queue: waiting, changedAt }
}

interface NextRow {
  readonly next_id: string
  readonly next_hold: number
  readonly previous_hold: number
  readonly resumed: Resumed | null
  readonly created_at: Date
}

function toNextRun({ next_id: runId, next_hold: hold, ...row }: NextRow) {
  return { runId, hold, previousHold: row.previous_hold, resumed: row.resumed, createdAt: row.created_at }
}

export interface HeldRun {
  readonly runId: string
  /** Its place among the runs that held the conversation. */
  readonly hold: number
}
