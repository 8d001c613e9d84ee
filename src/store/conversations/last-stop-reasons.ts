import { sql, type RawBuilder } from 'kysely'

import type { StopReason } from '../../domain/runs/run.ts'
import type { Reach } from '../../domain/access/viewer.ts'
import { firstIdAt, idSlackMs } from '../../util/ids.ts'
import { tipHold } from './branches.ts'
import { tellsStatus } from '../runs/log-entries.ts'
import type { Db } from '../database/schema.ts'
import { ofTenant, ofTenantAtWork } from '../access/tenant-scope.ts'

/**
 * Why a run of each agent most recently paused or ended, by agent. Runs don't stop in the order of their ids: one may
 * wait for days while later ones come and go. So the run that ended last is found by its end time, and besides it only
 * runs that paused later count.
 */
export async function findLastStopReasonsOfAgents(
  db: Db,
  reach: Reach,
  agentIds: readonly string[],
): Promise<Map<string, StopReason>> {
  const { rows: ended } = await sql<{ id: string; stop_reason: StopReason | null; since: Date }>`
    select agents.id, latest.stop_reason, coalesce(latest.finished_at, agents.created_at) as since
    from agents left join lateral (
      select stop_reason, finished_at from runs where agent_id = agents.id and ended and ${ofTenant('runs', reach)}
      order by finished_at desc, id desc limit 1) latest on true
    where ${ofTenant('agents', reach)} and agents.id = any(${agentIds}::uuid[])`.execute(db)
  // A run pauses in the checkpoint that stores the calls it waits for, so these calls have the time.
  const paused = await sql<{ id: string }>`
    select agent.id
    from unnest(${ended.map((row) => row.id)}::uuid[], ${ended.map((row) => row.since)}::timestamptz[],
      ${ended.map(({ since }) => firstIdAt(new Date(since.getTime() - idSlackMs)))}::uuid[]) as agent (id, since, first_id)
    where exists (
      select from tool_calls join runs on runs.id = tool_calls.run_id
      where ${ofTenantAtWork('tool_calls', reach)} and tool_calls.needs in ('APPROVAL', 'CLIENT_EXECUTION')
        and tool_calls.id >= agent.first_id and tool_calls.created_at >= agent.since
        and runs.agent_id = agent.id and not runs.ended and runs.stop_reason = 'REQUIRES_APPROVAL')`.execute(db)
  const askingForBudget = await sql<{ id: string }>`
    select distinct agent_id as id from runs
    where ${ofTenant('runs', reach)} and outcome = 'BUDGET_EXCEEDED' and not ended
      and agent_id = any(${agentIds}::uuid[])`.execute(db)
  const waiting = new Map<string, StopReason>([
    ...askingForBudget.rows.map(({ id }) => [id, 'BUDGET_EXCEEDED'] as const),
    ...paused.rows.map(({ id }) => [id, 'REQUIRES_APPROVAL'] as const),
  ])
  return new Map(
    ended.flatMap(({ id, stop_reason }) => {
      const reason = waiting.get(id) ?? stop_reason
      return reason ? [[id, reason]] : []
    }),
  )
}

/**
 * The same by conversation. Runs stop in the order in which they hold the conversation, except those that are cancelled
 * while they wait for it, and the last run of another branch that was selected and retried.
 */
export async function findLastStopReasonsOfConversations(
  db: Db,
  reach: Reach,
  conversationIds: readonly string[],
): Promise<Map<string, StopReason>> {
  const { rows } = await sql<{ id: string; stop_reason: StopReason }>`
    select conversations.id, latest.stop_reason
    from conversations cross join lateral (
      select stop_reason from (
        (select stop_reason, case when ended then finished_at else ${pausedAt} end as stopped_at from runs
          where conversation_id = conversations.id and hold is not null and stop_reason is not null
          order by hold desc limit 1)
        union all
        (select stop_reason, finished_at from runs
          where conversation_id = conversations.id and hold = ${tipHold} and ended)
        union all
        (select stop_reason, finished_at from runs
          where conversation_id = conversations.id and outcome = 'CANCELLED' and hold is null
          order by finished_at desc limit 1)
      ) stopped
      order by stopped_at desc limit 1) latest
    where ${ofTenant('conversations', reach)} and conversations.id = any(${conversationIds}::uuid[])`.execute(db)
  return new Map(rows.map((row) => [row.id, row.stop_reason]))
}

/** When a run that has not ended paused last. */
const pausedAt: RawBuilder<Date> = sql`coalesce((
  select max(at) from run_log where run_log.run_id = runs.id and ${tellsStatus(sql`entries`, 'AWAITING_APPROVAL')}), created_at)`
