import { sql, type Kysely } from 'kysely'

/** What was sent to a model and what came back, for agents that keep it. It is in no statement of a turn. */
export async function up(db: Kysely<never>): Promise<void> {
  await sql`
    alter table agents
      add column keep_requests boolean not null default false,
      add column tell_times boolean not null default false`.execute(db)
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
}
