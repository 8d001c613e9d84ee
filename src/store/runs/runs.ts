import { sql, type RawBuilder } from 'kysely'

import type { GivenMessage } from '../../domain/conversations/message.ts'
import { shownStatus, type Run, type RunContents, type RunRequest, type RunStatus } from '../../domain/runs/run.ts'
import type { Reach } from '../../domain/access/viewer.ts'
import { firstIdAt, idSlackMs } from '../../util/ids.ts'
import type { JsonObject } from '../../util/json.ts'
import { childrenNamed, tellsStatus } from './log-entries.ts'
import { fromColumns, pickColumns, qualified } from '../database/columns.ts'
import { executePrepared } from '../database/prepared.ts'
import type { Db, Row } from '../database/schema.ts'
import { ofTenant } from '../access/tenant-scope.ts'
import { toUsage, usageColumns, type UsageRow } from './usage.ts'

/** Whether a run began in the statement that stored it (`admitRun`). Then its request has the number of its messages. */
export const isBegun = sql<boolean>`jsonb_typeof(runs.request -> 'messages') = 'number'`

/** A run without its contents: `request` and `metadata` may be large. */
const ownColumns = [
  ...(['id', 'tenant_id', 'agent_id', 'conversation_id', 'number', 'hold', 'previous_hold', 'resumed'] as const),
  ...(['kind', 'parent_id', 'schedule_id', 'sent_by', 'max_steps', 'max_total_tokens', 'created_at'] as const),
  ...(['status', 'stop_reason', 'has_output', 'next_seq', 'first_position', 'next_position', 'attempts'] as const),
  ...(['cancel_requested_at', 'cancelled_by', 'updated_at', 'started_at', 'finished_at', 'steps', 'error'] as const),
]
export const runColumns = qualified('runs', [...ownColumns, ...usageColumns])

export function toRun(row: Pick<Row<'runs'>, (typeof ownColumns)[number]> & UsageRow): Run {
  return { ...pickColumns(row, ownColumns), usage: toUsage(row) }
}

/**
 * The messages that a client sent: in the request or, of a run that began in the statement that stored it, their
 * number. Such a run has added them as its first messages, in the same statement.
 */
const input = sql`case when ${isBegun} then (
    select coalesce(jsonb_agg(jsonb_build_object('role', type, 'clientId', client_id) || content order by position), '[]')
    from messages where messages.conversation_id = runs.conversation_id and position >= first_position
      and position < first_position + (runs.request -> 'messages')::integer)
  else runs.request -> 'messages' end`

/** The request of `runs`, whole. */
export const wholeRequest = sql<RunRequest>`
  '{"clientTools": []}' || runs.request || jsonb_build_object('messages', ${input})`

const allRunColumns = sql.raw(runColumns.join(', '))

export async function findRuns(db: Db, reach: Reach, ids: readonly string[]): Promise<Run[]> {
  const { rows } = await executePrepared(
    db,
    sql<
      Parameters<typeof toRun>[0]
    >`select ${allRunColumns} from runs where ${ofTenant('runs', reach)} and runs.id = any(${ids}::uuid[])`,
  )
  return rows.map(toRun)
}

/** A run with what the client sent. */
export async function findRunContents(db: Db, reach: Reach, id: string): Promise<(Run & RunContents) | undefined> {
  const row = await runsOfTenant(db, reach)
    .where('runs.id', '=', id)
    .select([...runColumns, wholeRequest.as('request'), 'runs.metadata'])
    .executeTakeFirst()
  return row && { ...toRun(row), request: row.request, metadata: row.metadata }
}

/** The messages that clients sent with these runs, by run. */
export function findRunInputs(db: Db, reach: Reach, ids: readonly string[]) {
  return findOfRuns<readonly GivenMessage[]>(db, reach, ids, input)
}

export function findRunMetadata(db: Db, reach: Reach, ids: readonly string[]) {
  return findOfRuns<JsonObject>(db, reach, ids, sql`runs.metadata`)
}

/** The names of the tools that clients sent with these runs, by run. */
export function findClientToolNames(db: Db, reach: Reach, ids: readonly string[]) {
  return findOfRuns<readonly { readonly name: string }[]>(
    db,
    reach,
    ids,
    sql`(select coalesce(jsonb_agg(jsonb_build_object('name', tool -> 'name')), '[]')
      from jsonb_array_elements(runs.request -> 'clientTools') tool)`,
  )
}

async function findOfRuns<Value>(
  db: Db,
  reach: Reach,
  ids: readonly string[],
  part: RawBuilder<unknown>,
): Promise<Map<string, Value>> {
  const rows = await runsOfTenant(db, reach)
    .where(sql<boolean>`runs.id = any(${ids}::uuid[])`)
    .select(['runs.id', sql<Value>`${part}`.as('value')])
    .execute()
  return new Map(rows.map((row) => [row.id, row.value as Value]))
}

/**
 * The background runs that read the turns of these runs, oldest first: those that were created for them, and those that
 * were waiting already, which the last log entries of these runs name.
 */
export async function listChildrenOfRuns(
  db: Db,
  reach: Reach,
  runIds: readonly string[],
): Promise<{ readonly parentId: string; readonly run: Run }[]> {
  const rows = await runsOfTenant(db, reach)
    .innerJoin(
      sql<{ id: string; read_run_id: string }>`(
        select id, parent_id as read_run_id from runs where parent_id = any(${runIds}::uuid[])
        union
        select named.id, run_id from run_log cross join lateral ${childrenNamed(sql`entries`)} named(id)
        where run_id = any(${runIds}::uuid[])
      )`.as('children'),
      'children.id',
      'runs.id',
    )
    .select(runColumns)
    .select('children.read_run_id')
    .orderBy('runs.id')
    .execute()
  return rows.map((row) => ({ parentId: row.read_run_id, run: toRun(row) }))
}

