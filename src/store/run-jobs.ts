import { sql, type Kysely, type RawBuilder } from 'kysely'

import type { Database } from './schema.ts'

/**
 * A run's place in the queue. A job is only a wake-up: the run's row is the truth, so a job too many does no harm and
 * a job too few is added again by the sweep. Jobs have no key: an index more would cost each turn more than a job too
 * many now and then.
 */
export const runTask = 'run'

/** For use inside a statement that also stores why the run should move. */
export function addRunJob(runId: RawBuilder<unknown> | string): RawBuilder<unknown> {
  return sql`graphile_worker.add_job(${runTask}, json_build_object('runId', ${runId}::uuid), max_attempts := 32000)`
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
      and not exists (
        select from graphile_worker._private_jobs jobs where jobs.payload ->> 'runId' = runs.id::text)`.execute(db)
  return rows.map((row) => row.id)
}

/**
 * Frees the jobs of workers that nobody knows: one that died after it took its first job and before it had a row, or
 * that was given up and took another job before it noticed. The youngest may belong to a worker that is just starting.
 */
export async function freeOrphanedRunJobs(db: Kysely<Database>): Promise<void> {
  await sql`
    select graphile_worker.force_unlock_workers(array_agg(locked_by)) from (
      select distinct locked_by from graphile_worker._private_jobs
      where locked_at < now() - interval '5 seconds' and locked_by not in (select pool_id from workers)
    ) orphaned having count(*) > 0`.execute(db)
}

/**
 * Frees the jobs that were given to this pool and never arrived there, because the connection broke on the way: for the
 * queue they are being worked on for as long as the pool lives. The youngest may be about to arrive, or to be finished.
 */
export async function freeLostRunJobs(db: Kysely<Database>, poolId: string, driven: readonly string[]): Promise<void> {
  await sql`
    update graphile_worker._private_jobs set locked_by = null, locked_at = null
    where locked_by = ${poolId} and locked_at < now() - interval '5 seconds'
      and payload ->> 'runId' <> all(${driven}::text[])`.execute(db)
}

/**
 * The queue puts a job that failed off, each time for longer, up to hours. Here a failure means that the database was
 * away for a moment, or that the run is poison, which its own row counts: the job is due again now.
 */
export async function hastenRunJobs(db: Kysely<Database>): Promise<void> {
  await sql`
    select graphile_worker.reschedule_jobs(array_agg(id), run_at := now()) from graphile_worker._private_jobs
    where is_available and run_at > now() having count(*) > 0`.execute(db)
}

/** How many jobs could be worked on now. */
export async function countDueRunJobs(db: Kysely<Database>): Promise<number> {
  const { rows } = await sql<{ due: number }>`
    select count(*)::integer as due from (
      select from graphile_worker._private_jobs where is_available and run_at <= now() limit 1000) due`.execute(db)
  return rows[0]!.due
}
