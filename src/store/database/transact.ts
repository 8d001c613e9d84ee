import type { Db, Trx } from './schema.ts'

/** Calls a function once the transaction has committed, and never if it does not. */
export type AfterCommit = (task: () => void) => void

const deadlockDetected = '40P01'
const serializationFailure = '40001'
const attempts = 5

/** An error after which `transact` repeats the transaction. */
export function repeatTransaction(reason: string): Error {
  return Object.assign(new Error(`The transaction must be repeated: ${reason}.`), { code: serializationFailure })
}

/**
 * Runs a transaction, and repeats it if Postgres ended it because of a deadlock, or if it asked for that. Two agents may
 * work for each other in the background, and then the ends of their turns lock each other's conversations in either
 * order. Announcements go to `afterCommit`, so that nobody hears of what is not stored.
 */
export async function transact<Result>(
  { db }: { readonly db: Db },
  work: (trx: Trx, afterCommit: AfterCommit) => Promise<Result>,
): Promise<Result> {
  for (let attempt = 1; ; attempt += 1) {
    const tasks: (() => void)[] = []
    try {
      const result = await db.transaction().execute((trx) => work(trx, (task) => tasks.push(task)))
      for (const task of tasks) task()
      return result
    } catch (error) {
      const { code } = error as { readonly code?: string }
      if ((code !== deadlockDetected && code !== serializationFailure) || attempt === attempts) throw error
    }
  }
}
