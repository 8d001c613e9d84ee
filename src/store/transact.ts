import type { Kysely, Transaction } from 'kysely'

import { retryDeadlocks } from './retry-deadlocks.ts'
import type { Database } from './database/schema.ts'

/** Calls a function once the transaction has committed, and never if it does not. */
export type AfterCommit = (task: () => void) => void

/**
 * Runs a transaction, and repeats it if Postgres ended it because of a deadlock. Announcements go to `afterCommit`, so
 * that nobody hears of what is not stored.
 */
export function transact<Result>(
  { db }: { readonly db: Kysely<Database> },
  work: (trx: Transaction<Database>, afterCommit: AfterCommit) => Promise<Result>,
): Promise<Result> {
  return retryDeadlocks(async () => {
    const tasks: (() => void)[] = []
    const result = await db.transaction().execute((trx) => work(trx, (task) => tasks.push(task)))
    for (const task of tasks) task()
    return result
  })
}
