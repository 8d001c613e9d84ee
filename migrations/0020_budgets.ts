import { sql, type Kysely } from 'kysely'

/** What a tenant, an agent or an actor may spend. */
export async function up(db: Kysely<never>): Promise<void> {
  await sql`
    create table budgets (
      id uuid primary key,
      tenant_id uuid not null references tenants on delete cascade,
      -- At most one of them. Neither: the whole tenant.
      agent_id uuid,
      actor_id text,
      period text not null check (period in ('DAY', 'MONTH', 'TOTAL')),
      limit_usd double precision,
      limit_tokens integer,
      when_reached text not null check (when_reached in ('STOP', 'ASK')),
      created_at timestamptz(3) not null,
      -- What the runs in usage_hours used in the period that began at this time. Whoever counts runs adds to it. In a
      -- TOTAL, what was under way when the budget was made is taken off beforehand.
      period_start timestamptz not null,
      counted_tokens bigint not null,
      counted_usd double precision not null,
      check (agent_id is null or actor_id is null),
      check (limit_usd is not null or limit_tokens is not null)
    )`.execute(db)
  await sql`create index budgets_tenant on budgets (tenant_id, id)`.execute(db)

  // What continueRun allowed: how much the run may have used before it asks again. Null: nothing was allowed.
  await sql`alter table runs add allowed_usd double precision, add allowed_tokens double precision`.execute(db)
  // Runs that wait for a budget. Its columns change only when a run pauses, continues or ends.
  await sql`create index runs_budget on runs (tenant_id, id)
    where outcome = 'BUDGET_EXCEEDED' and not ended`.execute(db)
}
