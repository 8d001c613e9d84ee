import { sql, type Kysely, type RawBuilder, type SqlBool } from 'kysely'

import type { ToolCallNeed, ToolCallOutline, ToolCallStatus } from '../../domain/tools/tool-call.ts'
import type { Reach } from '../../domain/access/viewer.ts'
import { storableText } from '../../util/json.ts'
import { countRows, maxCount, planPage, readPage, type ListOrder, type Page, type PageArguments } from '../database/page.ts'
import type { Database } from '../database/schema.ts'
import { ofTenant } from '../access/tenant-scope.ts'
import { callsOfTenant, outlineColumns, toOutline } from './tool-calls.ts'

/** All given fields must match. A field that is omitted filters nothing; an empty list matches nothing. */
export interface ToolCallFilter {
  readonly agentIds?: readonly string[] | null | undefined
  readonly statuses?: readonly ToolCallStatus[] | null | undefined
  readonly needs?: readonly ToolCallNeed[] | null | undefined
  readonly toolNames?: readonly string[] | null | undefined
  readonly decidedBy?: string | null | undefined
}

const order: ListOrder = { key: 'tool_calls.id', kind: 'uuid', order: 'oldest first' }

/** Oldest first. */
export function listToolCallsPage(
  db: Kysely<Database>,
  reach: Reach,
  { filter, page }: { readonly filter: ToolCallFilter; readonly page: PageArguments },
): Promise<Page<ToolCallOutline>> {
  const { within, direction, limit } = planPage(page, order)
  const sorted = (key: string) => sql`order by ${sql.ref(key)} ${sql.raw(direction)} limit ${limit}`
  const ids = sql`${selectCallIds(reach, filter, sql`and ${within} ${sorted('tool_calls.id')}`)} ${sorted('id')}`
  const query = callsOfTenant(db, reach)
    .where(sql<SqlBool>`tool_calls.id in (${ids})`)
    .select(outlineColumns)
  return readPage(query, page, { ...order, keyOf: (row) => row.id, toNode: toOutline })
}

export function countToolCalls(db: Kysely<Database>, reach: Reach, filter: ToolCallFilter): Promise<number> {
  return countRows(db, selectCallIds(reach, filter, sql`order by tool_calls.id limit ${maxCount}`))
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
  { statuses, needs, toolNames, decidedBy }: ToolCallFilter,
): readonly RawBuilder<SqlBool>[] {
  if (typeof decidedBy === 'string') return [sql`true`]
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
    select id from runs where ${ofTenant('runs', reach)} and outcome = 'ACTIVE')`
}

function conditionsOf(filter: ToolCallFilter): RawBuilder<SqlBool>[] {
  const conditions: RawBuilder<SqlBool>[] = [sql`true`]
  if (filter.agentIds) {
    conditions.push(sql`exists (select from runs where runs.id = tool_calls.run_id
      and runs.agent_id = any(${filter.agentIds}::uuid[]))`)
  }
  if (filter.statuses) conditions.push(sql`tool_calls.status = any(${filter.statuses}::text[])`)
  if (filter.needs) conditions.push(sql`tool_calls.needs = any(${filter.needs}::text[])`)
  if (filter.toolNames) conditions.push(sql`tool_calls.name = any(${filter.toolNames.map(storableText)}::text[])`)
  if (typeof filter.decidedBy === 'string')
    conditions.push(sql`tool_calls.decided_by = ${storableText(filter.decidedBy)}`)
  return conditions
}
