import { sql, type Kysely } from 'kysely'

/**
 * Indexes for the filters of lists. Those of runs leave active runs out, which are few and updated most, so a run is
 * written to them when it pauses or ends, together with the other indexes by outcome.
 */
export async function up(db: Kysely<never>): Promise<void> {
  // Each active run is in one of two indexes: most turns are only ever driven.
  await sql`drop index runs_active`.execute(db)
  await sql`drop index runs_driven`.execute(db)
  await sql`create index runs_driven on runs (tenant_id, id) where worker_id is not null`.execute(db)
  await sql`create index runs_undriven on runs (tenant_id, id)
    where outcome = 'ACTIVE' and worker_id is null`.execute(db)
  await sql`create index runs_sender on runs (tenant_id, (sent_by ->> 'id'), outcome, id)
    where outcome <> 'ACTIVE' and (sent_by ->> 'id') is not null`.execute(db)
  await sql`create index runs_metadata on runs using gin (metadata jsonb_path_ops)
    where outcome <> 'ACTIVE' and metadata <> '{}'`.execute(db)
  // A run's later steps are left out while they use the model of the step before.
  await sql`alter table steps add repeats_model boolean not null default false`.execute(db)
  await sql`create index steps_model on steps (model, run_id) where not repeats_model`.execute(db)
  // The calls that wait now.
  await sql`create index tool_calls_pending on tool_calls (tenant_id, needs, run_id)
    where exception = 'PENDING'`.execute(db)
}
