import { sql, type Kysely } from 'kysely'

/**
 * Conversations and their messages. Like runs, steps and calls, they are written in every turn, so every index must
 * serve a list of the API or a foreign key, and no indexed column changes while a run goes on (updates stay HOT).
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
      -- From then on nobody sees the conversation, and its rows are deleted in the background.
      deleted_at timestamptz(3),
      -- The conversation with isolated blocks that a sleeptime agent works for in this one. Null for all others.
      for_conversation uuid references conversations on delete cascade,
      -- The context begins here. A summary, if there is one, replaces everything before.
      context_from integer not null default 1,
      summary_position integer,
      -- Changes whenever messages that are already stored leave the context or return to it.
      context_version integer not null default 1,
      -- The runs that are not on the current branch, by their \`hold\`. Empty in a conversation without branches. The
      -- last run of the branch is its tip (branch_tip).
      off_branch int4multirange not null default '{}',
      -- The columns from here on change with every turn.
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
  await sql`create unique index conversations_background on conversations (for_conversation, agent_id)
    where for_conversation is not null`.execute(db)
  await sql`create index conversations_archived on conversations (archived_at) where archived_at is not null`.execute(
    db,
  )
  await sql`create index conversations_deleted on conversations (id) where deleted_at is not null`.execute(db)

  // A message's conversation is that of its run, so no foreign key checks it.
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
  // For lists of one type. Types that occur in every turn are found quickly without an index.
  await sql`create index messages_rare on messages (conversation_id, type, position)
    where type in ('SYSTEM', 'APPROVAL_REQUEST', 'APPROVAL_RESPONSE', 'SUMMARY')`.execute(db)
}
