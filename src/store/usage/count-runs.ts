import { sql, type RawBuilder } from 'kysely'

import type { Db, Trx } from '../database/schema.ts'
import { countInBudgets } from './budgets.ts'

/** Written by the statement that ends runs. */
export const markUncounted = sql`insert into uncounted_runs select run.id from run where run.ends`

export const hasUncounted = sql<boolean>`exists (select from uncounted_runs)`

const runsAtOnce = 2_000
/** A part of an hour with so many runs gets no more. Each time that runs are counted, the last part is written whole. */
const durationsOfPart = 100

/**
 * Adds runs that ended to the hours in which they ended, oldest first, a limited number at a time. One statement takes
 * the marks and counts their runs, so each run counts once, whichever process dies. It waits for marks that another process
 * is taking, and finds them gone: to lock marks first would be one more write for each run.
 */
export async function countEndedRuns(db: Db): Promise<void> {
  for (;;) {
    const { rows } = await sql<{ taken: number }>`
      with taken as materialized (
        delete from uncounted_runs where ctid = any(array(
          select ctid from uncounted_runs limit ${runsAtOnce})) returning run_id),
      ${countedAs(sql`select run_id from taken`, sql`rows`)},
      counted_budgets as (${countInBudgets({ sign: 1 })})
      insert into usage_hours select added.*, coalesce((
        select part + (cardinality(durations) >= ${durationsOfPart})::integer from usage_hours where ${isSameKey(sql`usage_hours`, sql`added`)}
        order by part desc limit 1), 0) from (${sumOf(sql`rows`)}) added ${addToHours}
      returning (select count(*)::integer from taken) as taken`.execute(db)
    if ((rows[0]?.taken ?? 0) < runsAtOnce) return
  }
}

/** Counts what runs have used that are about to be deleted before they have ended. They count as cancelled. */
export async function countUnfinishedRuns(trx: Trx, runIds: readonly string[], now: Date): Promise<void> {
  if (runIds.length === 0) return
  await sql`
    with gone as (
      update runs set status = 'CANCELLED', stop_reason = 'CANCELLED', finished_at = ${now}, lease = null, worker_id = null
      where id = any(${runIds}::uuid[]) and not ended returning id)
    insert into uncounted_runs select id from gone`.execute(trx)
  await countEndedRuns(trx)
}

/** Takes back what was counted for a run that goes on after its end: it counts when it ends again. */
export async function uncountRun(trx: Trx, runId: string): Promise<void> {
  const { numAffectedRows } = await sql`delete from uncounted_runs where run_id = ${runId}`.execute(trx)
  if (numAffectedRows) return
  await sql`
    with ${countedAs(sql`select ${runId}::uuid`, sql`rows`)},
      counted_budgets as (${countInBudgets({ sign: -1 })})
    update usage_hours set runs = usage_hours.runs - rows.runs, failed_runs = usage_hours.failed_runs - rows.failed_runs,
      cancelled_runs = usage_hours.cancelled_runs - rows.cancelled_runs, requests = usage_hours.requests - rows.requests,
      ${sql.join(
        sums.map((name) => sql`${sql.ref(name)} = ${sql.ref(`usage_hours.${name}`)} - ${sql.ref(`rows.${name}`)}`),
      )},
      durations = case when place is null then usage_hours.durations
        else usage_hours.durations[:place - 1] || usage_hours.durations[place + 1:] end
    from rows cross join lateral (
      select part, array_position(hours.durations, rows.duration) as place from usage_hours hours
      where ${isSameKey(sql`hours`)} order by place limit 1) found
    where ${isSameKey(sql`usage_hours`)} and usage_hours.part = found.part`.execute(trx)
}

const keys = ['tenant_id', 'hour', 'agent_id', 'actor_kind', 'actor_id', 'model']
const sums = [
  ...['input_tokens', 'output_tokens', 'cached_input_tokens', 'reasoning_tokens', 'cost_usd', 'unpriced_tokens'],
]

function isSameKey(table: RawBuilder<unknown>, other = sql`rows`): RawBuilder<boolean> {
  const keysOf = (of: RawBuilder<unknown>) => sql.join(keys.map((key) => sql`${of}.${sql.ref(key)}`))
  return sql<boolean>`(${keysOf(table)}) = (${keysOf(other)})`
}

