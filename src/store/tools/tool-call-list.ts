import { sql, type RawBuilder, type SqlBool } from 'kysely'

import type { ToolCallNeed, ToolCallOutline, ToolCallStatus } from '../../domain/tools/tool-call.ts'
import type { Reach } from '../../domain/access/viewer.ts'
import { firstIdAt, idSlackMs } from '../../util/ids.ts'
import { storableText } from '../../util/json.ts'
import { maxCount, planPage, readPage, type ListOrder, type Page, type PageArguments } from '../database/page.ts'
import type { Db } from '../database/schema.ts'
import { ofTenant } from '../access/tenant-scope.ts'
import { activeRuns } from '../runs/runs.ts'
import { callsOfTenant, outlineColumns, toOutline } from './tool-calls.ts'

/** All given fields must match. A field that is omitted filters nothing; an empty list matches nothing. */
export interface ToolCallFilter {
  readonly agentIds?: readonly string[] | null | undefined
  readonly runIds?: readonly string[] | null | undefined
  readonly conversationIds?: readonly string[] | null | undefined
  readonly statuses?: readonly ToolCallStatus[] | null | undefined
  readonly needs?: readonly ToolCallNeed[] | null | undefined
  readonly toolNames?: readonly string[] | null | undefined
  readonly decidedBy?: string | null | undefined
  readonly createdAfter?: Date | null | undefined
  readonly createdBefore?: Date | null | undefined
}

/**
 * A call gets its id when the model begins to write it, and `created_at` when the answer is stored: later by at most
 * this much, except for answers that nobody would wait for.
 */
const answerMs = 3_600_000

const order: ListOrder = { key: 'tool_calls.id', kind: 'uuid', order: 'oldest first' }

/** Oldest first. */
export function listToolCallsPage(
  db: Db,
  reach: Reach,
  { filter, page }: { readonly filter: ToolCallFilter; readonly page: PageArguments },
): Promise<Page<ToolCallOutline>> {
  const { within, direction, limit } = planPage(page, order)
  const sorted = (key: string) => sql`order by ${sql.ref(key)} ${sql.raw(direction)} limit ${limit}`
  const ids = sql`${selectCallIds(reach, filter, sql`and ${within} ${sorted('tool_calls.id')}`)} ${sorted('id')}`
  const query = callsOfTenant(db, reach)
    .where(sql<SqlBool>`tool_calls.id in (${ids})`)
    .select(outlineColumns)
  const counted = selectCallIds(reach, filter, sql`order by tool_calls.id limit ${maxCount}`)
  return readPage(db, query, page, { ...order, keyOf: (row) => row.id, toNode: toOutline, counted })
}

/**
 * The ids of the calls that pass a filter; `cut` takes a part of them. They are merged from one index range for each
 * value of the filter that leaves the fewest calls, as in `listRunsPage`.
 */
function selectCallIds(reach: Reach, filter: ToolCallFilter, cut: RawBuilder<unknown>): RawBuilder<unknown> {
  const conditions = sql`${ofTenant('tool_calls', reach)} and ${sql.join(conditionsOf(filter), sql` and `)}`
  const ranges = rangesOf(reach, filter).map(
    (range) => sql`(select tool_calls.id from tool_calls where ${range} and ${conditions} ${cut})`,
  )
  return sql`select id from (${sql.join(ranges, sql` union all `)}) listed`
}

/** At least one. No call is in two of them. */
function rangesOf(
  reach: Reach,
  { runIds, conversationIds, statuses, needs, toolNames, decidedBy }: ToolCallFilter,
): readonly RawBuilder<SqlBool>[] {
  if (runIds || conversationIds || typeof decidedBy === 'string') return [sql`true`]
  const unusual = statuses && !statuses.includes('SUCCEEDED') ? new Set(statuses) : undefined
  if (unusual?.size) return [...unusual].map((status) => isOfStatus(reach, status))
  if (needs?.length && !needs.includes('NOTHING'))
    return [...new Set(needs)].map((need) => sql`tool_calls.needs = ${need} and tool_calls.needs <> 'NOTHING'`)
  if (toolNames?.length) return [...new Set(toolNames.map(storableText))].map((name) => sql`tool_calls.name = ${name}`)
  return [sql`true`]
}

/**
 * RUNNING is in no index, because every call would then be written to it. A call that is RUNNING belongs to an active
 * run.
 */
function isOfStatus(reach: Reach, status: ToolCallStatus): RawBuilder<SqlBool> {
  if (status !== 'RUNNING') return sql`tool_calls.exception = ${status}`
  return sql`tool_calls.status = 'RUNNING' and tool_calls.run_id in (
    ${activeRuns(ofTenant('runs', reach))})`
}

function conditionsOf(filter: ToolCallFilter): RawBuilder<SqlBool>[] {
  const conditions: RawBuilder<SqlBool>[] = [sql`true`]
  if (filter.agentIds) {
    conditions.push(sql`exists (select from runs where runs.id = tool_calls.run_id
      and runs.agent_id = any(${filter.agentIds}::uuid[]))`)
  }
  if (filter.runIds) conditions.push(sql`tool_calls.run_id = any(${filter.runIds}::uuid[])`)
  if (filter.conversationIds) {
    // An array, so that the planner starts from the runs instead of looking through all calls in order.
    conditions.push(sql`tool_calls.run_id = any(array(
      select runs.id from runs where runs.conversation_id = any(${filter.conversationIds}::uuid[])))`)
  }
  if (filter.createdAfter) {
    const earliest = firstIdAt(new Date(filter.createdAfter.getTime() - answerMs))
    conditions.push(sql`tool_calls.created_at > ${filter.createdAfter} and tool_calls.id >= ${earliest}::uuid`)
  }
  if (filter.createdBefore) {
    const latest = firstIdAt(new Date(filter.createdBefore.getTime() + idSlackMs))
    conditions.push(sql`tool_calls.created_at < ${filter.createdBefore} and tool_calls.id < ${latest}::uuid`)
  }
  if (filter.statuses) conditions.push(sql`tool_calls.status = any(${filter.statuses}::text[])`)
  if (filter.needs) conditions.push(sql`tool_calls.needs = any(${filter.needs}::text[])`)
  if (filter.toolNames) conditions.push(sql`tool_calls.name = any(${filter.toolNames.map(storableText)}::text[])`)
  if (typeof filter.decidedBy === 'string')
    conditions.push(sql`tool_calls.decided_by = ${storableText(filter.decidedBy)}`)
  return conditions
}
