import { sql, type RawBuilder } from 'kysely'

import type { Actor } from '../../domain/access/actor.ts'
import type { Reach } from '../../domain/access/viewer.ts'
import type { Usage } from '../../domain/models/usage.ts'
import type { UsageDimension, UsageInterval } from '../../domain/usage/usage-input.ts'
import { ofTenant } from '../access/tenant-scope.ts'
import type { Db } from '../database/schema.ts'

export interface UsageQuery {
  readonly from: Date
  readonly to: Date
  readonly interval: UsageInterval
  readonly groupBy: readonly UsageDimension[]
  /** Undefined means all agents. */
  readonly agentIds?: readonly string[] | undefined
}

export interface UsageBucket {
  readonly from: Date
  readonly agentId: string | null
  readonly model: string | null
  readonly actor: Actor | null
  readonly runs: number
  readonly failedRuns: number
  readonly cancelledRuns: number
  readonly usage: Usage & { readonly steps: number }
  readonly runP50Ms: number | null
  readonly runP95Ms: number | null
}

interface BucketRow extends Omit<UsageBucket, 'usage'> {
  readonly usage: UsageBucket['usage'] & { readonly unpriced: number }
}

/** In order of time. Buckets in which nothing happened are left out. */
export async function listUsage(
  db: Db,
  reach: Reach,
  { from, to, interval, groupBy, agentIds }: UsageQuery,
): Promise<UsageBucket[]> {
  const by = (dimension: UsageDimension, column: RawBuilder<unknown>) =>
    groupBy.includes(dimension) ? column : sql`null`
  const bucket = sql.join([
    sql`${interval === 'ALL' ? sql`${from}::timestamptz` : sql`date_trunc(${sql.lit(interval.toLowerCase())}, hour, 'UTC')`} as "from"`,
    sql`${by('AGENT', sql`agent_id`)}::uuid as "agentId"`,
    sql`${by('MODEL', sql`nullif(model, '')`)}::text as model`,
    sql`${by('ACTOR', sql`nullif(actor_kind, '')`)}::text as kind`,
    sql`${by('ACTOR', sql`nullif(actor_id, '')`)}::text as id`,
  ])
  const key = sql`"from", "agentId", model, kind, id`
  // Runs are counted by model, or as a whole. Tokens always have a model.
  const isCounted = groupBy.includes('MODEL') ? sql`not whole` : sql`whole`
  const total = (column: string) => sql`least(coalesce(sum(${sql.ref(column)}), 0), 2147483647)::integer`
  const { rows } = await sql<BucketRow>`
    with hours as materialized (
      select ${bucket}, actor_name, model = '*' as whole, runs, failed_runs, cancelled_runs, requests, input_tokens,
        output_tokens, cached_input_tokens, reasoning_tokens, cost_usd, unpriced_tokens, durations
      from usage_hours
      where ${ofTenant('usage_hours', reach)} and hour >= ${from} and hour < ${to}
        ${agentIds ? sql`and agent_id = any(${agentIds}::uuid[])` : sql``}
        ${groupBy.includes('MODEL') ? sql`and model <> '*'` : sql``}
    ), times as (
      select ${key}, percentile_disc(array[0.5, 0.95]) within group (order by duration) as percentiles
      from hours cross join unnest(durations) duration where ${isCounted} group by ${key}
    ), buckets as (
      select ${key}, max(actor_name) as name, coalesce(sum(runs) filter (where ${isCounted}), 0)::integer as runs,
        coalesce(sum(failed_runs) filter (where ${isCounted}), 0)::integer as "failedRuns",
        coalesce(sum(cancelled_runs) filter (where ${isCounted}), 0)::integer as "cancelledRuns",
        jsonb_build_object('steps', ${total('requests')}, 'inputTokens', ${total('input_tokens')},
          'outputTokens', ${total('output_tokens')}, 'cachedInputTokens', ${total('cached_input_tokens')},
          'reasoningTokens', ${total('reasoning_tokens')}, 'costUsd', sum(cost_usd), 'unpriced', sum(unpriced_tokens)) as usage
      from hours group by ${key}
    )
    select buckets.*, case when buckets.kind is not null
        then jsonb_build_object('kind', buckets.kind, 'id', buckets.id, 'name', name) end as actor,
      percentiles[1] as "runP50Ms", percentiles[2] as "runP95Ms"
    from buckets left join times on (${sql.raw('buckets."from", buckets."agentId", buckets.model, buckets.kind, buckets.id')})
      is not distinct from (${sql.raw('times."from", times."agentId", times.model, times.kind, times.id')})
    where runs > 0 or (usage ->> 'steps')::integer > 0
    order by "from", runs desc, "agentId", model, id`.execute(db)
  return rows.map(({ usage: { unpriced, ...usage }, ...row }) => ({
    ...row,
    usage: { ...usage, costUsd: unpriced > 0 ? null : usage.costUsd },
  }))
}
