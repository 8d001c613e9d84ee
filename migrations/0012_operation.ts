import { sql, type Kysely } from 'kysely'

/** What running the server for a long time needs: traces that outlive a process, and deleting what is old. */
export async function up(db: Kysely<never>): Promise<void> {
  await sql`create index conversations_archived on conversations (archived_at) where archived_at is not null`.execute(
    db,
  )
}