const isUnpriced = (row: string) =>
  sql`case when ${sql.raw(row)}.cost_usd is null then ${sql.raw(row)}.input_tokens + ${sql.raw(row)}.output_tokens else 0 end`

/**
 * The rows that ended runs add to their hours, one for each run and model. The row without a model has what the run
 * used beyond its steps: summaries, and requests whose answer was not stored.
 */
function countedAs(runIds: RawBuilder<unknown>, name: RawBuilder<unknown>): RawBuilder<unknown> {
  return sql`
    ended as materialized (
      select runs.*, date_trunc('hour', finished_at, 'UTC') as hour, status = 'FAILED' as failed,
        status = 'CANCELLED' as cancelled, ${isUnpriced('runs')} as unpriced_tokens,
        -- A run may wait for longer than an integer holds: 24 days.
        least(extract(epoch from finished_at - created_at) * 1000, 2147483647)::integer as duration
      from runs where id in (${runIds}) and ended),
    by_model as materialized (
      select steps.run_id, steps.model, count(*)::integer as requests, sum(steps.input_tokens) as input_tokens,
        sum(steps.output_tokens) as output_tokens, sum(steps.cached_input_tokens) as cached_input_tokens,
        sum(steps.reasoning_tokens) as reasoning_tokens, sum(coalesce(steps.cost_usd, 0)) as cost_usd,
        sum(${isUnpriced('steps')}) as unpriced_tokens
      from steps join ended on ended.id = steps.run_id where steps.model_ms is not null group by 1, 2),
    beyond as (
      select ended.id, ended.steps - coalesce(sum(by_model.requests), 0) as requests,
        ${sql.join(
          sums.map((sum) => {
            const own = sum === 'cost_usd' ? sql`coalesce(ended.cost_usd, 0)` : sql.ref(`ended.${sum}`)
            return sql`greatest(${own} - coalesce(sum(${sql.ref(`by_model.${sum}`)}), 0), 0) as ${sql.ref(sum)}`
          }),
        )}
      from ended left join by_model on by_model.run_id = ended.id
      group by ended.id, ${sql.join(['steps', ...sums].map((sum) => sql.ref(`ended.${sum}`)))}),
    used as (
      select run_id, model, 1 as counts, requests, ${sql.join(sums.map((sum) => sql.ref(sum)))} from by_model
      union all
      -- A request that was repeated belongs to a step all the same, so the run is not counted again.
      select id, '', (input_tokens + output_tokens > 0 or not exists (
          select from by_model where by_model.run_id = beyond.id))::integer, requests,
        ${sql.join(sums.map((sum) => sql.ref(sum)))} from beyond
      union all
      select id, '*', 1, 0, ${sql.join(sums.map(() => sql`0`))} from ended),
    ${name} as materialized (
      select tenant_id, hour, agent_id, coalesce(sent_by ->> 'kind', '') as actor_kind,
        coalesce(sent_by ->> 'id', '') as actor_id, coalesce(sent_by ->> 'name', '') as actor_name, used.model,
        counts as runs, counts * failed::integer as failed_runs, counts * cancelled::integer as cancelled_runs,
        used.requests, ${sql.join(sums.map((sum) => sql.ref(`used.${sum}`)))}, case when counts = 1 then duration end as duration
      from used join ended on ended.id = used.run_id
      where counts = 1 or used.requests > 0)`
}

function sumOf(rows: RawBuilder<unknown>): RawBuilder<unknown> {
  return sql`
    select tenant_id, hour, agent_id, actor_kind, actor_id, max(actor_name), model, sum(runs), sum(failed_runs),
      sum(cancelled_runs), sum(requests), ${sql.join(sums.map((sum) => sql`sum(${sql.ref(sum)})`))}, coalesce(array_agg(duration) filter (where duration is not null), '{}')
    from ${rows} group by ${sql.join(keys.map((key) => sql.ref(key)))}`
}

/** Two processes may count runs of one hour at the same moment: the second adds to what the first has written. */
const addToHours = sql`
  on conflict (${sql.join(keys.map((key) => sql.ref(key)))}, part) do update set actor_name = excluded.actor_name,
    durations = usage_hours.durations || excluded.durations,
    ${sql.join(
      ['runs', 'failed_runs', 'cancelled_runs', 'requests', ...sums].map(
        (sum) => sql`${sql.ref(sum)} = ${sql.ref(`usage_hours.${sum}`)} + ${sql.ref(`excluded.${sum}`)}`,
      ),
    )}`
