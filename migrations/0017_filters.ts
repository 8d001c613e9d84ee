import { sql, type Kysely } from 'kysely'

/**
 * Indexes for the filters of lists. Those of runs leave active runs out, which are few and updated most, so a run is
 * written to them when it pauses or ends, together with the other indexes by outcome.
 */
export async function up(db: Kysely<never>): Promise<void> {
  await sql`create index runs_sender on runs (tenant_id, (sent_by ->> 'id'), outcome, id)
    where outcome <> 'ACTIVE' and (sent_by ->> 'id') is not null`.execute(db)
  await sql`create index runs_metadata on runs using gin (metadata jsonb_path_ops)
    where outcome <> 'ACTIVE' and metadata <> '{}'`.execute(db)
  await sql`create index steps_model on steps (model, run_id)`.execute(db)
  // The calls that wait now.
  await sql`create index tool_calls_pending on tool_calls (tenant_id, needs, run_id)
    where exception = 'PENDING'`.execute(db)
}
