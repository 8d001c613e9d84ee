import { sql, type Kysely } from 'kysely'

/**
 * The vector of a passage in a large archive, as numbers that pgvector can index, where the database has pgvector. The
 * types are those of every Postgres, so that a database can move to one without pgvector.
 */
export async function up(db: Kysely<never>): Promise<void> {
  await sql`alter table passage_vectors add column numbers smallint[]`.execute(db)
  await sql`alter table passage_vectors alter column numbers set storage external`.execute(db)
}
