import { sql, type Kysely } from 'kysely'

/** What running the server for a long time needs: traces that outlive a process, and deleting what is old. */
export async function up(db: Kysely<never>): Promise<void> {
  // Set when it is deleted. From then on nobody sees it, and its rows are deleted in the background.
  await sql`alter table agents add column deleted_at timestamptz(3)`.execute(db)
  await sql`alter table conversations add column deleted_at timestamptz(3)`.execute(db)
  await sql`create index agents_deleted on agents (id) where deleted_at is not null`.execute(db)
  await sql`create index conversations_deleted on conversations (id) where deleted_at is not null`.execute(db)

  await sql`create index conversations_archived on conversations (archived_at) where archived_at is not null`.execute(
    db,
  )
}
