import { sql, type Kysely } from 'kysely'

/**
 * The hot tables. Each turn writes them a dozen times, so every index here must serve a list of the API or a
 * foreign key that is walked, and no column of an index changes while a run goes on (updates stay HOT). Indexes by
 * status use generated columns, which change only when a run pauses, resumes or ends, or when a call leaves its usual
 * course.
 *
 * A run holds its conversation alone, so its messages are one unbroken range of positions: the run counts them
 * (`next_position`) and gives the number back to the conversation when it lets go of it.
 */
export async function up(db: Kysely<never>): Promise<void> {
  await sql`
    create table conversations (
      id uuid primary key,
      tenant_id uuid not null references tenants on delete cascade,
      agent_id uuid not null references agents on delete cascade,
      is_main boolean not null,
      title text,
      metadata jsonb not null,
      created_at timestamptz(3) not null,
      archived_at timestamptz(3),
      -- The context begins here; a summary, where there is one, stands for all that came before.
      context_from integer not null default 1,
      summary_position integer,
      -- Changes whenever messages that are stored already leave the context or return to it.
      context_version integer not null default 1,
      -- Which of the runs that held the conversation are not on its current branch, by their \`hold\`. Empty for a
      -- conversation without branches. The last run that is on it is its tip (branch_tip).
      off_branch int4multirange not null default '{}',
      -- From here on, what changes with every turn.
      next_run_number integer not null default 1,
      -- The place that the next run to hold the conversation gets (runs.hold).
      next_hold integer not null default 1,
      next_position integer not null default 1,
      updated_at timestamptz(3) not null,
      active_run_id uuid
    )`.execute(db)
  await sql`create index conversations_tenant on conversations (tenant_id, id)`.execute(db)
  await sql`create index conversations_agent on conversations (agent_id, id)`.execute(db)
  await sql`create index conversations_metadata on conversations using gin (metadata jsonb_path_ops)`.execute(db)
  await sql`create unique index conversations_main on conversations (agent_id) where is_main`.execute(db)

  // That the conversation exists follows from the run's reference to it.
  await sql`
    create table messages (
      id uuid primary key,
      conversation_id uuid not null,
      position integer not null,
      -- The run that added it, by that run's \`hold\`.
      run_hold integer not null,
      step_index integer,
      type text not null check (type in ('SYSTEM', 'USER', 'REASONING', 'ASSISTANT', 'TOOL_CALL', 'TOOL_RETURN',
        'APPROVAL_REQUEST', 'APPROVAL_RESPONSE', 'SUMMARY')),
      -- Input that a failed run left unanswered.
      excluded boolean not null default false,
      created_at timestamptz(3) not null,
      client_id text,
      content jsonb not null,
      unique (conversation_id, position)
    )`.execute(db)
  // For lists of one type. Types that every turn has are found soon without an index.
  await sql`create index messages_rare on messages (conversation_id, type, position)
    where type in ('SYSTEM', 'APPROVAL_REQUEST', 'APPROVAL_RESPONSE', 'SUMMARY')`.execute(db)

  await sql`
    create table runs (
      id uuid primary key,
      -- The conversation's: it is what refers to the tenant and the agent.
      tenant_id uuid not null,
      agent_id uuid not null,
      conversation_id uuid not null,
      -- The order of arrival in its conversation.
      number integer not null,
      -- The run's place among those that held the conversation; null while it waits behind another. It differs from the
      -- order of the numbers: an INTERRUPT goes first, and a run that is cancelled while it waits never holds it.
      hold integer,
      -- The run before it on its branch, by that run's \`hold\`; that of no run if it is the first. Null like \`hold\`.
      previous_hold integer,
      -- The conversation's \`context_version\` when the run last ceased to be the tip because another branch was chosen.
      left_branch integer,
      -- Of a run that was retried after others had held the conversation: the places that it had before (\`holds\`), and
      -- the first entry (\`seq\`) that belongs to its place now.
      resumed jsonb,
      kind text not null check (kind in ('TURN', 'COMPACTION', 'SLEEPTIME')),
      parent_id uuid references runs on delete set null,
      -- The actor who started it; null for background runs.
      sent_by jsonb,
      -- An INTERRUPT goes before what waits already.
      urgent boolean not null,
      max_steps integer not null check (max_steps > 0),
      max_total_tokens integer check (max_total_tokens > 0),
      created_at timestamptz(3) not null,
      -- What the client gave: messages and client tools. Never changed.
      request jsonb not null,
      metadata jsonb not null,
      -- What asked for the run. Null if nothing said so: then the trace has the run's own id.
      traceparent text,
      -- From here on, what changes as the run goes on. What changes least comes first: Postgres logs an updated row from
      -- its first changed column to its last.
      cancel_requested_at timestamptz(3),
      -- The actor who cancelled it, or sent the message that interrupted it.
      cancelled_by jsonb,
      -- Messages to hand to the model after the returns of the step that waits.
      follow_ups jsonb not null default '[]',
      -- Tools that a person approved for the rest of the run.
      approved_tools text[] not null default '{}',
      -- SLEEPTIME: up to which position of each of the foreground agent's conversations the run reads, by their ids. Set
      -- when the run begins; becomes the sleeptime agent's progress when it completes.
      reading jsonb,
      error jsonb,
      -- The last answer satisfies the response schema.
      has_output boolean not null default false,
      attempts integer not null default 0,
      -- Workers that died while they drove the run, since its last checkpoint. Three make it poison.
      deaths integer not null default 0,
      first_position integer,
      started_at timestamptz(3),
      status text not null
        check (status in ('QUEUED', 'RUNNING', 'AWAITING_APPROVAL', 'COMPLETED', 'FAILED', 'CANCELLED')),
      ended boolean not null generated always as (status in ('COMPLETED', 'FAILED', 'CANCELLED')) stored,
      -- ACTIVE while the run is queued or running, else why it paused or ended. Lists of runs are read by it.
      outcome text not null generated always as (
        case when status in ('QUEUED', 'RUNNING') then 'ACTIVE' else coalesce(stop_reason, 'ERROR') end) stored,
      stop_reason text check (stop_reason in ('END_TURN', 'REQUIRES_APPROVAL', 'CANCELLED', 'MAX_STEPS',
        'MAX_TOKENS_EXCEEDED', 'TOOL_RULE', 'INVALID_TOOL_CALL', 'INVALID_LLM_RESPONSE', 'RESPONSE_SCHEMA_NOT_SATISFIED',
        'LLM_API_ERROR', 'CONTEXT_WINDOW_OVERFLOW_IN_SYSTEM_PROMPT', 'CONTEXT_WINDOW_OVERFLOW_IN_INPUT',
        'BUDGET_EXCEEDED', 'ERROR')),
      lease uuid,
      worker_id uuid,
      -- Any worker may claim the run: it holds its conversation, nobody drives it and it waits for nobody. Suspects, which
      -- two workers died of, are claimed apart from the rest.
      claimable boolean not null generated always as (
        hold is not null and lease is null and deaths < 2 and status in ('QUEUED', 'RUNNING')) stored,
      finished_at timestamptz(3),
      cached_input_tokens integer not null default 0,
      reasoning_tokens integer not null default 0,
      -- Null while nothing was used, and where a price is not known.
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
  // Lists of runs (store/run-list.ts). Active runs are in as few of them as possible, because they are updated most.
  await sql`create index runs_active on runs (tenant_id, id) where outcome = 'ACTIVE'`.execute(db)
  await sql`create index runs_tenant on runs (tenant_id, outcome, id) where outcome <> 'ACTIVE'`.execute(db)
  await sql`create index runs_agent on runs (agent_id, outcome, id) where outcome <> 'ACTIVE'`.execute(db)
  await sql`create index runs_agent_finished on runs (agent_id, finished_at) where ended`.execute(db)
  await sql`create index runs_conversation on runs (conversation_id, outcome, id)
    where outcome <> 'ACTIVE'`.execute(db)
  await sql`create index runs_background on runs (tenant_id, id) where kind = 'SLEEPTIME'`.execute(db)
  await sql`create index runs_parent on runs (parent_id) where parent_id is not null`.execute(db)
  // Runs that another branch begins with. In a conversation without branches every run follows the one before it.
  await sql`create index runs_branch on runs (conversation_id, previous_hold)
    where previous_hold <> hold - 1`.execute(db)
  await sql`create index runs_finished on runs (tenant_id, finished_at) where ended`.execute(db)
  // The end of a run looks for the next one of its conversation in this order.
  await sql`create index runs_unfinished on runs (conversation_id, urgent desc, number) where not ended`.execute(db)
  // The queue. A claim looks at the first runs of each tenant.
  await sql`create index runs_claimable on runs (tenant_id, urgent desc, id) where claimable`.execute(db)
  await sql`create index runs_suspect on runs (id) where deaths >= 2`.execute(db)
  await sql`create index runs_cancelled on runs (id) where cancel_requested_at is not null and not ended`.execute(db)
  // The runs that a worker drives now: never more than the workers have places.
  await sql`create index runs_driven on runs (worker_id) where worker_id is not null`.execute(db)

  await sql`
    create table steps (
      run_id uuid not null,
      index integer not null,
      attempt integer not null,
      model text not null,
      -- Models that were not available before this one was asked; null for none.
      failed_models jsonb,
      created_at timestamptz(3) not null,
      cached_input_tokens integer not null default 0,
      reasoning_tokens integer not null default 0,
      -- Null while nothing was used, and where a price is not known.
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
      -- The run's: it is what refers to the tenant.
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
      -- Null for the usual course of a call, so that its updates stay HOT.
      exception text generated always as (case when status not in ('RUNNING', 'SUCCEEDED') then status end) stored,
      finished_at timestamptz(3),
      edited_arguments json,
      -- What it needs beyond one approval by anybody, with the approvals so far.
      approval jsonb,
      -- Which client runs it, and until when.
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

  // What belongs to a conversation or a run goes with it. Admission and checkpoints write these rows in the statement
  // that updates the row they belong to, so a foreign key would add nothing but a lock of that row, and its WAL, to
  // each of them.
  await sql`
    create function delete_runs_of_conversations() returns trigger language plpgsql as $$
    begin
      delete from runs using deleted_conversations conversation where runs.conversation_id = conversation.id;
      return null;
    end $$`.execute(db)
  await sql`create trigger delete_runs after delete on conversations referencing old table as deleted_conversations
    for each statement execute function delete_runs_of_conversations()`.execute(db)
  await sql`
    create function delete_rows_of_runs() returns trigger language plpgsql as $$
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

  // How far each sleeptime agent has read each conversation.
  await sql`
    create table sleeptime_progress (
      agent_id uuid not null references agents on delete cascade,
      conversation_id uuid not null references conversations on delete cascade,
      read_to integer not null,
      primary key (agent_id, conversation_id)
    )`.execute(db)
  await sql`create index sleeptime_progress_conversation on sleeptime_progress (conversation_id)`.execute(db)

  // A process that drives runs. Its session lock says that it lives; the heartbeat covers a lock that lies.
  await sql`
    create table workers (
      id uuid primary key,
      hostname text not null,
      version text not null,
      capacity integer not null,
      -- Names of the model providers that the process can reach, and of the tools that are part of its code.
      providers text[] not null,
      tools text[] not null,
      started_at timestamptz(3) not null,
      heartbeat_at timestamptz(3) not null
    )`.execute(db)
}
