import { sql, type RawBuilder } from 'kysely'

import type { Reach } from '../../domain/access/viewer.ts'
import type { Allowance, Budget, BudgetSettings, BudgetStanding } from '../../domain/usage/budget.ts'
import type { DrivenRun } from '../../domain/runs/run-state.ts'
import { fromColumns, toColumns } from '../database/columns.ts'
import { rowLockerOf } from '../access/tenant-rows.ts'
import { ofTenant } from '../access/tenant-scope.ts'
import { activeRuns } from '../runs/runs.ts'
import type { Db, Row, Trx } from '../database/schema.ts'

type StandingRow = Omit<Row<'budgets'>, 'period_start' | 'counted_tokens' | 'counted_usd'> & {
  readonly spent_tokens: number
  readonly spent_usd: number
  readonly resets_at: Date | null
}

/** The beginning of a budget's period (UTC) that a time is in. */
function startOfPeriod(time: RawBuilder<unknown>): RawBuilder<Date> {
  return sql<Date>`case budgets.period when 'TOTAL' then '-infinity'::timestamptz
    else date_trunc(budgets.period, ${time}, 'UTC') end`
}

/** Whether a budget covers rows with these columns. */
function covers(agentId: RawBuilder<unknown>, actorId: RawBuilder<unknown>): RawBuilder<boolean> {
  return sql<boolean>`(budgets.agent_id is null or budgets.agent_id = ${agentId})
    and (budgets.actor_id is null or budgets.actor_id = ${actorId})`
}

const coversRows = covers(sql`rows.agent_id`, sql`rows.actor_id`)

/** A tenant's runs that are not in usage_hours yet, with what they have used so far. */
function underWay(tenantId: RawBuilder<unknown>): RawBuilder<unknown> {
  return sql`
    select id, agent_id, sent_by ->> 'id' as actor_id, input_tokens::bigint + output_tokens as tokens,
      -- The sum is unknown if one price is.
      coalesce(cost_usd, (select sum(steps.cost_usd) from steps where steps.run_id = runs.id), 0) as usd
    from runs where tenant_id = ${tenantId} and id in (
      ${activeRuns(sql`tenant_id = ${tenantId} and input_tokens + output_tokens > 0`)}
      union select id from runs where tenant_id = ${tenantId} and outcome = 'REQUIRES_APPROVAL'
      union select id from runs where tenant_id = ${tenantId} and outcome = 'BUDGET_EXCEEDED' and not ended
      union select run_id from uncounted_runs)`
}

/** One statement reads it all, so no run is missed or counted twice. */
async function readBudgets(db: Db, which: RawBuilder<unknown>): Promise<BudgetStanding[]> {
  const { rows } = await sql<StandingRow>`
    with chosen as materialized (select budgets.* from budgets where ${which}),
    rows as materialized (${underWay(sql`(select tenant_id from chosen limit 1)`)})
    select id, tenant_id, agent_id, actor_id, period, limit_usd, limit_tokens, when_reached, created_at,
      greatest(coalesce(used.tokens, 0) + case when period_start = ${startOfPeriod(sql`now()`)} then counted_tokens else 0 end, 0)
        ::double precision as spent_tokens,
      greatest(coalesce(used.usd, 0) + case when period_start = ${startOfPeriod(sql`now()`)} then counted_usd else 0 end, 0)
        as spent_usd,
      case when period <> 'TOTAL' then date_trunc(period,
        ${startOfPeriod(sql`now()`)} + make_interval(hours => case period when 'DAY' then 24 else 744 end), 'UTC') end as resets_at
    from chosen budgets cross join lateral (
      select sum(tokens) as tokens, sum(usd) as usd from rows where ${coversRows}) used
    order by id`.execute(db)
  return rows.map((row) => fromColumns(row))
}

export function findBudgets(db: Db, reach: Reach, ids: readonly string[]): Promise<BudgetStanding[]> {
  return readBudgets(db, sql`${ofTenant('budgets', reach)} and id = any(${ids}::uuid[])`)
}

/** Oldest first. */
export function listBudgets(db: Db, reach: Reach): Promise<BudgetStanding[]> {
  return readBudgets(db, ofTenant('budgets', reach))
}

type BudgetedRow = Pick<DrivenRun, 'tenantId' | 'agentId' | 'sentBy'>

function ofRun({ tenantId, agentId, sentBy }: BudgetedRow): RawBuilder<boolean> {
  return sql<boolean>`budgets.tenant_id = ${tenantId} and ${covers(sql`${agentId}::uuid`, sql`${sentBy?.id ?? null}::text`)}`
}

/** The budgets that apply to a run, with everything that any process has stored. */
export function listBudgetsOfRun(db: Db, run: BudgetedRow): Promise<BudgetStanding[]> {
  return readBudgets(db, ofRun(run))
}

/** Locks the budgets of a run against changes. A change of a budget wakes the runs that wait for it. */
export async function shareBudgetsOfRun(trx: Trx, run: BudgetedRow): Promise<void> {
  await sql`select from budgets where ${ofRun(run)} order by id for share`.execute(trx)
}

/** Whether some budget may apply to an agent's runs. */
export function isBudgeted(agentId: RawBuilder<unknown>): RawBuilder<boolean> {
  return sql<boolean>`exists (select from budgets join agents a on a.tenant_id = budgets.tenant_id
    where a.id = ${agentId} and (budgets.agent_id is null or budgets.agent_id = a.id))`
}

