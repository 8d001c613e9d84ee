import { sql, type Kysely } from 'kysely'

/** Agents that work for other agents in the background, and how far they have read. */
export async function up(db: Kysely<never>): Promise<void> {
  await sql`
    create table sleeptime_groups (
      id uuid primary key,
      tenant_id uuid not null references tenants on delete cascade,
      agent_id uuid not null unique references agents on delete cascade,
      frequency integer not null check (frequency > 0),
      turns integer not null default 0,
      created_at timestamptz(3) not null
    )`.execute(db)

  await sql`
    create table sleeptime_group_agents (
      group_id uuid not null references sleeptime_groups on delete cascade,
      agent_id uuid not null references agents on delete cascade,
      -- Made for the group, and removed with the foreground agent.
      made_for_group boolean not null,
      ordinal bigint generated always as identity,
      primary key (group_id, agent_id)
    )`.execute(db)
  await sql`create index sleeptime_group_agents_agent on sleeptime_group_agents (agent_id)`.execute(db)

  // How far each sleeptime agent has read each conversation.
  await sql`
    create table sleeptime_progress (
      agent_id uuid not null references agents on delete cascade,
      conversation_id uuid not null references conversations on delete cascade,
      read_to integer not null,
      primary key (agent_id, conversation_id)
    )`.execute(db)
  await sql`create index sleeptime_progress_conversation on sleeptime_progress (conversation_id)`.execute(db)
}
