import type { Kysely, Transaction } from 'kysely'

import { retryDeadlocks } from './retry-deadlocks.ts'
import type { Database } from './schema.ts'

/** Does something once the transaction is committed, and never if it is not. */
export type AfterCommit = (task: () => void) => void

/**
 * Runs a transaction, again if Postgres ended it for a deadlock. What others are to be told goes to `afterCommit`:
 * nobody hears of what is not stored.
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
