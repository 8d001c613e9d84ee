import { sql, type Kysely } from 'kysely'

/** Addresses that are told what happens, and what they are told. */
export async function up(db: Kysely<never>): Promise<void> {
  await sql`
    create table webhooks (
      id uuid primary key,
      tenant_id uuid not null references tenants on delete cascade,
      url text not null,
      events text[] not null,
      -- Null: all agents.
      agent_ids uuid[],
      enabled boolean not null,
      -- Encrypted, like the secrets.
      headers jsonb not null,
      secret text not null,
      -- The secret before the last rotation. It signs too until that time.
      old_secret text,
      old_secret_until timestamptz(3),
      last_error text,
      created_by jsonb not null,
      created_at timestamptz(3) not null,
      check ((old_secret is null) = (old_secret_until is null))
    )`.execute(db)
  await sql`create index webhooks_tenant on webhooks (tenant_id, id)`.execute(db)

  // The outbox. Nothing is written for a tenant without webhooks.
  await sql`
    create table webhook_deliveries (
      id uuid primary key default gen_random_uuid(),
      -- The order of what happened in a conversation: a run's row is locked before its deliveries get their numbers.
      seq bigint not null generated always as identity,
      -- No foreign keys: a run that tells something waits for nobody who changes or deletes a webhook.
      tenant_id uuid not null,
      webhook_id uuid not null,
      -- Null if it is about no conversation.
      conversation_id uuid,
      event text not null,
      -- The body, without what only the process that sends it knows (\`public_url\`).
      payload json not null,
      created_at timestamptz(3) not null,
      status text not null default 'PENDING' check (status in ('PENDING', 'DELIVERED', 'DEAD')),
      attempts integer not null default 0,
      -- Null unless it is PENDING.
      next_attempt_at timestamptz(3),
      -- The worker that is sending it. It means nothing once that worker is gone.
      worker_id uuid,
      -- HOLDPOINT_PUBLIC_URL of the process that sent it first, empty if it has none: every attempt sends the same.
      public_url text,
      response_status integer,
      error text,
      delivered_at timestamptz(3),
      check ((next_attempt_at is not null) = (status = 'PENDING'))
    ) with (fillfactor = 80)`.execute(db)
  await sql`create index webhook_deliveries_webhook on webhook_deliveries (webhook_id, seq)`.execute(db)
  await sql`create index webhook_deliveries_due on webhook_deliveries (webhook_id, next_attempt_at)
    where status = 'PENDING'`.execute(db)
  await sql`create index webhook_deliveries_order on webhook_deliveries (conversation_id, webhook_id, seq)
    where status = 'PENDING'`.execute(db)
  await sql`create index webhook_deliveries_conversation on webhook_deliveries (conversation_id)
    where status <> 'PENDING'`.execute(db)
  await sql`create index webhook_deliveries_age on webhook_deliveries (created_at)
    where status <> 'PENDING'`.execute(db)
}
