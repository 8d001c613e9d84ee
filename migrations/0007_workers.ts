import { sql, type Kysely } from 'kysely'

/**
 * The processes that drive runs. A worker's session lock shows that it is alive. The heartbeat is there in case a lock
 * outlives its process.
 */
export async function up(db: Kysely<never>): Promise<void> {
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
