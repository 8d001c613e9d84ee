import { sql, type RawBuilder, type SqlBool } from 'kysely'

import type { Run } from '../../domain/runs/run.ts'
import type { Reach } from '../../domain/access/viewer.ts'
import { plainListLimit } from '../database/page.ts'
import { runColumns, runsOfTenant, toRun } from '../runs/runs.ts'
import type { Db, Trx } from '../database/schema.ts'

/**
 * The turns of a conversation form a tree: each run that held the conversation names the run before it on its branch
 * (`runs.previous_hold`). Only the conversation says which branch is current (`off_branch`). Everything else about
 * branches is derived from these two.
 */

/**
 * The only place that decides what is on the current branch, for statements that read `runs`. Without an id, the
 * statement must read `conversations` too.
 */
export function isOnBranch(conversationId?: string): RawBuilder<SqlBool> {
  return sql<SqlBool>`not ${offBranch(conversationId)} @> runs.hold`
}

/**
 * Whether a run was on the branch that was current when these two were read. A run that was retried may have got
 * another place since, so it is not left out; if it was on another branch, the events after these two say so.
 */
export function wasOnBranch(read: { readonly offBranch: string; readonly lastHold: number }): RawBuilder<SqlBool> {
  return sql<SqlBool>`not ${read.offBranch}::int4multirange @> runs.hold
    and (runs.hold <= ${read.lastHold} or runs.resumed is not null)`
}

/** The same for statements that read only `messages`. */
export function isMessageOnBranch(conversationId?: string): RawBuilder<SqlBool> {
  return sql<SqlBool>`not ${offBranch(conversationId)} @> messages.run_hold`
}

function offBranch(conversationId: string | undefined): RawBuilder<unknown> {
  if (conversationId === undefined) return sql`conversations.off_branch`
  return sql`(select off_branch from conversations where id = ${conversationId})`
}

/** The same for a place that was read with the conversation's `off_branch`. */
export function isHoldOnBranch(offBranch: string, hold: number | null): boolean {
  if (hold === null) return false
  return ![...offBranch.matchAll(/\[(\d+),(\d+)\)/g)].some(([, from, before]) => hold >= +from! && hold < +before!)
}

/** The place of the last run on the current branch of `conversations`. */
export const tipHold = sql<number>`branch_tip(conversations.next_hold, conversations.off_branch)`

/** Runs that follow `hold` directly, on any branch. Usually there is one, and it held the conversation next. */
function listFollowers(conversationId: RawBuilder<unknown>, hold: RawBuilder<unknown>): RawBuilder<unknown> {
  return sql`
    select id, hold from runs where conversation_id = ${conversationId} and hold = ${hold} + 1 and previous_hold = ${hold}
    union all
    select id, hold from runs
      where conversation_id = ${conversationId} and previous_hold = ${hold} and previous_hold <> hold - 1`
}

/** Every run from the first of its branch up to the one at `hold`. */
export function branchUpTo(conversationId: string, hold: number): RawBuilder<unknown> {
  return sql`
    select hold, previous_hold from runs where conversation_id = ${conversationId} and hold = ${hold}
    union all
    select runs.hold, runs.previous_hold
    from branch join runs on runs.conversation_id = ${conversationId} and runs.hold = branch.previous_hold`
}

/**
 * Makes the branch that ends with the run at `hold` the current one; 0 means the branch without any run. The context
 * becomes that of this branch: its last summary, if it has one, and everything after it. The caller holds the
 * conversation's lock, and no run holds the conversation.
 */
export async function switchBranch(
  trx: Trx,
  conversationId: string,
  { hold, now }: { readonly hold: number; readonly now: Date },
): Promise<void> {
  await sql`
    with recursive branch as (${branchUpTo(conversationId, hold)}),
    summary as (
      select messages.position, (content ->> 'contextFrom')::integer as context_from
      from messages
      where messages.conversation_id = ${conversationId} and messages.type = 'SUMMARY'
        and messages.run_hold in (select hold from branch)
      order by messages.position desc limit 1
    ),
    left_run as (
      update runs set left_branch = conversations.context_version from conversations
      where conversations.id = ${conversationId} and runs.conversation_id = conversations.id and runs.hold = ${tipHold}
    )
    update conversations set
      off_branch = int4multirange(int4range(1, next_hold))
        - coalesce((select range_agg(int4range(hold, hold + 1)) from branch), '{}'),
      context_from = coalesce((select context_from from summary), 1),
      summary_position = (select position from summary),
      context_version = context_version + 1, updated_at = ${now}
    where id = ${conversationId}`.execute(trx)
}

/**
 * The last run of the branch that a reader gets when asking for the run at `hold`: where a later turn has several
 * versions, the one that was current last. All runs of a branch were current when its last run was the tip.
 */
