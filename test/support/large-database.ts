import type pg from 'pg'

import { createTestDatabase } from './database.ts'
import { longer } from './long.ts'
import type { OpenDatabase } from '../../src/store/database/open-database.ts'

/** One tenant with a lot of everything, and the ids that lists are filtered by. */
export interface LargeDatabase extends OpenDatabase {
  readonly tenantId: string
  /** Has most of the runs. */
  readonly agentId: string
  /** Has a few runs, among the oldest. */
  readonly quietAgentId: string
  /** Has one in ten of all runs and messages. */
  readonly longConversationId: string
  readonly shortConversationId: string
  /** Waits for approval. */
  readonly waitingRunId: string
}

/** In the long version: 2 million messages, and 60,000 calls that wait for approval. */
export const counts = {
  conversations: longer(500, 50_000),
  runs: longer(20_000, 200_000),
  /** Messages of each run. */
  messages: longer(2, 10),
  /** Calls of each run that waits. */
  waitingCalls: longer(1, 3),
  agents: 2_000,
  auditEntries: longer(20_000, 200_000),
}

/** When the first run was accepted. Each further one follows a second later. */
export const firstRunAt = new Date('2026-01-01T00:00:00.000Z')

/**
 * A database as after months of use, generated in seconds. Most runs have completed; one of every 5,000 is of each rare
 * kind, and one in ten waits for approval. Rows refer to each other only as far as lists need it.
 */
export async function createLargeDatabase(): Promise<LargeDatabase> {
  const database = await createTestDatabase()
  const client = await database.pool.connect()
  try {
    // Foreign key checks take most of the time, and the rows are consistent by construction.
    await client.query(`set session_replication_role = replica`)
    const ids = await fill(client)
    await client.query('reset session_replication_role')
    await client.query('vacuum analyze')
    return { ...database, ...ids }
  } finally {
    client.release()
  }
}

