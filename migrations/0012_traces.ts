import { sql, type Kysely } from 'kysely'

/** The trace that a run belongs to, so that it stays the same across processes, pauses and restarts. */
export async function up(db: Kysely<never>): Promise<void> {
  // What asked for the run. Null if nothing said so: then the trace has the run's own id.
  await sql`alter table runs add column traceparent text`.execute(db)
}