export async function findTipThrough(trx: Trx, conversationId: string, hold: number): Promise<number> {
  const { rows } = await sql<{ hold: number }>`
    with recursive later as (
      select ${hold}::integer as hold
      union all
      select follower.hold
      from later cross join lateral (${listFollowers(sql`${conversationId}`, sql`later.hold`)}) follower
    )
    select runs.hold
    from later join conversations on conversations.id = ${conversationId}
      join runs on runs.conversation_id = conversations.id and runs.hold = later.hold
    order by (runs.hold = ${tipHold}) desc, runs.left_branch desc nulls last limit 1`.execute(trx)
  return rows[0]?.hold ?? hold
}

/** Whether a run of a locked conversation is on the current branch. */
export async function isRunOnBranch(trx: Trx, runId: string): Promise<boolean> {
  const { rows } = await sql`
    select from runs join conversations on conversations.id = runs.conversation_id
    where runs.id = ${runId} and not off_branch @> runs.hold`.execute(trx)
  return rows.length > 0
}

/**
 * The versions of the turn that each of these runs belongs to, oldest first. A run that never held its conversation is
 * its turn's only version. Of too many, the oldest are left out.
 */
export async function listVersionsOfRuns(
  db: Db,
  reach: Reach,
  runIds: readonly string[],
): Promise<{ readonly versionOf: string; readonly run: Run }[]> {
  const rows = await runsOfTenant(db, reach)
    .innerJoin(
      sql<{ id: string; version_of: string }>`(
        select version.id, asked.id as version_of
        from runs asked cross join lateral (
          select asked.id where asked.hold is null
          union all
          (select id from (${listFollowers(sql`asked.conversation_id`, sql`asked.previous_hold`)}) follower
            order by (id = asked.id) desc, id desc limit ${plainListLimit})
        ) version
        where asked.id = any(${runIds}::uuid[])
      )`.as('versions'),
      'versions.id',
      'runs.id',
    )
    .select(runColumns)
    .select('versions.version_of')
    .orderBy('runs.id')
    .execute()
  return rows.map((row) => ({ versionOf: row.version_of, run: toRun(row) }))
}

/** The run before each of these on its branch. */
export async function listPreviousRuns(db: Db, reach: Reach, runIds: readonly string[]): Promise<Map<string, Run>> {
  const rows = await runsOfTenant(db, reach)
    .innerJoin('runs as next', (join) =>
      join.onRef('next.conversation_id', '=', 'runs.conversation_id').onRef('next.previous_hold', '=', 'runs.hold'),
    )
    .where(sql<SqlBool>`next.id = any(${runIds}::uuid[])`)
    .select(runColumns)
    .select('next.id as next_id')
    .execute()
  return new Map(rows.map((row) => [row.next_id, toRun(row)]))
}

/**
 * The last message shared by two branches, which end with the runs at these places. Null if they share none. Of two
 * runs, the one that held the conversation later cannot come before the other, so walking back from both ends meets.
 */
export async function findLastSharedMessage(
  db: Db,
  conversationId: string,
  [one, other]: readonly [number, number],
): Promise<string | null> {
  const before = (hold: RawBuilder<unknown>) =>
    sql`coalesce((select previous_hold from runs where conversation_id = ${conversationId} and hold = ${hold}), 0)`
  const { rows } = await sql<{ id: string }>`
    with recursive meeting as (
      select ${one}::integer as one, ${other}::integer as other
      union all
      select case when one > other then ${before(sql`one`)} else one end,
        case when other > one then ${before(sql`other`)} else other end
      from meeting where one <> other
    ),
    branch as (
      select runs.hold, previous_hold, first_position, next_position
      from meeting join runs on runs.conversation_id = ${conversationId} and runs.hold = meeting.one
      where one = other
      union all
      select runs.hold, runs.previous_hold, runs.first_position, runs.next_position
      from branch join runs on runs.conversation_id = ${conversationId} and runs.hold = branch.previous_hold
      -- A run that ended before it began has no messages.
      where branch.first_position is null
    )
    select messages.id from branch join messages on messages.conversation_id = ${conversationId}
      and messages.position >= branch.first_position and messages.position < branch.next_position
      and messages.run_hold = branch.hold
    order by messages.position desc limit 1`.execute(db)
  return rows[0]?.id ?? null
}

/** The last message before those of a run, on the run's branch. Null if there is none, or the run is gone. */
export async function findLastMessageBefore(db: Db, runId: string): Promise<string | null> {
  const { rows } = await sql<{ conversation_id: string; previous_hold: number }>`
    select conversation_id, previous_hold from runs where id = ${runId} and previous_hold is not null`.execute(db)
  const run = rows[0]
  return run ? findLastSharedMessage(db, run.conversation_id, [run.previous_hold, run.previous_hold]) : null
}
