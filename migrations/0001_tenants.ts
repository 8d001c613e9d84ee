import { sql, type Kysely } from 'kysely'

/** Tenants, which every row belongs to, and their API keys. */
export async function up(db: Kysely<never>): Promise<void> {
  await sql`
    create table tenants (
      id uuid primary key,
      name text not null unique,
      created_at timestamptz(3) not null,
      -- Signs the requests to HTTP tools. The default makes one for every tenant.
      signing_secret text not null
        default 'hps_' || replace(gen_random_uuid()::text || gen_random_uuid()::text, '-', ''),
      -- Signs the access tokens that the server creates. It never leaves the server.
      token_secret text not null
        default 'hpt_' || replace(gen_random_uuid()::text || gen_random_uuid()::text, '-', '')
    )`.execute(db)

  await sql`
    create table api_keys (
      id uuid primary key,
      tenant_id uuid not null references tenants on delete cascade,
      name text not null,
      hash bytea not null unique,
      scopes text[] not null check (scopes <@ array['READ', 'RUN', 'APPROVE', 'MANAGE'] and cardinality(scopes) > 0),
      created_by jsonb,
      created_at timestamptz(3) not null,
      last_used_at timestamptz(3),
      expires_at timestamptz(3),
      revoked_at timestamptz(3)
    )`.execute(db)
  await sql`create index api_keys_tenant on api_keys (tenant_id, id)`.execute(db)
}
