import { readdir } from 'node:fs/promises'
import { setTimeout as sleep } from 'node:timers/promises'

import { sql } from 'kysely'
import { Migrator, type Migration } from 'kysely/migration'
import type pg from 'pg'

import type { Log } from '../../util/log.ts'
import { errorMessage } from '../../util/error-message.ts'
import { StartError, errorCode } from '../../util/start-error.ts'
import { onlyRow } from './rows.ts'
import type { Db } from './schema.ts'

const migrationsFolder = new URL('../../../migrations/', import.meta.url)

// 'hold' as a number, and which of our locks it is.
const lockSpace = 0x686f6c64
const lockNumber = 2
const migrationLock = `${lockSpace}, ${lockNumber}`

const askAgainMs = 100
const sayAfterMs = 2_000

/**
 * Lets one process at a time migrate the database. The others wait, and then find nothing left to do. A process that
 * dies loses its session and with it the lock. Throws the signal's reason if it is aborted meanwhile.
 */
async function withMigrationLock<T>(
  pool: pg.Pool,
  { log, signal }: { readonly log: Log; readonly signal?: AbortSignal | undefined },
  work: () => Promise<T>,
): Promise<T> {
  const client = await pool.connect()
  let isFree = false
  try {
    await takeMigrationLock(client, { log, signal })
    return await work()
  } finally {
    const unlock = `select pg_advisory_unlock(${migrationLock}) as done`
    await client.query<{ done: boolean }>(unlock).then(
      (unlocked) => (isFree = onlyRow(unlocked).done),
      () => {},
    )
    // Whatever still holds the lock loses it with the connection.
    client.release(!isFree)
  }
}

async function takeMigrationLock(
  client: pg.PoolClient,
  { log, signal }: { readonly log: Log; readonly signal?: AbortSignal | undefined },
): Promise<void> {
  const began = performance.now()
  for (let isSaid = false; ; await sleep(askAgainMs, undefined, signal && { signal })) {
    const lock = await client.query<{ taken: boolean }>(`select pg_try_advisory_lock(${migrationLock}) as taken`)
    if (onlyRow(lock).taken) return
    if (isSaid || performance.now() - began < sayAfterMs) continue
    isSaid = true
    const { rows: holders } = await client.query<{ pid: number; address: string | null; since: Date }>(holderOfLock)
    log.warn({ holder: holders[0] }, 'another connection holds the lock for migrations; waiting until it is released')
  }
}

const holderOfLock = `select a.pid, host(a.client_addr) as address, a.application_name as name, a.backend_start as since
  from pg_locks l join pg_stat_activity a using (pid)
  where l.locktype = 'advisory' and l.granted and l.classid = ${lockSpace} and l.objid = ${lockNumber}
    and l.database = (select oid from pg_database where datname = current_database())`

/** Brings the tables up to date. Several processes may do this at once. */
export async function prepareDatabase(
  { db, pool }: { readonly db: Db; readonly pool: pg.Pool },
  { log, signal }: { readonly log: Log; readonly signal?: AbortSignal | undefined },
): Promise<string[]> {
  return withMigrationLock(pool, { log, signal }, async () => {
    const migrated = await migrate(db)
    if (migrated.length > 0) log.info({ migrations: migrated }, 'the database was migrated')
    return migrated
  })
}

/** How the database compares with the migrations of this version. */
interface MigrationState {
  /** Migrations that have not run yet, in order. */
  readonly pending: readonly string[]
  /** Migrations that another version ran and that this version does not have. */
  readonly unknown: readonly string[]
}

/** Only reads. */
async function compareMigrations(db: Db, folder: URL = migrationsFolder): Promise<MigrationState> {
  const known = (await listFiles(folder)).map(nameOf)
  const table = await sql<{ exists: boolean }>`
    select to_regclass('kysely_migration') is not null as exists`.execute(db)
  const { rows } = onlyRow(table).exists
    ? await sql<{ name: string }>`select name from kysely_migration order by name`.execute(db)
    : { rows: [] }
  const executed = rows.map(({ name }) => name)
  return {
    pending: known.filter((name) => !executed.includes(name)),
    unknown: executed.filter((name) => !known.includes(name)),
  }
}

/** Throws a StartError if the database was migrated by a newer version. */
export async function refuseNewer(db: Db, folder: URL = migrationsFolder): Promise<MigrationState> {
  const state = await compareMigrations(db, folder)
  const newest = state.unknown.at(-1)
  if (newest === undefined) return state
  throw new StartError(
    `The database was migrated by a newer version of Holdpoint (it has ${newest}, which this version does not know): start that version, or restore a backup from before the upgrade.`,
  )
}

/** Forward only. Returns the names of the migrations that ran now. */
export async function migrate(db: Db, folder: URL = migrationsFolder): Promise<string[]> {
  const { pending } = await refuseNewer(db, folder)
  if (pending.length === 0) return []
  const migrator = new Migrator({ db, provider: { getMigrations: () => readMigrations(folder) } })
  for (let attempt = 1; ; attempt += 1) {
    const { error, results = [] } = await migrator.migrateToLatest()
    if (error === undefined) return results.map((result) => result.migrationName)
    if (errorCode(error) === lockNotAvailable && attempt < lockAttempts) {
      await sleep(lockPauseMs)
      continue
    }
    const failed = results.find((result) => result.status === 'Error')?.migrationName
    const reason = errorMessage(error)
    const line =
      failed === undefined
        ? `The database cannot be migrated (${reason}).`
        : `The migration ${failed} failed and the database is as it was before (${reason}).`
    throw new StartError(line, { cause: error })
  }
}

/**
 * Other processes keep serving during a migration. A statement that waits for a table's lock makes all later ones wait
 * too, so it gives up soon, and the migration is tried again a little later.
 */
const lockTimeout = '2s'
const lockNotAvailable = '55P03'
const lockAttempts = 30
const lockPauseMs = 1_000

/** JavaScript in an installed package, which has a source map beside each file. */
async function listFiles(folder: URL): Promise<string[]> {
  return (await readdir(folder)).filter((file) => /\d_[a-z_]+\.[jt]s$/.test(file)).toSorted()
}

function nameOf(file: string): string {
  return file.slice(0, -'.ts'.length)
}

async function readMigrations(folder: URL): Promise<Record<string, Migration>> {
  const named = (await listFiles(folder)).map(async (file) => {
    const { up } = (await import(new URL(file, folder).href)) as Migration
    const migration: Migration = {
      async up(db) {
        await sql`select set_config('lock_timeout', ${lockTimeout}, true)`.execute(db)
        await up(db)
      },
    }
    return [nameOf(file), migration] as const
  })
  return Object.fromEntries(await Promise.all(named))
}
