import { sql, type Kysely } from 'kysely'

/**
 * The end of a run looks for the next one of its conversation, in the order in which they are due. Without an index in
 * that order it looked at every run that the conversation ever had.
 */
export async function up(db: Kysely<never>): Promise<void> {
  await sql`drop index runs_unfinished`.execute(db)
  await sql`create index runs_unfinished on runs (conversation_id, urgent desc, number) where not ended`.execute(db)
}
