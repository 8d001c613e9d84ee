import { migrate, withMigrationLock } from './store/database/migrate.ts'
import type { OpenDatabase } from './store/database/open-database.ts'
import type { Log } from './util/log.ts'

/** Brings the tables up to date. Several processes may do this at once. */
export async function prepareDatabase({ db, pool }: OpenDatabase, { log }: { log: Log }): Promise<string[]> {
  return withMigrationLock(pool, async () => {
    const migrated = await migrate(db)
    if (migrated.length > 0) log.info({ migrations: migrated }, 'the database was migrated')
    return migrated
  })
}
