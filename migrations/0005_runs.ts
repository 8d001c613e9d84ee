import { sql, type Kysely } from 'kysely'

/**
 * Runs, and how they get their conversation. A run holds its conversation alone, so its messages are one range of
 * positions without gaps: the run counts them (`next_position`) and writes the number to the conversation when it ends.
 * Indexes by status use generated columns, which change only when a run pauses, resumes or ends.
 */
export async function up(db: Kysely<never>): Promise<void> {
  await sql`
    create table runs (
      id uuid primary key,
      -- Copied from the conversation, which has the foreign keys.
      tenant_id uuid not null,
      agent_id uuid not null,
      conversation_id uuid not null,
      -- The order of arrival in its conversation.
      number integer not null,
      -- The run's place among those that held the conversation. Null while it waits. It differs from the order of the
      -- numbers: an INTERRUPT goes first, and a run that is cancelled while it waits never holds the conversation.
      hold integer,
      -- The \`hold\` of the run before it on its branch, or a place that no run has if it is the first. Null like \`hold\`.
      previous_hold integer,
      -- The conversation's \`context_version\` when the run last ceased to be the tip because another branch was selected.
      left_branch integer,
      -- Set if the run was retried after others had held the conversation: the places that it had before (\`holds\`), and
      -- the first entry (\`seq\`) that belongs to its current place.
      resumed jsonb,
      kind text not null check (kind in ('TURN', 'COMPACTION', 'SLEEPTIME')),
      parent_id uuid references runs on delete set null,
      -- The actor who started it. Null for background runs.
      sent_by jsonb,
      -- An INTERRUPT goes before runs that already wait.
      urgent boolean not null,
      max_steps integer not null check (max_steps > 0),
      max_total_tokens integer check (max_total_tokens > 0),
      created_at timestamptz(3) not null,
      -- What the client sent: messages and client tools. Never changes.
      request jsonb not null,
      metadata jsonb not null,
      -- The span that started the run. Null if there was none: then the trace has the run's own id.
      traceparent text,
      -- The columns from here on change during the run. Those that change least come first, because Postgres logs an
      -- updated row from its first changed column to its last.
      cancel_requested_at timestamptz(3),
      -- The actor who cancelled it, or sent the message that interrupted it.
      cancelled_by jsonb,
      -- Messages for the model after the returns of the waiting step.
      follow_ups jsonb not null default '[]',
      -- Tools that a person approved for the rest of the run.
      approved_tools text[] not null default '{}',
      -- SLEEPTIME: up to which position the run reads each of the foreground agent's conversations, by their ids. Set when
      -- the run begins. Becomes the sleeptime agent's progress when the run completes.
      reading jsonb,
      error jsonb,
      -- Whether the last answer satisfies the response schema.
      has_output boolean not null default false,
      attempts integer not null default 0,
      -- How many workers died while they drove the run, since its last checkpoint. With three it is poison.
      deaths integer not null default 0,
      first_position integer,
      started_at timestamptz(3),
      status text not null
        check (status in ('QUEUED', 'RUNNING', 'AWAITING_APPROVAL', 'COMPLETED', 'FAILED', 'CANCELLED')),
      ended boolean not null generated always as (status in ('COMPLETED', 'FAILED', 'CANCELLED')) stored,
      -- ACTIVE while the run is queued or running, otherwise why it paused or ended. Lists of runs are read by it.
      outcome text not null generated always as (
        case when status in ('QUEUED', 'RUNNING') then 'ACTIVE' else coalesce(stop_reason, 'ERROR') end) stored,
      stop_reason text check (stop_reason in ('END_TURN', 'REQUIRES_APPROVAL', 'CANCELLED', 'MAX_STEPS',
        'MAX_TOKENS_EXCEEDED', 'TOOL_RULE', 'INVALID_TOOL_CALL', 'INVALID_LLM_RESPONSE', 'RESPONSE_SCHEMA_NOT_SATISFIED',
        'LLM_API_ERROR', 'CONTEXT_WINDOW_OVERFLOW_IN_SYSTEM_PROMPT', 'CONTEXT_WINDOW_OVERFLOW_IN_INPUT',
        'BUDGET_EXCEEDED', 'ERROR')),
      lease uuid,
      worker_id uuid,
      -- Any worker may claim the run: it holds its conversation, nobody drives it and it waits for nobody. Suspects, which
      -- two workers died of, are claimed separately.
      claimable boolean not null generated always as (
        hold is not null and lease is null and deaths < 2 and status in ('QUEUED', 'RUNNING')) stored,
      finished_at timestamptz(3),
      cached_input_tokens integer not null default 0,
      reasoning_tokens integer not null default 0,
      -- Null if nothing was used, or if a price is unknown.
      cost_usd double precision,
      input_tokens integer not null default 0,
      output_tokens integer not null default 0,
      steps integer not null default 0,
      next_seq integer not null,
      next_position integer,
      updated_at timestamptz(3) not null,
      unique (conversation_id, hold),
      check ((lease is null) = (worker_id is null)),
      check (finished_at is not null or status not in ('COMPLETED', 'FAILED', 'CANCELLED'))
    ) with (fillfactor = 70)`.execute(db)
  // Lists of runs (store/runs/run-list.ts). Active runs are in as few of them as possible, because they are updated most.
  await sql`create index runs_active on runs (tenant_id, id) where outcome = 'ACTIVE'`.execute(db)
  await sql`create index runs_tenant on runs (tenant_id, outcome, id) where outcome <> 'ACTIVE'`.execute(db)
  await sql`create index runs_agent on runs (agent_id, outcome, id) where outcome <> 'ACTIVE'`.execute(db)
  await sql`create index runs_agent_finished on runs (agent_id, finished_at) where ended`.execute(db)
  await sql`create index runs_conversation on runs (conversation_id, outcome, id)
    where outcome <> 'ACTIVE'`.execute(db)
  await sql`create index runs_background on runs (tenant_id, id) where kind = 'SLEEPTIME'`.execute(db)
  await sql`create index runs_parent on runs (parent_id) where parent_id is not null`.execute(db)
  // Runs that begin another branch. In a conversation without branches every run follows the previous one.
  await sql`create index runs_branch on runs (conversation_id, previous_hold)
    where previous_hold <> hold - 1`.execute(db)
  await sql`create index runs_finished on runs (tenant_id, finished_at) where ended`.execute(db)
  // The runs that wait for their conversation. The end of a run looks for the next one in this order.
  await sql`create index runs_waiting on runs (conversation_id, urgent desc, number)
    where hold is null and not ended`.execute(db)
  // The queue. A claim looks at the first runs of each tenant.
  await sql`create index runs_claimable on runs (tenant_id, urgent desc, id) where claimable`.execute(db)
  await sql`create index runs_suspect on runs (id) where deaths >= 2`.execute(db)
  await sql`create index runs_cancelled on runs (id) where cancel_requested_at is not null and not ended`.execute(db)
  // The runs that a worker drives: never more than the workers have places.
  await sql`create index runs_driven on runs (worker_id) where worker_id is not null`.execute(db)

  // A run releases its conversation, and the next in the queue gets it: INTERRUPTs first, then in order of arrival. The
  // caller has the conversation's lock. It is a function so that it can be part of the statement that takes the lock: a
  // function reads what is committed now, not at the start of the statement, when someone else may have had the lock
  // and added to the queue. Returns the run that holds the conversation now.
  await sql`
    create function release_conversation(
      ending_run_id uuid, held_conversation_id uuid, position_after integer, new_context_from integer, new_summary integer,
      excludes_messages boolean
    ) returns uuid language plpgsql volatile as $$
    declare
      next_run_id uuid;
      next_place integer;
    begin
      select id into next_run_id from runs
        where conversation_id = held_conversation_id and hold is null and not ended and id <> ending_run_id
        order by urgent desc, number limit 1;
      update conversations set
          next_position = coalesce(position_after, next_position),
          context_from = coalesce(new_context_from, context_from),
          summary_position = coalesce(new_summary, summary_position),
          context_version = context_version + excludes_messages::integer,
          next_hold = next_hold + (next_run_id is not null)::integer,
          active_run_id = next_run_id
        where id = held_conversation_id and active_run_id = ending_run_id
        returning next_hold - 1 into next_place;
      -- It did not hold the conversation: it was cancelled while it waited.
      if not found then return null; end if;
      if next_run_id is not null then
        -- The ending run was the last one of the current branch.
        update runs set hold = next_place, previous_hold = (select hold from runs where id = ending_run_id)
          where id = next_run_id;
      end if;
      return next_run_id;
    end $$`.execute(db)

  // The last run on the current branch of a conversation, by its `hold`. It follows from `next_hold` and `off_branch`,
  // so it is not stored. 0 before the first run.
  await sql`
    create function branch_tip(next_hold integer, off_branch int4multirange)
    returns integer language sql immutable parallel safe
    return coalesce(upper(int4multirange(int4range(1, next_hold)) - off_branch) - 1, 0)`.execute(db)

  await sql`
    create table idempotency_keys (
      tenant_id uuid not null references tenants on delete cascade,
      operation text not null check (operation in ('SEND_MESSAGE', 'SUBMIT_APPROVALS', 'EDIT_MESSAGE', 'REGENERATE')),
      key text not null,
      input_hash bytea not null,
      run_id uuid not null references runs on delete cascade,
      created_at timestamptz(3) not null,
      primary key (tenant_id, operation, key)
    )`.execute(db)
  await sql`create index idempotency_keys_run on idempotency_keys (run_id)`.execute(db)
  await sql`create index idempotency_keys_age on idempotency_keys (created_at)`.execute(db)
}
