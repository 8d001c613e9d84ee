import { sql, type RawBuilder, type SqlBool } from 'kysely'

import { statusOfStopReason, stopReasons, type Run, type RunStatus, type StopReason } from '../../domain/runs/run.ts'
import type { Reach } from '../../domain/access/viewer.ts'
import type { RunWait } from '../../domain/approvals/approval.ts'
import type { ToolCallNeed } from '../../domain/tools/tool-call.ts'
import { firstIdAt, idSlackMs } from '../../util/ids.ts'
import { storableText, type JsonObject } from '../../util/json.ts'
import { maxCount, planPage, readPage, type ListOrder, type Page, type PageArguments } from '../database/page.ts'
import { activeParts, runColumns, runsOfTenant, toRun, unfinishedRuns } from './runs.ts'
import type { Db, Row } from '../database/schema.ts'
import { ofTenant } from '../access/tenant-scope.ts'

/** All given fields must match. A field that is omitted filters nothing; an empty list matches nothing. */
export interface RunFilter {
  readonly agentIds?: readonly string[] | null | undefined
  readonly conversationIds?: readonly string[] | null | undefined
  readonly statuses?: readonly RunStatus[] | null | undefined
  readonly stopReasons?: readonly StopReason[] | null | undefined
  readonly createdAfter?: Date | null | undefined
  readonly createdBefore?: Date | null | undefined
  readonly background?: boolean | null | undefined
  readonly metadataContains?: JsonObject | null | undefined
  /** Id of an actor. */
  readonly sentBy?: string | null | undefined
  readonly models?: readonly string[] | null | undefined
  readonly waitingFor?: readonly RunWait[] | null | undefined
}

const order: ListOrder = { key: 'runs.id', kind: 'uuid', order: 'newest first' }

/** Newest first. */
export function listRunsPage(
  db: Db,
  reach: Reach,
  { filter, page }: { readonly filter: RunFilter; readonly page: PageArguments },
): Promise<Page<Run>> {
  const { within, direction, limit } = planPage(page, order)
  const sorted = (key: string) => sql`order by ${sql.ref(key)} ${sql.raw(direction)} limit ${limit}`
  const ids = sql`${selectRunIds(reach, filter, sql`and ${within} ${sorted('runs.id')}`)} ${sorted('id')}`
  const query = runsOfTenant(db, reach)
    .where(sql<SqlBool>`runs.id in (${ids})`)
    .select(runColumns)
  const counted = selectRunIds(reach, filter, sql`order by runs.id limit ${maxCount}`)
  return readPage(db, query, page, { ...order, keyOf: (row) => row.id, toNode: toRun, counted })
}

/** Newest first. */
export function listRunsOfSchedulePage(
  db: Db,
  reach: Reach,
  scheduleId: string,
  page: PageArguments,
): Promise<Page<Run>> {
  const query = runsOfTenant(db, reach).where('runs.schedule_id', '=', scheduleId).select(runColumns)
  return readPage(db, query, page, { ...order, keyOf: (row) => row.id, toNode: toRun })
}

/**
 * The ids of the runs that pass a filter; `cut` takes a part of them. Every list is read by index, whatever its filter:
 * an index holds the runs of a tenant, a sender, an agent or a conversation that have the same outcome, ordered by id.
 * So a list is merged from one range of that index for each owner and outcome, and each range is cut.
 */
function selectRunIds(reach: Reach, filter: RunFilter, cut: RawBuilder<unknown>): RawBuilder<unknown> {
  const { column, type, ids } = ownersOf(reach, filter)
  const idsWhere = (...conditions: RawBuilder<unknown>[]) => sql`
    (select runs.id from runs
    where ${sql.join([ofTenant('runs', reach), ...conditions, ...conditionsOf(filter)], sql` and `)} ${cut})`
  // Background runs have an index of their own.
  const ranges =
    filter.background && column === 'runs.tenant_id' && !filter.waitingFor
      ? [idsWhere(...statusConditions(filter))]
      : outcomesOf(filter).flatMap((outcome) =>
          partsOf(outcome).map((part) => {
            const ofOwner = (owner: RawBuilder<unknown>) =>
              idsWhere(
                sql`${sql.raw(column)} = ${owner} and ${part}`,
                ...(filter.waitingFor ? [waitsFor(filter.waitingFor, outcome, reach)] : []),
                ...(outcome === 'ACTIVE' && column === 'runs.conversation_id'
                  ? [sql`runs.id in (${unfinishedRuns(owner)})`]
                  : []),
                // Any other outcome already answers the filter. A superfluous condition would mislead the planner.
                ...(outcome === 'ACTIVE' || outcome === 'BUDGET_EXCEEDED' ? statusConditions(filter) : []),
              )
            if (ids.length === 1) return ofOwner(sql`${ids[0]}`)
            return sql`(select id from unnest(${[...new Set(ids)]}::${sql.raw(type)}[]) as owner (owner_id)
            cross join lateral ${ofOwner(sql`owner_id`)} of_owner)`
          }),
        )
  if (ranges.length === 0) return sql`select null::uuid as id where false`
  return sql`select id from (${sql.join(ranges, sql` union all `)}) listed`
}

