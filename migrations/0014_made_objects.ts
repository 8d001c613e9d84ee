import { sql, type Kysely } from 'kysely'

/** One request may make several objects. Null: it made only `object_id`. */
export async function up(db: Kysely<never>): Promise<void> {
  await sql`alter table idempotency_keys add object_ids uuid[]`.execute(db)
}
