import { sql, type Kysely } from 'kysely'

/**
 * What a run consists of: steps, tool calls and its log. Only calls that leave their usual course are in the index by
 * status, so that most updates stay HOT.
 */
export async function up(db: Kysely<never>): Promise<void> {
  await sql`
    create table steps (
      run_id uuid not null,
      index integer not null,
      attempt integer not null,
      model text not null,
      -- Models that were not available before this one was asked. Null if there were none.
      failed_models jsonb,
      created_at timestamptz(3) not null,
      cached_input_tokens integer not null default 0,
      reasoning_tokens integer not null default 0,
      -- Null if nothing was used, or if a price is unknown.
      cost_usd double precision,
      input_tokens integer not null default 0,
      output_tokens integer not null default 0,
      time_to_first_token_ms real,
      model_ms real,
      tools_ms real,
      finished_at timestamptz(3),
      status text not null check (status in ('RUNNING', 'PAUSED', 'COMPLETED', 'FAILED', 'CANCELLED')),
      stop_reason text,
      error jsonb,
      primary key (run_id, index)
    ) with (fillfactor = 80)`.execute(db)

  await sql`
    create table tool_calls (
      id uuid not null,
      -- Copied from the run.
      tenant_id uuid not null,
      run_id uuid not null,
      step_index integer not null,
      ordinal integer not null,
      provider_call_id text not null,
      name text not null,
      arguments_text text not null,
      -- As json, not jsonb: the keys keep the order in which the model wrote them.
      arguments json,
      needs text not null check (needs in ('NOTHING', 'APPROVAL', 'CLIENT_EXECUTION')),
      created_at timestamptz(3) not null,
      expires_at timestamptz(3),
      started_at timestamptz(3),
      status text not null
        check (status in ('PENDING', 'READY', 'RUNNING', 'SUCCEEDED', 'FAILED', 'DENIED', 'CANCELLED')),
      -- Null while a call runs and after it succeeded, so that most updates stay HOT.
      exception text generated always as (case when status not in ('RUNNING', 'SUCCEEDED') then status end) stored,
      finished_at timestamptz(3),
      edited_arguments json,
      -- What the call needs beyond one approval by anybody, with the approvals so far.
      approval jsonb,
      -- Which client executes the call, and until when.
      claim jsonb,
      decision jsonb,
      -- Id of the actor in the decision, for lists.
      decided_by text,
      decided_at timestamptz(3),
      result jsonb,
      check ((decision is null) = (decided_at is null)),
      primary key (tenant_id, id),
      unique (run_id, step_index, ordinal)
    ) with (fillfactor = 80)`.execute(db)
  await sql`create index tool_calls_name on tool_calls (tenant_id, name, id)`.execute(db)
  await sql`create index tool_calls_exception on tool_calls (tenant_id, exception, id)
    where exception is not null`.execute(db)
  await sql`create index tool_calls_needs on tool_calls (tenant_id, needs, id) where needs <> 'NOTHING'`.execute(db)
  await sql`create index tool_calls_decider on tool_calls (tenant_id, decided_by, id)
    where decided_by is not null`.execute(db)
  await sql`create index tool_calls_expiry on tool_calls (expires_at)
    where exception = 'PENDING' and expires_at is not null`.execute(db)

  // A run's stream: one row per checkpoint, its entries packed in order from first_seq on (store/log-entries.ts).
  await sql`
    create table run_log (
      run_id uuid not null,
      first_seq integer not null,
      at timestamptz(3) not null,
      entries text not null,
      primary key (run_id, first_seq)
    )`.execute(db)

  // What was sent to a model and what came back, for agents that keep it. No statement of a turn touches it.
  await sql`
    create table step_exchanges (
      run_id uuid not null references runs on delete cascade,
      step_index integer not null,
      request json,
      response json,
      created_at timestamptz(3) not null,
      primary key (run_id, step_index)
    )`.execute(db)
  await sql`create index step_exchanges_age on step_exchanges (created_at)`.execute(db)

  // Rows are deleted with the conversation or run that they belong to. Admission and checkpoints write them in the
  // statement that updates that row, so a foreign key would only add a lock of that row, and its WAL, to each of them.
  await sql`
    create function delete_runs_of_conversations() returns trigger language plpgsql as $$
    begin
      delete from runs using deleted_conversations conversation where runs.conversation_id = conversation.id;
      return null;
    end $$`.execute(db)
  await sql`create trigger delete_runs after delete on conversations referencing old table as deleted_conversations
    for each statement execute function delete_runs_of_conversations()`.execute(db)
  // The rows are found by index, one run after another: for a few hundred runs the planner may expect more rows than
  // there are, and would read whole tables.
  await sql`
    create function delete_rows_of_runs() returns trigger language plpgsql
    set enable_seqscan = off set enable_hashjoin = off set enable_mergejoin = off as $$
    begin
      delete from messages using deleted_runs run
        where messages.conversation_id = run.conversation_id and messages.run_hold = run.hold
          and messages.position >= run.first_position and messages.position < run.next_position;
      delete from run_log using deleted_runs run where run_log.run_id = run.id;
      delete from tool_calls using deleted_runs run where tool_calls.run_id = run.id;
      delete from steps using deleted_runs run where steps.run_id = run.id;
      return null;
    end $$`.execute(db)
  await sql`create trigger delete_rows after delete on runs referencing old table as deleted_runs
    for each statement execute function delete_rows_of_runs()`.execute(db)
}
