import type { Log } from '../../util/log.ts'
import { startEmbeddedPostgres } from './embedded/launch.ts'
import { openDatabase, type OpenDatabase } from './open-database.ts'
import { prepareDatabase } from './migrate.ts'

export interface StoreOptions {
  /** Undefined means an embedded Postgres in `dataDir`. */
  readonly url: string | undefined
  /** The same database without a connection pooler, if `url` has one. */
  readonly directUrl: string | undefined
  readonly dataDir: string
  readonly poolSize: number
  /** Defaults to true. */
  readonly migrates?: boolean
  readonly log: Log
  /** Nothing is migrated after that. */
  readonly signal?: AbortSignal
}

export interface Store {
  readonly database: OpenDatabase
  /** Migrations that ran now. */
  readonly migrated: readonly string[]
  /** Closes what was opened, the embedded Postgres too. */
  close(): Promise<void>
}

/** Opens and migrates the database. If that fails, nothing stays open. */
export async function openStore(options: StoreOptions): Promise<Store> {
  const { url, directUrl, dataDir, poolSize, migrates = true, log, signal } = options
  const postgres = url === undefined ? await startEmbeddedPostgres({ dataDir, log }) : undefined
  let direct: OpenDatabase | undefined
  let database: OpenDatabase | undefined
  const close = async () => {
    try {
      await database?.close()
    } finally {
      await postgres?.stop()
    }
  }
  try {
    if (directUrl !== undefined)
      direct = await openDatabase(directUrl, { log, poolSize: 2, setting: 'DATABASE_DIRECT_URL' })
    database = await openDatabase(url ?? postgres!.url, { log, poolSize, ...(direct && { direct }) })
    const migrated =
      migrates && !signal?.aborted
        ? await prepareDatabase(direct ?? database, { log, signal }).catch((error: unknown) => {
            if (signal?.aborted) return []
            throw error
          })
        : []
    return { database, migrated, close }
  } catch (error) {
    await close()
    throw error
  } finally {
    await direct?.close()
  }
}