/** An index holds the active runs that a worker drives, another one all others. A list of active runs has both parts. */
export const activeParts = [
  sql<boolean>`runs.outcome = 'ACTIVE' and runs.worker_id is null`,
  sql<boolean>`runs.outcome = 'ACTIVE' and runs.worker_id is not null`,
] as const

/** The ids of active runs. `which` names a tenant. */
export function activeRuns(which: RawBuilder<unknown>): RawBuilder<unknown> {
  return sql.join(
    activeParts.map((part) => sql`select runs.id from runs where ${which} and ${part}`),
    sql` union all `,
  )
}

/** The ids of the runs of a conversation that have not ended: those that wait for it, and the one that holds it. */
export function unfinishedRuns(conversationId: RawBuilder<unknown>): RawBuilder<unknown> {
  return sql`select id from runs where conversation_id = ${conversationId} and hold is null and not ended
    union all select active_run_id from conversations where id = ${conversationId}`
}

export function runsOfTenant(db: Db, reach: Reach) {
  return db.selectFrom('runs').where(ofTenant('runs', reach))
}

/**
 * How far a run has got, without a check of the viewer: the caller has made that check. Undefined if the run was
 * deleted.
 */
export async function findRunProgress(
  db: Db,
  runId: string,
): Promise<Pick<Run, 'status' | 'stopReason' | 'nextSeq'> | undefined> {
  const columns = ['status', 'stop_reason', 'next_seq'] as const
  const row = await db.selectFrom('runs').where('id', '=', runId).select(columns).executeTakeFirst()
  return row && fromColumns(row)
}

/** Like `findRunProgress`, for many runs. */
export async function listRunSeqs(db: Db, runIds: readonly string[]): Promise<Map<string, number>> {
  const rows = await db
    .selectFrom('runs')
    .where(sql<boolean>`id = any(${runIds}::uuid[])`)
    .select(['id', 'next_seq'])
    .execute()
  return new Map(rows.map((row) => [row.id, row.next_seq]))
}

/** The values that a checkpoint's fence compares, to find out why it refused. */
export async function findFence(db: Db, runId: string) {
  const columns = ['lease', 'next_seq', 'cancel_requested_at'] as const
  const row = await db.selectFrom('runs').where('id', '=', runId).select(columns).executeTakeFirst()
  return row && fromColumns(row)
}

/**
 * The tenant's runs whose status changed at or after `since`, ordered by id. The time of the last change is in no
 * index, because every checkpoint would have to update it. Ended runs are found by their end time, paused runs by the
 * calls that they wait for, and for each active run its log is read.
 */
export async function listChangedRuns(
  db: Db,
  reach: Reach,
  options: { readonly since: Date; readonly after: string | undefined; readonly limit: number },
): Promise<Run[]> {
  const { since, limit } = options
  const after = options.after === undefined ? sql`true` : sql`runs.id > ${options.after}::uuid`
  const isChanged = sql`(runs.created_at >= ${since} or runs.cancel_requested_at >= ${since} or exists (
    select from run_log where run_id = runs.id and at >= ${since} and ${tellsStatus(sql`entries`)}))`
  const changed = changedRuns(reach, since, { isChanged, cut: sql`and ${after} order by runs.id limit ${limit}` })
  const rows = await runsOfTenant(db, reach)
    .where(sql<boolean>`runs.id in (${changed})`)
    .select(runColumns)
    .orderBy('runs.id')
    .limit(limit)
    .execute()
  return rows.map(toRun)
}

/** The tenant's runs that changed since then, with their statuses as the API shows them. */
export async function listRecentStatuses(db: Db, reach: Reach, since: Date): Promise<Map<string, RunStatus>> {
  const isChanged = sql`greatest(runs.updated_at, runs.cancel_requested_at) >= ${since}`
  const rows = await runsOfTenant(db, reach)
    .where(sql<boolean>`runs.id in (${changedRuns(reach, since, { isChanged, cut: sql`` })})`)
    .select(['runs.id', 'runs.status', 'runs.cancel_requested_at'])
    .execute()
  return new Map(rows.map((row) => [row.id, shownStatus(fromColumns(row))]))
}

/** The ids of runs that changed since then. `isChanged` says it of active runs; `cut` takes a part of each range. */
function changedRuns(
  reach: Reach,
  since: Date,
  { isChanged, cut }: { readonly isChanged: RawBuilder<unknown>; readonly cut: RawBuilder<unknown> },
): RawBuilder<unknown> {
  const those = (which: RawBuilder<unknown>) => sql`
    (select runs.id from runs where ${ofTenant('runs', reach)} and ${which} ${cut})`
  return sql`
    ${those(sql`runs.ended and runs.finished_at >= ${since}`)}
    union all ${those(sql`runs.outcome = 'REQUIRES_APPROVAL' and ${waitsSince(reach, since)}`)}
    union all ${those(sql`runs.outcome = 'BUDGET_EXCEEDED' and not runs.ended and runs.updated_at >= ${since}`)}
    ${sql.join(
      activeParts.map((part) => sql`union all ${those(sql`${part} and ${isChanged}`)}`),
      sql` `,
    )}`
}

/** Whether a paused run paused at or after `since`: its calls were stored at that moment. */
function waitsSince(reach: Reach, since: Date): RawBuilder<unknown> {
  return sql`exists (select from tool_calls where ${ofTenant('tool_calls', reach)} and tool_calls.run_id = runs.id
    and tool_calls.exception = 'PENDING' and tool_calls.created_at >= ${since}
    and tool_calls.id >= ${firstIdAt(new Date(since.getTime() - idSlackMs))}::uuid)`
}
