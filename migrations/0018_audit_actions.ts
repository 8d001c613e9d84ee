import { sql, type Kysely } from 'kysely'

/** The filter of the audit log by action: an action that is rare, or that nobody took, is found without reading the rest. */
export async function up(db: Kysely<never>): Promise<void> {
  await sql`create index audit_entries_action on audit_entries (tenant_id, action, id)`.execute(db)
}