/** The outcome is part of the text of the statement, so that the planner knows which partial indexes apply. */
function partsOf(outcome: Outcome): readonly RawBuilder<SqlBool>[] {
  return outcome === 'ACTIVE' ? activeParts : [sql`runs.outcome = ${sql.lit(outcome)}`]
}

function ownersOf(reach: Reach, { agentIds, conversationIds, sentBy }: RunFilter) {
  const conversations = conversationIds ?? reach.allowedConversationIds
  if (conversations) return { column: 'runs.conversation_id', type: 'uuid', ids: conversations } as const
  const agents = agentIds ?? reach.allowedAgentIds
  if (agents) return { column: 'runs.agent_id', type: 'uuid', ids: agents } as const
  if (typeof sentBy === 'string') return { column: senderId, type: 'text', ids: [storableText(sentBy)] } as const
  return { column: 'runs.tenant_id', type: 'uuid', ids: [reach.tenantId] } as const
}

const senderId = `(runs.sent_by ->> 'id')`

type Outcome = Row<'runs'>['outcome']

/** The possible outcomes of a run that passes the filter. */
function outcomesOf({ statuses, stopReasons: reasons, models, waitingFor }: RunFilter): Outcome[] {
  if (models?.length === 0) return []
  const all: Outcome[] = ['ACTIVE', ...stopReasons]
  return all.filter((outcome) => {
    if (waitingFor && !waitingFor.some((wait) => waits[wait].outcome === outcome)) return false
    if (outcome === 'ACTIVE') {
      const isActive = !statuses || statuses.some((status) => activeStatuses.includes(status))
      // A run that continues after a pause still has the stop reason of its pause.
      return isActive && (!reasons || reasons.includes('REQUIRES_APPROVAL') || reasons.includes('BUDGET_EXCEEDED'))
    }
    const status: RunStatus = statusOfStopReason[outcome]
    // Such a run ends, or waits for the budget.
    const mayWait = outcome === 'BUDGET_EXCEEDED' && statuses?.includes('AWAITING_APPROVAL')
    return (!statuses || statuses.includes(status) || mayWait) && (!reasons || reasons.includes(outcome))
  })
}

const activeStatuses: readonly RunStatus[] = ['QUEUED', 'RUNNING', 'CANCELLING']

/** The outcome of runs that wait, and which of them wait for this. */
const waits: Readonly<
  Record<RunWait, { readonly outcome: Outcome; readonly runs: (reach: Reach) => RawBuilder<SqlBool> }>
> = {
  APPROVAL: { outcome: 'REQUIRES_APPROVAL', runs: (reach) => haveCallThatNeeds('APPROVAL', reach) },
  CLIENT_RESULT: { outcome: 'REQUIRES_APPROVAL', runs: (reach) => haveCallThatNeeds('CLIENT_EXECUTION', reach) },
  BUDGET: { outcome: 'BUDGET_EXCEEDED', runs: () => sql`not runs.ended` },
}

function haveCallThatNeeds(need: ToolCallNeed, { tenantId }: Reach): RawBuilder<SqlBool> {
  return sql`runs.id in (select tool_calls.run_id from tool_calls
    where tool_calls.tenant_id = ${tenantId}::uuid and tool_calls.exception = 'PENDING' and tool_calls.needs = ${need})`
}

function waitsFor(waitingFor: readonly RunWait[], outcome: Outcome, reach: Reach): RawBuilder<SqlBool> {
  const some = [...new Set(waitingFor)].map((wait) => waits[wait]).filter((wait) => wait.outcome === outcome)
  return sql`(${sql.join(
    some.map(({ runs }) => runs(reach)),
    sql` or `,
  )})`
}

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
  if (typeof filter.sentBy === 'string') {
    const sender = storableText(filter.sentBy)
    // Not in the form of the index: the runs of one conversation are fewer than those of one sender.
    const isInConversation = filter.conversationIds !== null && filter.conversationIds !== undefined
    conditions.push(
      isInConversation
        ? sql`runs.sent_by @> ${JSON.stringify({ id: sender })}::jsonb`
        : sql`${sql.raw(senderId)} = ${sender}`,
    )
  }
  if (filter.models) {
    conditions.push(sql`runs.id in (select steps.run_id from steps
      where steps.model = any(${filter.models.map(storableText)}::text[]) and not steps.repeats_model)`)
  }
  // Only metadata that is not empty is in the index.
  if (filter.metadataContains && Object.keys(filter.metadataContains).length > 0) {
    const contained = JSON.stringify(filter.metadataContains)
    conditions.push(sql`runs.metadata @> ${contained}::jsonb and runs.metadata <> '{}'`)
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
