import { sql, type Kysely } from 'kysely'

/** What a tenant's HTTP tools are signed with. Whoever makes a tenant need not know of it. */
export async function up(db: Kysely<never>): Promise<void> {
  await sql`
    alter table tenants add column signing_secret text not null
    default 'hps_' || replace(gen_random_uuid()::text || gen_random_uuid()::text, '-', '')`.execute(db)
}
