import { sql } from 'kysely'

import { suspectAfter } from '../../domain/runs/take-up.ts'
import type { Db } from '../database/schema.ts'

/** Clears the lease of a run, if the run still has it. `counts` says that driving the run failed. */
export async function clearLease(
  db: Db,
  runId: string,
  lease: string,
  { counts }: { readonly counts: boolean },
): Promise<void> {
  await sql`
    update runs set lease = null, worker_id = null, deaths = deaths + ${counts ? 1 : 0}
    where id = ${runId} and lease = ${lease}`.execute(db)
}

/** Hands back a run that another worker should drive. It was not driven, so this does not count as an attempt. */
export async function leaveRun(db: Db, runId: string, lease: string): Promise<void> {
  await sql`
    update runs set lease = null, worker_id = null, attempts = attempts - 1
    where id = ${runId} and lease = ${lease}`.execute(db)
}

/** No living worker drives the run. */
export const hasNoWorker = sql<boolean>`not exists (select from workers where workers.id = runs.worker_id)`

/** The worker that drove the run is gone. */
export const isOrphaned = sql<boolean>`runs.worker_id is not null and ${hasNoWorker}`

/**
 * Frees the runs of workers that are gone. Each of these runs counts a death, because any of them may have caused it.
 * But if a suspect was among a worker's runs, the others are not counted: the suspect is to blame.
 */
export async function freeRunsOfTheDead(db: Db): Promise<FreedRun[]> {
  const { rows } = await sql<FreedRun>`
    with orphans as materialized (
      select id, worker_id, deaths from runs where ${isOrphaned} for no key update skip locked
    )
    update runs set lease = null, worker_id = null,
      deaths = runs.deaths + (orphans.deaths >= ${suspectAfter} or not exists (
        select from orphans beside where beside.worker_id = orphans.worker_id and beside.deaths >= ${suspectAfter}))::integer
    from orphans where runs.id = orphans.id
    returning runs.id, runs.conversation_id as "conversationId", runs.agent_id as "agentId",
      runs.tenant_id as "tenantId", orphans.worker_id as "workerId", runs.deaths`.execute(db)
  return rows
}

/** A run that another worker may take over, and the worker that died. */
export interface FreedRun {
  readonly id: string
  readonly conversationId: string
  readonly agentId: string
  readonly tenantId: string
  readonly workerId: string
  /** How many workers died while they drove it, since its last checkpoint. */
  readonly deaths: number
}

/** Hands back all runs of a worker that shuts down normally. */
export async function clearLeasesOf(db: Db, workerId: string): Promise<void> {
  await sql`update runs set lease = null, worker_id = null where worker_id = ${workerId}`.execute(db)
}

/** The leases that are stored for a worker. */
export async function listLeasesOf(
  db: Db,
  workerId: string,
): Promise<{ readonly runId: string; readonly lease: string }[]> {
  const { rows } = await sql<{ runId: string; lease: string }>`
    select id as "runId", lease from runs where worker_id = ${workerId}`.execute(db)
  return rows
}