async function fill(client: pg.PoolClient) {
  // The nth id of a kind, made this many seconds after the first run. Ids increase with n.
  // Everything in it is immutable, so that Postgres makes it part of the statement instead of calling it.
  await client.query(`
    create function pg_temp.nth_id(kind integer, n integer) returns uuid language sql immutable as $$
      select (lpad(to_hex((${firstRunAt.getTime() / 1000}::bigint + n) * 1000), 12, '0') || '7' || lpad(to_hex(kind), 3, '0')
        || '8' || lpad(to_hex(n), 15, '0'))::uuid $$`)
  const { rows } = await client.query<{
    tenant: string
    agent: string
    quiet: string
    long: string
    short: string
    run: string
  }>(
    `select pg_temp.nth_id(1, 0) as tenant, pg_temp.nth_id(2, 0) as agent, pg_temp.nth_id(2, 1) as quiet,
       pg_temp.nth_id(3, 0) as long, pg_temp.nth_id(3, 7) as short, pg_temp.nth_id(4, 105) as run`,
  )
  const { tenant, agent, quiet, long, short, run } = rows[0]!
  const at = (n: string) => `('${firstRunAt.toISOString()}'::timestamptz + ${n} * interval '1 second')`

  // The conversation of the nth run, and the position of its first message. The long conversation has no gaps.
  const place = `(select case when n % 10 = 0 then 0 when n in (1, 2, 3) then 1 else 2 + n % ${counts.conversations - 2} end as c,
    case when n % 10 = 0 then n / 10 * ${counts.messages} + 1 else n * ${counts.messages} + 1 end as position)`

  await client.query(`insert into tenants (id, name, created_at) values ($1, 'large', now())`, [tenant])
  await client.query(
    `insert into agents (id, tenant_id, name, instructions, model, model_settings, tool_rules, compaction, tags, metadata,
       timezone, created_at, updated_at)
     select id, $1, 'Ada', '', 'demo/scripted', '{}', '[]', '{}', '{}', '{}', 'UTC', now(), now()
     from unnest($2::uuid[]) id`,
    [tenant, [agent, quiet]],
  )
  await client.query(
    `insert into conversations (id, tenant_id, agent_id, is_main, metadata, created_at, updated_at, next_run_number,
       next_position, next_hold)
     select pg_temp.nth_id(3, n), $1, case when n = 1 then $3::uuid else $2::uuid end, n < 2, '{}', now(), now(), 1000000, 5000000, 1000000
     from generate_series(0, ${counts.conversations - 1}) n`,
    [tenant, agent, quiet],
  )
  // Every tenth run is in the long conversation. Those of the quiet agent are among the first.
  await client.query(
    `insert into runs (id, tenant_id, agent_id, conversation_id, number, hold, previous_hold, kind, urgent, max_steps, created_at, request,
       metadata, sent_by, status, stop_reason, next_seq, first_position, next_position, updated_at, started_at, finished_at)
     select pg_temp.nth_id(4, n), $1, case when c = 1 then $3::uuid else $2::uuid end, pg_temp.nth_id(3, c), n + 1, n + 1, n,
       case when n % 5000 = 7 then 'SLEEPTIME' else 'TURN' end, false, 50, ${at('n')},
       '{"messages":[],"clientTools":[]}',
       case when n % 4 = 0 then '{}' else jsonb_build_object('env', case when n % 5000 = 13 then 'test' else 'live' end, 'n', n) end,
       case when n % 5000 <> 7 then jsonb_build_object('kind', 'PERSON', 'name', 'Ann',
         'id', case when n % 5000 = 12 then 'ann' else 'service' end) end, status, stop_reason, 4, position, position + ${counts.messages}, ${at('n')}, ${at('n')},
       case when status in ('COMPLETED', 'FAILED', 'CANCELLED') then ${at('n')} end
     from generate_series(0, ${counts.runs - 1}) n,
       lateral ${place} c,
       lateral (select
         case when n % 5000 = 1 then 'FAILED' when n % 5000 = 2 then 'CANCELLED' when n % 5000 = 3 then 'RUNNING'
           when n % 5000 = 4 then 'QUEUED' when n % 10 = 5 then 'AWAITING_APPROVAL' else 'COMPLETED' end as status,
         case when n % 5000 = 1 then 'LLM_API_ERROR' when n % 5000 = 2 then 'CANCELLED' when n % 5000 in (3, 4) then null
           when n % 10 = 5 then 'REQUIRES_APPROVAL' when n % 5000 = 6 then 'MAX_STEPS' else 'END_TURN' end as stop_reason) s`,
    [tenant, agent, quiet],
  )
  await client.query(
    `insert into steps (run_id, index, attempt, model, created_at, status)
     select id, 0, 1, case when number % 5000 = 14 then 'demo/rare' else 'demo/scripted' end, created_at, 'COMPLETED' from runs`,
  )
  await client.query(
    `insert into run_log (run_id, first_seq, at, entries) select id, 2, created_at, '[["s","RUNNING"],["b",0]]' from runs`,
  )
  // Every message contains the word "common", one in 5,000 the word "rare".
  await client.query(
    `insert into messages (id, conversation_id, position, run_hold, step_index, type, created_at, content)
     select pg_temp.nth_id(5 + part, n), pg_temp.nth_id(3, c), position + part, n + 1, case part when 1 then 0 end,
       case when n % 5000 = 10 and part = 1 then 'SUMMARY' when part = 0 then 'USER' when part % 2 = 0 then 'TOOL_RETURN'
         else 'ASSISTANT' end, ${at('n')},
       case part when 0 then jsonb_build_object('content', jsonb_build_array(jsonb_build_object('text', words)))
         else jsonb_build_object('text', words) end
     from generate_series(0, ${counts.runs - 1}) n, generate_series(0, ${counts.messages - 1}) part,
       lateral ${place} c,
       lateral (select 'common ' || n || case when n % 5000 = 10 then ' rare' else '' end as words) w`,
  )
  await client.query(
    `insert into tool_calls (id, tenant_id, run_id, step_index, ordinal, provider_call_id, name, arguments_text, arguments,
       needs, created_at, expires_at, status, finished_at, decision, decided_by, decided_at, result)
     select pg_temp.nth_id(7 + ordinal, n), $1, pg_temp.nth_id(4, n), 0, ordinal, 'call', case when n % 5000 = 8 then 'seldom' else 'look_up' end,
       '{}', '{}', case when n % 10 = 5 then 'APPROVAL' when n % 5000 = 9 then 'CLIENT_EXECUTION' else 'NOTHING' end, ${at('n')},
       case when n % 10 = 5 then now() + interval '1 year' end, status, ${at('n')},
       case when n % 5000 = 11 then '{"kind":"APPROVED"}'::jsonb end, case when n % 5000 = 11 then 'ann' end,
       case when n % 5000 = 11 then now() end, '{"status":"SUCCESS","output":""}'
     from generate_series(0, ${counts.runs - 1}) n,
       lateral generate_series(0, case when n % 10 = 5 then ${counts.waitingCalls - 1} else 0 end) ordinal, lateral (select
       case when n % 10 = 5 then 'PENDING' when n % 5000 = 1 then 'FAILED' when n % 5000 = 2 then 'DENIED'
         when n % 5000 = 3 then 'RUNNING' when n % 5000 = 4 then 'READY' else 'SUCCEEDED' end as status) s`,
    [tenant],
  )
  await fillSmallTables(client, tenant, agent)
  return {
    tenantId: tenant,
    agentId: agent,
    quietAgentId: quiet,
    longConversationId: long,
    shortConversationId: short,
    waitingRunId: run,
  }
}

