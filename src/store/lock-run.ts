import { sql, type Transaction } from 'kysely'

import type { Database } from './schema.ts'

/**
 * Locks a run's conversation and then the run, always in that order, and reads nothing: what is read after this
 * statement is as of now, what was read before it may be stale. False where there is no such run. `no key`, because a
 * worker that stores a message holds its run and then shares the conversation's key: it must not wait for us.
 */
export async function lockRun(trx: Transaction<Database>, runId: string): Promise<boolean> {
  const { rows } = await sql`
    with conversation as materialized (
      select conversations.id from conversations join runs on runs.conversation_id = conversations.id
      where runs.id = ${runId} for no key update of conversations)
    select runs.id from runs, conversation where runs.id = ${runId} for no key update of runs`.execute(trx)
  return rows.length > 0
}
