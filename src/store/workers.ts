import { sql, type Kysely } from 'kysely'
import pg from 'pg'

import type { Database } from './schema.ts'

/**
 * The processes that drive runs. A row says that a worker lives; whoever finds it dead removes the row, and from then
 * on its runs may be taken by others. A worker whose row is gone has been given up, and must stop what it does. The
 * time is the database's: a machine whose clock is wrong neither seems dead nor finds the others so.
 */
export async function insertWorker(db: Kysely<Database>, workerId: string): Promise<void> {
  await sql`insert into workers (id, started_at, heartbeat_at)
    values (${workerId}, clock_timestamp(), clock_timestamp())`.execute(db)
}

/** False if the worker was given up. */
export async function beatHeart(db: Kysely<Database>, workerId: string): Promise<boolean> {
  const result = await db
    .updateTable('workers')
    .set({ heartbeat_at: sql`clock_timestamp()` })
    .where('id', '=', workerId)
    .executeTakeFirst()
  return result.numUpdatedRows > 0n
}

/** Removes a worker. Its runs are for `freeRunsOfTheDead`, unless it let go of them itself. */
export async function deleteWorker(db: Kysely<Database>, workerId: string): Promise<void> {
  await db.deleteFrom('workers').where('id', '=', workerId).execute()
}

/** The two halves of a worker's session lock: a number of ours, and one that its id gives. */
const lockSpace = 0x484f4c44

const channel = 'holdpoint_work'

/** Tells the workers of all processes to look for runs. */
export async function notifyWorkers(db: Kysely<Database>): Promise<void> {
  await sql`select pg_notify(${channel}, '')`.execute(db)
}

/** The connection that says that a worker lives, for exactly as long as the worker's lock is held. */
export interface WorkerConnection {
  release(): Promise<void>
}

/** Takes the worker's lock on a connection of its own, which also listens for runs to claim. */
export async function holdWorkerLock(
  databaseUrl: string,
  workerId: string,
  { onLost, onWork }: { onLost(): void; onWork(): void },
): Promise<WorkerConnection> {
  const client = new pg.Client({ connectionString: databaseUrl, application_name: 'holdpoint worker', keepAlive: true })
  client.on('error', onLost)
  client.on('end', onLost)
  client.on('notification', onWork)
  await client.connect()
  await client.query('select pg_advisory_lock($1, hashtext($2))', [lockSpace, workerId])
  await client.query(`listen ${channel}`)
  return { release: () => client.end().catch(() => undefined) }
}

/** Workers that may be dead: nobody holds their lock, or their heart has not beaten for so long. */
export async function listSilentWorkers(
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