/** What a tenant has fewer of, and what describes the runs. */
async function fillSmallTables(client: pg.PoolClient, tenant: string, agent: string): Promise<void> {
  await client.query(
    `insert into agents (id, tenant_id, key, name, instructions, model, model_settings, tool_rules, compaction, tags, metadata,
       timezone, created_at, updated_at)
     select pg_temp.nth_id(2, n), $1, 'key ' || n, 'agent ' || n, '', 'demo/scripted', '{}', '[]', '{}',
       case when n % 500 = 3 then '{rare}'::text[] else '{common}' end, '{}', 'UTC', now(), now()
     from generate_series(2, ${counts.agents}) n`,
    [tenant],
  )
  await client.query(
    `insert into blocks (id, tenant_id, label, value, char_limit, read_only, created_at, updated_at)
     select pg_temp.nth_id(20, n), $1, case when n % 500 = 3 then 'rare' else 'common' end, '', 5000, false, now(), now()
     from generate_series(1, ${counts.agents}) n`,
    [tenant],
  )
  await client.query(
    `insert into schedules (id, tenant_id, agent_id, name, cron, timezone, messages, missed, enabled, next_due, created_by, created_at)
     select pg_temp.nth_id(21, n), $1, case when n % 2 = 0 then $2::uuid else pg_temp.nth_id(2, n) end, 'daily', '0 9 * * *',
       'UTC', '[]', 'SKIP', true, now() + interval '1 year', '{"kind":"OPEN","id":"open","name":"open"}', now()
     from generate_series(2, ${counts.agents}) n`,
    [tenant, agent],
  )
  await client.query(
    `insert into budgets (id, tenant_id, agent_id, actor_id, period, limit_tokens, when_reached, created_at, period_start,
       counted_tokens, counted_usd)
     select pg_temp.nth_id(24, n), $1, case n when 1 then $2::uuid end, case n when 2 then 'service' end, 'DAY', 1, 'STOP', now(),
       date_trunc('day', now()), 0, 0 from generate_series(0, 2) n`,
    [tenant, agent],
  )
  // Every passage has the word "common", one in 500 the word "rare".
  await client.query(
    `insert into passages (id, tenant_id, agent_id, text, tags, metadata, created_at)
     select pg_temp.nth_id(23, n), $1, case when n % 10 = 0 then pg_temp.nth_id(2, 1) else $2::uuid end,
       'common ' || n || case when n % 500 = 3 then ' rare' else '' end,
       case when n % 500 = 4 then '{seldom}'::text[] else '{often}' end, '{}', now()
     from generate_series(1, ${counts.auditEntries}) n`,
    [tenant, agent],
  )
  await client.query(`update runs set schedule_id = pg_temp.nth_id(21, 2) where number % 1000 = 1`)
  await client.query(
    `insert into audit_entries (id, tenant_id, at, actor, action, subject_id)
     select pg_temp.nth_id(22, n), $1, now(), jsonb_build_object('kind', 'PERSON', 'name', 'Ann',
       'id', case when n % 5000 = 12 then 'ann' else 'service' end), case when n % 5000 = 3 then 'deleteAgent' else 'updateAgent' end,
       'agent_' || n % 2000
     from generate_series(1, ${counts.auditEntries}) n`,
    [tenant],
  )
  await client.query(
    `insert into usage_hours (tenant_id, hour, agent_id, actor_kind, actor_id, actor_name, model, runs, failed_runs, cancelled_runs,
       requests, input_tokens, output_tokens, cached_input_tokens, reasoning_tokens, cost_usd, unpriced_tokens, durations)
     select $1, date_trunc('hour', now()) - n / 10 * interval '1 hour', pg_temp.nth_id(2, n % 10), 'PERSON', 'service', 'Ann',
       'demo/scripted', 1, 0, 0, 2, 100, 10, 0, 0, 0, 0, '{}' from generate_series(1, ${counts.auditEntries}) n`,
    [tenant],
  )
}
