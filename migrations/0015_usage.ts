import { sql, type Kysely } from 'kysely'

/** What was used, by hour, agent, model and actor. A sweep counts runs that ended; no statement of a turn does. */
export async function up(db: Kysely<never>): Promise<void> {
  await sql`
    create table usage_hours (
      tenant_id uuid not null references tenants on delete cascade,
      -- The hour in which the runs ended.
      hour timestamptz not null,
      agent_id uuid not null,
      -- Empty for background runs.
      actor_kind text not null,
      actor_id text not null,
      actor_name text not null,
      -- '*': the runs as a whole, without tokens. Empty: requests that no step shows, and runs without any request.
      model text not null,
      runs integer not null,
      failed_runs integer not null,
      cancelled_runs integer not null,
      requests integer not null,
      input_tokens bigint not null,
      output_tokens bigint not null,
      cached_input_tokens bigint not null,
      reasoning_tokens bigint not null,
      cost_usd double precision not null,
      -- Tokens without a known price.
      unpriced_tokens bigint not null,
      -- Milliseconds that each run took.
      durations integer[] not null,
      -- The sum of an hour is in several rows, because a long row would be written again and again.
      part integer not null default 0,
      primary key (tenant_id, hour, agent_id, actor_kind, actor_id, model, part)
    )`.execute(db)

  // Runs that ended and are not counted yet, written by the checkpoint that ends them. No index: it stays small.
  await sql`create table uncounted_runs (run_id uuid not null)`.execute(db)
  await sql`insert into uncounted_runs select id from runs where ended`.execute(db)
}
