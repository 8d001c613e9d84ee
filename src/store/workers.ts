import { sql, type Kysely } from 'kysely'
import pg from 'pg'

import { freeRunsOfTheDead } from './leases.ts'
import type { Database } from './schema.ts'

/**
 * The processes that drive runs. A row says that a worker lives; whoever finds it dead removes the row, and from then
 * on its runs may be taken by others. A worker whose row is gone has been given up, and must stop what it does. The
 * time is the database's: a machine whose clock is wrong neither seems dead nor finds the others so.
 */
export async function insertWorker(
  db: Kysely<Database>,
  worker: { readonly id: string; readonly poolId: string },
): Promise<void> {
  await sql`insert into workers (id, pool_id, started_at, heartbeat_at)
    values (${worker.id}, ${worker.poolId}, clock_timestamp(), clock_timestamp())`.execute(db)
}

/** False where the worker was given up. */
export async function beatHeart(db: Kysely<Database>, workerId: string): Promise<boolean> {
  const result = await db
    .updateTable('workers')
    .set({ heartbeat_at: sql`clock_timestamp()` })
    .where('id', '=', workerId)
    .executeTakeFirst()
  return result.numUpdatedRows > 0n
}

/** Gives a worker up: its runs are free, and so are its jobs, for others, who are woken. */
export async function giveUpWorker(db: Kysely<Database>, workerId: string): Promise<void> {
  const { rows } = await sql<{ pool_id: string }>`delete from workers where id = ${workerId} returning pool_id`.execute(
    db,
  )
  await freeRunsOfTheDead(db)
  const poolId = rows[0]?.pool_id
  if (poolId === undefined) return
  await sql`
    select graphile_worker.force_unlock_workers(array[${poolId}]), pg_notify('jobs:insert', json_build_object('count', (
      select count(*) from graphile_worker._private_jobs jobs where jobs.locked_by = ${poolId}))::text)`.execute(db)
}

export async function isWorkerGone(db: Kysely<Database>, workerId: string): Promise<boolean> {
  const row = await db.selectFrom('workers').where('id', '=', workerId).select('id').executeTakeFirst()
  return row === undefined
}

/** The two halves of a worker's session lock: a number of ours, and one that its id gives. */
const lockSpace = 0x484f4c44

/** Says that the worker lives. A connection of its own, so that the lock lives exactly as long as it does. */
export async function holdWorkerLock(
  databaseUrl: string,
  workerId: string,
  onLost: () => void,
): Promise<{ release(): Promise<void> }> {
  const client = new pg.Client({ connectionString: databaseUrl, application_name: 'holdpoint worker', keepAlive: true })
  client.on('error', onLost)
  client.on('end', onLost)
  await client.connect()
  await client.query('select pg_advisory_lock($1, hashtext($2))', [lockSpace, workerId])
  return { release: () => client.end().catch(() => undefined) }
}

/** Workers whose lock nobody holds, or whose heart has not beaten for so long. */
export async function listSuspects(
  db: Kysely<Database>,
  silenceMs: number,
): Promise<{ readonly id: string; readonly silent: boolean }[]> {
  const { rows } = await sql<{ id: string; silent: boolean }>`
    select workers.id, silent from workers
      cross join lateral (
        select heartbeat_at < clock_timestamp() - make_interval(secs => ${silenceMs / 1000}) as silent) heart
    where silent or not exists (
      select from pg_locks where locktype = 'advisory' and classid = ${lockSpace}::integer::oid
        and database = (select oid from pg_database where datname = current_database())
        and objid = (hashtext(workers.id::text)::bigint & 4294967295)::oid and granted)`.execute(db)
  return rows
}