export const lockBudget = rowLockerOf(
  'budgets',
  (row): Budget => fromColumns(row, ['period_start', 'counted_tokens', 'counted_usd']),
  'for update',
)

/** No run is counted from here to the end of the transaction, so each is either in `usage_hours` or under way. */
export async function insertBudget(trx: Trx, budget: Budget): Promise<void> {
  await sql`lock table usage_hours in share mode`.execute(trx)
  const { tenantId } = budget
  const given = {
    ...toColumns(budget, ['id', 'tenantId', 'agentId', 'actorId', 'period', 'createdAt']),
    ...settableColumns(budget),
  }
  await trx
    .insertInto('budgets')
    .values({ ...given, period_start: sql`'-infinity'`, counted_tokens: 0, counted_usd: 0 })
    .execute()
  const hours = sql`select usage_hours.agent_id, usage_hours.actor_id, input_tokens + output_tokens as tokens, cost_usd as usd from usage_hours, chosen budgets
    where usage_hours.tenant_id = ${tenantId} and hour >= ${startOfPeriod(sql`now()`)} and period <> 'TOTAL'`
  const negated = sql`select run.agent_id, run.actor_id, -tokens, -usd from (${underWay(sql`${tenantId}::uuid`)}) run, chosen
    where period = 'TOTAL'`
  await sql`
    with chosen as materialized (select * from budgets where id = ${budget.id}),
    rows as (${hours} union all ${negated})
    update budgets set period_start = ${startOfPeriod(sql`now()`)}, counted_tokens = used.tokens, counted_usd = used.usd
    from (select coalesce(sum(tokens), 0) as tokens, coalesce(sum(usd), 0) as usd
      from rows, chosen budgets where ${coversRows}) used
    where budgets.id = ${budget.id}`.execute(trx)
}

/**
 * Adds what runs used to the budgets that cover them, as a part of the statement that adds it to `usage_hours`, or takes
 * it away again. `rows` has the columns of `usage_hours`. Only the newest period counts.
 */
export function countInBudgets({ sign }: { readonly sign: 1 | -1 }): RawBuilder<unknown> {
  return sql`
    update budgets set period_start = added.start,
      counted_tokens = added.tokens + case when budgets.period_start = added.start then budgets.counted_tokens else 0 end,
      counted_usd = added.usd + case when budgets.period_start = added.start then budgets.counted_usd else 0 end
    from (
      select distinct on (budgets.id) budgets.id, ${startOfPeriod(sql`rows.hour`)} as start,
        ${sign} * sum(rows.input_tokens + rows.output_tokens) as tokens, ${sign} * sum(rows.cost_usd) as usd
      from budgets join rows on rows.tenant_id = budgets.tenant_id and ${coversRows}
      group by 1, 2 order by 1, 2 desc) added
    where budgets.id = added.id and budgets.period_start <= added.start`
}

function settableColumns(settings: BudgetSettings) {
  return toColumns(settings, ['limitUsd', 'limitTokens', 'whenReached'])
}

export async function setBudget(trx: Trx, id: string, settings: BudgetSettings): Promise<void> {
  await trx.updateTable('budgets').set(settableColumns(settings)).where('id', '=', id).execute()
}

export async function deleteBudget(trx: Trx, id: string): Promise<void> {
  await trx.deleteFrom('budgets').where('id', '=', id).execute()
}

export async function deleteBudgetsOfAgent(trx: Trx, agentId: string): Promise<void> {
  await trx.deleteFrom('budgets').where('agent_id', '=', agentId).execute()
}

/** Runs that a budget covers and that wait for a budget: this one or another. */
export async function listRunsWaitingFor(trx: Trx, { tenantId, agentId, actorId }: Budget): Promise<string[]> {
  const { rows } = await sql<{ id: string }>`
    select id from runs where tenant_id = ${tenantId} and outcome = 'BUDGET_EXCEEDED' and not ended
      and (${agentId}::uuid is null or agent_id = ${agentId})
      and (${actorId}::text is null or sent_by ->> 'id' = ${actorId})
    order by conversation_id, id`.execute(trx)
  return rows.map(({ id }) => id)
}

export async function setAllowance(trx: Trx, runId: string, { usd, tokens }: Allowance): Promise<void> {
  await trx.updateTable('runs').set({ allowed_usd: usd, allowed_tokens: tokens }).where('id', '=', runId).execute()
}

/** Models without a known price that were used in the current period, in order. */
export async function listUnpricedModels(db: Db, { id, tenantId }: Budget): Promise<string[]> {
  const { rows } = await sql<{ model: string }>`
    with budgets as materialized (select * from budgets where id = ${id}),
    rows as (
      select agent_id, actor_id, model, hour from usage_hours
      where tenant_id = ${tenantId} and unpriced_tokens > 0 and model not in ('', '*')
      union all
      select agent_id, actor_id, steps.model, now() from (${underWay(sql`${tenantId}::uuid`)}) run
        join steps on steps.run_id = run.id
      where steps.cost_usd is null and steps.input_tokens + steps.output_tokens > 0)
    select distinct model from rows, budgets
    where ${coversRows} and hour >= ${startOfPeriod(sql`now()`)} and hour >= case period when 'TOTAL'
      then date_trunc('hour', created_at, 'UTC') else '-infinity' end
    order by model`.execute(db)
  return rows.map(({ model }) => model)
}
