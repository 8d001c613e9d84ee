import { sql, type Kysely, type RawBuilder, type Selectable, type SqlBool } from 'kysely'

import { statusOfStopReason, stopReasons, type Run, type RunStatus, type StopReason } from '../domain/run.ts'
import type { Reach } from '../domain/access/viewer.ts'
import { firstIdAt } from '../util/ids.ts'
import { countRows, maxCount, planPage, readPage, type ListOrder, type Page, type PageArguments } from './database/page.ts'
import { idSlackMs, runColumns, runsOfTenant, toRun, unfinishedRuns } from './runs/runs.ts'
import type { Database } from './database/schema.ts'
import { ofTenant } from './access/tenant-scope.ts'

/** All given fields must match. A field that is omitted filters nothing; an empty list matches nothing. */
export interface RunFilter {
  readonly agentIds?: readonly string[] | null | undefined
  readonly conversationIds?: readonly string[] | null | undefined
  readonly statuses?: readonly RunStatus[] | null | undefined
  readonly stopReasons?: readonly StopReason[] | null | undefined
  readonly createdAfter?: Date | null | undefined
  readonly createdBefore?: Date | null | undefined
  readonly background?: boolean | null | undefined
}

const order: ListOrder = { key: 'runs.id', kind: 'uuid', order: 'newest first' }

/** Newest first. */
export function listRunsPage(
  db: Kysely<Database>,
  reach: Reach,
  { filter, page }: { readonly filter: RunFilter; readonly page: PageArguments },
): Promise<Page<Run>> {
  const { within, direction, limit } = planPage(page, order)
  const sorted = (key: string) => sql`order by ${sql.ref(key)} ${sql.raw(direction)} limit ${limit}`
  const ids = sql`${selectRunIds(reach, filter, sql`and ${within} ${sorted('runs.id')}`)} ${sorted('id')}`
  const query = runsOfTenant(db, reach)
    .where(sql<SqlBool>`runs.id in (${ids})`)
    .select(runColumns)
  return readPage(query, page, { ...order, keyOf: (row) => row.id, toNode: toRun })
}

export function countRuns(db: Kysely<Database>, reach: Reach, filter: RunFilter): Promise<number> {
  return countRows(db, selectRunIds(reach, filter, sql`order by runs.id limit ${maxCount}`))
}

/**
 * The ids of the runs that pass a filter; `cut` takes a part of them. Every list is read by index, whatever its filter:
 * an index holds the runs of a tenant, an agent or a conversation that have the same outcome, ordered by id. So a list
 * is merged from one range of that index for each owner and outcome, and each range is cut.
 */
function selectRunIds(reach: Reach, filter: RunFilter, cut: RawBuilder<unknown>): RawBuilder<unknown> {
  const { column, ids } = ownersOf(reach, filter)
  const idsWhere = (...conditions: RawBuilder<unknown>[]) => sql`
    (select runs.id from runs
    where ${sql.join([ofTenant('runs', reach), ...conditions, ...conditionsOf(filter)], sql` and `)} ${cut})`
  // Background runs have an index of their own.
  const ranges =
    filter.background && column === 'tenant_id'
      ? [idsWhere(...statusConditions(filter))]
      : outcomesOf(filter).map((outcome) => {
          const ofOwner = (owner: RawBuilder<unknown>) =>
            idsWhere(
              sql`runs.${sql.ref(column)} = ${owner} and ${hasOutcome(outcome)}`,
              ...(outcome === 'ACTIVE' && column === 'conversation_id'
                ? [sql`runs.id in (${unfinishedRuns(owner)})`]
                : []),
              // Any other outcome already answers the filter. A superfluous condition would mislead the planner.
              ...(outcome === 'ACTIVE' ? statusConditions(filter) : []),
            )
          if (ids.length === 1) return ofOwner(sql`${ids[0]}`)
          return sql`(select id from unnest(${[...new Set(ids)]}::uuid[]) as owner (owner_id)
            cross join lateral ${ofOwner(sql`owner_id`)} of_owner)`
        })
  if (ranges.length === 0) return sql`select null::uuid as id where false`
  return sql`select id from (${sql.join(ranges, sql` union all `)}) listed`
}

/** The value is part of the statement's text, so that the planner knows which partial indexes apply. */
function hasOutcome(outcome: Outcome): RawBuilder<SqlBool> {
  return sql`runs.outcome = ${sql.lit(outcome)} and ${outcome === 'ACTIVE' ? sql`not runs.ended` : sql`true`}`
}

function ownersOf(reach: Reach, { agentIds, conversationIds }: RunFilter) {
  const conversations = conversationIds ?? reach.allowedConversationIds
  if (conversations) return { column: 'conversation_id', ids: conversations } as const
  const agents = agentIds ?? reach.allowedAgentIds
  if (agents) return { column: 'agent_id', ids: agents } as const
  return { column: 'tenant_id', ids: [reach.tenantId] } as const
}

type Outcome = Selectable<Database['runs']>['outcome']

/** The possible outcomes of a run that passes the filter. */
function outcomesOf({ statuses, stopReasons: reasons }: RunFilter): Outcome[] {
  const all: Outcome[] = ['ACTIVE', ...stopReasons]
  return all.filter((outcome) => {
    if (outcome === 'ACTIVE') {
      const isActive = !statuses || statuses.some((status) => activeStatuses.includes(status))
      // A run that continues after an approval still has the stop reason of its pause.
      return isActive && (!reasons || reasons.includes('REQUIRES_APPROVAL'))
    }
    return (!statuses || statuses.includes(statusOfStopReason(outcome))) && (!reasons || reasons.includes(outcome))
  })
}

const activeStatuses: readonly RunStatus[] = ['QUEUED', 'RUNNING', 'CANCELLING']

/** The filter's conditions other than owner and outcome. */
function conditionsOf(filter: RunFilter): RawBuilder<SqlBool>[] {
  const conditions: RawBuilder<SqlBool>[] = []
  if (filter.agentIds && filter.conversationIds) conditions.push(sql`runs.agent_id = any(${filter.agentIds}::uuid[])`)
  if (filter.createdAfter) {
    const earliest = firstIdAt(new Date(filter.createdAfter.getTime() - idSlackMs))
    conditions.push(sql`runs.created_at > ${filter.createdAfter} and runs.id >= ${earliest}::uuid`)
  }
  if (filter.createdBefore) {
    const latest = firstIdAt(new Date(filter.createdBefore.getTime() + idSlackMs))
    conditions.push(sql`runs.created_at < ${filter.createdBefore} and runs.id < ${latest}::uuid`)
  }
  if (typeof filter.background === 'boolean') {
    conditions.push(filter.background ? sql`runs.kind = 'SLEEPTIME'` : sql`runs.kind <> 'SLEEPTIME'`)
  }
  return conditions
}

function statusConditions({ statuses, stopReasons: reasons }: RunFilter): RawBuilder<SqlBool>[] {
  return [
    ...(statuses ? [hasStatus(statuses)] : []),
    ...(reasons ? [sql<SqlBool>`runs.stop_reason = any(${reasons}::text[])`] : []),
  ]
}

/** Statuses as the API shows them: CANCELLING is stored as RUNNING with the time of the cancel. */
function hasStatus(statuses: readonly RunStatus[]): RawBuilder<SqlBool> {
  return sql`case when runs.status = 'RUNNING' and runs.cancel_requested_at is not null
    then 'CANCELLING' else runs.status end = any(${statuses}::text[])`
}
