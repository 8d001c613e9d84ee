import { sql, type Kysely } from 'kysely'

/**
 * What a background run reads: up to which position of each of the foreground agent's conversations, by their ids. It
 * is set when the run begins, and becomes the sleeptime agent's progress when the run completes.
 */
export async function up(db: Kysely<never>): Promise<void> {
  await sql`alter table runs add column reading jsonb`.execute(db)
}
