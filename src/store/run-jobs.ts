import { sql, type Kysely, type RawBuilder } from 'kysely'

import type { Database } from './schema.ts'

/**
 * A run's place in the queue. A job is only a wake-up: the run's row is the truth, so a job too many does no harm and
 * a job too few is added again by the sweep. Its key is the run's id: adding it while one waits adds nothing, adding
 * it while one is being worked on adds the next.
 */
export const runTask = 'run'

/** For use inside a statement that also stores why the run should move. */
export function addRunJob(runId: RawBuilder<unknown> | string): RawBuilder<unknown> {
  return sql`graphile_worker.add_job(${runTask}, json_build_object('runId', ${runId}::uuid),
    job_key := 'run:' || ${runId}::uuid, max_attempts := 32000)`
}

/**
 * Adds a job for every run that should be moving and has none: it holds its conversation, waits for nobody, and no
 * living worker has it. Young ones are left alone, as their job may just have been taken and not be finished.
 */
export async function addMissingRunJobs(db: Kysely<Database>, untouchedSince: Date): Promise<string[]> {
  const { rows } = await sql<{ id: string }>`
    select runs.id, ${addRunJob(sql`runs.id`)} is not null as woken
    from runs join conversations on conversations.id = runs.conversation_id and conversations.active_run_id = runs.id
    where not runs.ended and runs.status in ('QUEUED', 'RUNNING') and runs.updated_at < ${untouchedSince}
      and not exists (select from workers where workers.id = runs.worker_id)
      and not exists (select from graphile_worker._private_jobs jobs where jobs.key = 'run:' || runs.id)`.execute(db)
  return rows.map((row) => row.id)
}
