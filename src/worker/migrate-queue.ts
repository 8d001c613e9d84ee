import { Logger, runMigrations } from 'graphile-worker'
import type pg from 'pg'

import type { Log } from '../util/log.ts'
import { StartError } from '../util/start-error.ts'

/** Brings the queue's own schema up to date. To be called under the migration lock. */
export async function migrateQueue(pool: pg.Pool, { log }: { log: Log }): Promise<void> {
  // Its own logger writes to stdout, which belongs to the commands.
  const logger = new Logger(() => (level, message) => log[level === 'warning' ? 'warn' : level](message))
  try {
    await runMigrations({ pgPool: pool, logger })
  } catch (error) {
    throw new StartError(`The queue's tables cannot be migrated (${(error as Error).message}).`, { cause: error })
  }
}
