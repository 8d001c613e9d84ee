import { sql, type Kysely } from 'kysely'

/** Who changed what. Entries are only ever added, and deleted when they are old. */
export async function up(db: Kysely<never>): Promise<void> {
  await sql`
    create table audit_entries (
      id uuid primary key,
      tenant_id uuid not null references tenants on delete cascade,
      at timestamptz(3) not null,
      actor jsonb,
      action text not null,
      -- The public id. There is no foreign key, because an entry outlives its subject.
      subject_id text not null,
      before jsonb,
      after jsonb
    )`.execute(db)
  await sql`create index audit_entries_tenant on audit_entries (tenant_id, id)`.execute(db)
  await sql`create index audit_entries_subject on audit_entries (tenant_id, subject_id, id)`.execute(db)
  await sql`create index audit_entries_actor on audit_entries (tenant_id, (actor ->> 'id'), id)`.execute(db)

  await sql`
    create function refuse_audit_update() returns trigger language plpgsql as $$
      begin raise exception 'audit entries are never edited'; end $$`.execute(db)
  await sql`
    create trigger audit_entries_are_final before update on audit_entries
    for each statement execute function refuse_audit_update()`.execute(db)
}
