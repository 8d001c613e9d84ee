import { readdir } from 'node:fs/promises'

import type { Kysely } from 'kysely'
import { Migrator, type Migration } from 'kysely/migration'
import type pg from 'pg'

import { StartError } from '../util/start-error.ts'
import type { Database } from './schema.ts'
import { errorMessage } from '../util/error-message.ts'

const migrationsFolder = new URL('../../migrations/', import.meta.url)

// 'hold' as a number, and which of our locks it is.
const migrationLock = [0x686f6c64, 2].join()

/**
 * Lets one process at a time change the database's shape; the others wait, and then find nothing left to do. Whoever
 * dies meanwhile loses its session and with it the lock.
 */
export async function withMigrationLock<T>(pool: pg.Pool, work: () => Promise<T>): Promise<T> {
  const client = await pool.connect()
  let broken = false
  try {
    await client.query(`select pg_advisory_lock(${migrationLock})`)
    return await work()
  } finally {
    await client.query(`select pg_advisory_unlock(${migrationLock})`).catch(() => (broken = true))
    client.release(broken)
  }
}

/** Forward only. Gives the names of the migrations that were run now. */
export async function migrate(db: Kysely<Database>, folder: URL = migrationsFolder): Promise<string[]> {
  const migrator = new Migrator({ db, provider: { getMigrations: () => readMigrations(folder) } })
  const { error, results = [] } = await migrator.migrateToLatest()
  if (error !== undefined) {
    const failed = results.find((result) => result.status === 'Error')?.migrationName
    const reason = errorMessage(error)
    const line =
      failed === undefined
        ? `The database cannot be migrated (${reason}): it may have been migrated by a newer version of Holdpoint.`
        : `The migration ${failed} failed and the database is as it was before (${reason}).`
    throw new StartError(line, { cause: error })
  }
  return results.map((result) => result.migrationName)
}

async function readMigrations(folder: URL): Promise<Record<string, Migration>> {
  // JavaScript in an installed package, which has a source map beside each file.
  const files = (await readdir(folder)).filter((file) => /\d_[a-z_]+\.[jt]s$/.test(file)).toSorted()
  const named = files.map(
    async (file) => [file.slice(0, -'.ts'.length), await import(new URL(file, folder).href)] as const,
  )
  return Object.fromEntries(await Promise.all(named))
}
