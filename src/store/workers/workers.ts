import { sql } from 'kysely'
import pg from 'pg'

import { silenceMs, type Worker, type WorkerAbilities, type WorkerProcess, type Workload } from '../../domain/worker.ts'
import { onlyRow } from '../database/rows.ts'
import type { Db } from '../database/schema.ts'
import { openSession, type Session, type SessionSource } from '../database/session.ts'

/**
 * The processes that drive runs. A row means that the worker is alive. Whoever finds it dead deletes the row, and from
 * then on others may take its runs. A worker whose row is gone has been given up, and must stop what it is doing. The
 * database's time counts, so a machine whose clock is wrong neither seems dead nor takes others for dead.
 */
export async function insertWorker(db: Db, workerId: string, about: WorkerProcess): Promise<void> {
  const { hostname, version, capacity, providers, tools } = about
  await sql`insert into workers (id, hostname, version, capacity, providers, tools, started_at, heartbeat_at)
    values (${workerId}, ${hostname}, ${version}, ${capacity}, ${providers}, ${tools},
      clock_timestamp(), clock_timestamp())`.execute(db)
}

/** A worker that has sent no heartbeat for longer than this is dead, or will soon be declared dead. */
const isAlive = sql<boolean>`heartbeat_at > clock_timestamp() - make_interval(secs => ${silenceMs / 1000})`

/** The workers that are alive, oldest first. With `ids`, only these. */
export async function listWorkers(db: Db, ids?: readonly string[]): Promise<Worker[]> {
  let query = db
    .selectFrom('workers')
    .select(['id', 'hostname', 'version', 'capacity', 'started_at as startedAt', 'heartbeat_at as lastSeenAt'])
    .select((eb) =>
      eb
        .selectFrom('runs')
        .whereRef('runs.worker_id', '=', 'workers.id')
        .select((runs) => runs.fn.countAll<number>().as('count'))
        .as('activeRunCount'),
    )
    .where(isAlive)
    .orderBy('started_at')
    .orderBy('id')
  if (ids) query = query.where('id', 'in', ids)
  const rows = await query.execute()
  return rows.map((row) => ({ ...row, activeRunCount: row.activeRunCount ?? 0 }))
}

/** Whether any process drives runs, and whether runs are waiting for one. */
export async function readWorkerPresence(db: Db): Promise<{ readonly hasWorker: boolean; readonly runsWait: boolean }> {
  const presence = sql<{ hasWorker: boolean; runsWait: boolean }>`
    select exists (select from workers where ${isAlive}) as "hasWorker",
      exists (select from runs where claimable) as "runsWait"`
  return onlyRow(await presence.execute(db))
}

/** Whether a worker other than this one can reach these providers and has these tools in its code. */
export async function hasAbleWorker(
  db: Db,
  { providers, tools }: WorkerAbilities,
  { exceptId }: { readonly exceptId: string },
): Promise<boolean> {
  const other = sql<{ able: boolean }>`
    select exists (
      select from workers where id <> ${exceptId} and providers @> ${providers}::text[] and tools @> ${tools}::text[]
        and ${isAlive}) as able`
  return onlyRow(await other.execute(db)).able
}

/** The tools in the code of the workers that are alive. */
export async function listToolsOfWorkers(db: Db): Promise<string[]> {
  const { rows } = await sql<{ name: string }>`
    select distinct unnest(tools) as name from workers where ${isAlive}`.execute(db)
  return rows.map(({ name }) => name)
}

/** False if the worker was given up. */
export async function beatHeart(db: Db, workerId: string): Promise<boolean> {
  const result = await db
    .updateTable('workers')
    .set({ heartbeat_at: sql`clock_timestamp()` })
    .where('id', '=', workerId)
    .executeTakeFirst()
  return result.numUpdatedRows > 0n
}

/** Deletes a worker's row. `freeRunsOfTheDead` frees its runs, unless the worker has handed them back itself. */
export async function deleteWorker(db: Db, workerId: string): Promise<void> {
  await db.deleteFrom('workers').where('id', '=', workerId).execute()
}

/** The two parts of a worker's session lock: a constant, and a number derived from its id. */
const lockSpace = 0x484f4c44

const channel = 'holdpoint_work'

/** Tells the workers of all processes to look for runs. */
export async function notifyWorkers(db: Db): Promise<void> {
  await sql`select pg_notify(${channel}, '')`.execute(db)
}

/**
 * Opens a session that holds the worker's lock, and listens for runs to claim. The worker counts as alive while the lock
 * is held.
 */
export function holdWorkerLock(
  database: SessionSource,
  workerId: string,
  { onLost, onWork }: { onLost(): void; onWork(): void },
): Promise<Session> {
  return openSession(database, {
    name: 'holdpoint worker',
    begin: `select pg_advisory_lock(${lockSpace}, hashtext(${pg.escapeLiteral(workerId)})); listen ${channel}`,
    onNotification: onWork,
    onLost,
  })
}

export interface SilentWorker {
  readonly id: string
  /** Whether its last heartbeat is too old. Otherwise only its lock is free. */
  readonly silent: boolean
}

/**
 * Workers that may be dead: their lock is free, or their last heartbeat is too old. A free lock is taken together with
 * whoever else looks, until the statement ends. A worker takes its lock before it has a row, so it never waits for
 * that.
 */
export const silentWorkers = sql`
  select id, not ${isAlive} as silent from workers
  where not ${isAlive} or pg_try_advisory_xact_lock_shared(${lockSpace}::integer, hashtext(id::text))`

/** Reads the rows of runs that have not ended, and no others. */
export async function readWorkload(db: Db): Promise<Workload> {
  const workload = sql<Workload>`
    with unfinished as materialized (
      select id, created_at, status, hold, worker_id, claimable from runs where not ended
    ), waiting as materialized (
      select tool_calls.needs, tool_calls.created_at from unfinished
        join tool_calls on tool_calls.run_id = unfinished.id and tool_calls.exception = 'PENDING'
      where unfinished.status = 'AWAITING_APPROVAL'
    )
    select
      (select count(*) from unfinished where claimable) as "claimableRuns",
      (select count(*) from unfinished where hold is null) as "runsBehind",
      (select count(*) from unfinished where worker_id is not null) as "drivenRuns",
      (select ${ageOf(sql`min(created_at)`)} from unfinished where claimable) as "oldestClaimableSeconds",
      (select count(*) from waiting where needs = 'APPROVAL') as "waitingApprovals",
      (select count(*) from waiting where needs = 'CLIENT_EXECUTION') as "waitingClientCalls",
      (select ${ageOf(sql`min(created_at)`)} from waiting where needs = 'APPROVAL') as "oldestApprovalSeconds",
      count(*) as workers, coalesce(sum(capacity), 0) as capacity
    from workers where ${isAlive}`
  return onlyRow(await workload.execute(db))
}

function ageOf(time: ReturnType<typeof sql>) {
  return sql`coalesce(greatest(extract(epoch from clock_timestamp() - ${time}), 0), 0)::double precision`
}
