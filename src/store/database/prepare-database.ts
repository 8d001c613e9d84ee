import { migrate, withMigrationLock } from './migrate.ts'
import type { OpenDatabase } from './open-database.ts'
import type { Log } from '../../util/log.ts'

/** Brings the tables up to date. Several processes may do this at once. */
export async function prepareDatabase(
  { db, pool }: OpenDatabase,
  { log, signal }: { readonly log: Log; readonly signal?: AbortSignal | undefined },
): Promise<string[]> {
  return withMigrationLock(pool, { log, signal }, async () => {
    const migrated = await migrate(db)
    if (migrated.length > 0) log.info({ migrations: migrated }, 'the database was migrated')
    return migrated
  })
}
