import { sql, type Kysely } from 'kysely'

/** What running the server for a long time needs: traces that outlive a process, and deleting what is old. */
export async function up(db: Kysely<never>): Promise<void> {
  // What asked for the run. Null if nothing said so: then the trace has the run's own id.
  await sql`alter table runs add column traceparent text`.execute(db)

  // To check it, Postgres reads all conversations for each run that is deleted. A run that holds a conversation is
  // deleted only with the conversation.
  await sql`alter table conversations drop constraint conversations_active_run_id_fkey`.execute(db)

  await sql`create index conversations_archived on conversations (archived_at) where archived_at is not null`.execute(
    db,
  )
}
