import { sql, type Kysely } from 'kysely'

/** Messages that are sent at certain times. */
export async function up(db: Kysely<never>): Promise<void> {
  await sql`
    create table schedules (
      id uuid primary key,
      tenant_id uuid not null references tenants on delete cascade,
      -- No foreign keys: a schedule whose agent or conversation is deleted is disabled, and says why.
      agent_id uuid not null,
      -- Null: a new conversation each time.
      conversation_id uuid,
      name text not null,
      -- Exactly one of them.
      cron text,
      at timestamptz(3),
      timezone text not null,
      messages jsonb not null,
      missed text not null check (missed in ('SKIP', 'ONCE')),
      enabled boolean not null,
      -- Null if the schedule is disabled or over. The transaction that makes the run of a due time moves it on.
      next_due timestamptz(3),
      -- A process was running shortly before \`next_due\`, so that time is not missed.
      watched boolean not null default false,
      last_error text,
      created_by jsonb not null,
      created_at timestamptz(3) not null,
      check ((cron is null) <> (at is null))
    )`.execute(db)
  await sql`create index schedules_tenant on schedules (tenant_id, id)`.execute(db)
  await sql`create index schedules_agent on schedules (agent_id, id)`.execute(db)
  await sql`create index schedules_conversation on schedules (conversation_id)
    where conversation_id is not null`.execute(db)
  await sql`create index schedules_due on schedules (next_due) where next_due is not null`.execute(db)

  // No foreign key: the runs of a deleted schedule stay. The column is last and never changes.
  await sql`alter table runs add schedule_id uuid`.execute(db)
  await sql`create index runs_schedule on runs (schedule_id, id) where schedule_id is not null`.execute(db)
}
