import { sql, type Transaction } from 'kysely'

import type { Database } from './schema.ts'

export interface LockedRun {
  /**
   * Whether other agents work for its agent in the background: most agents have none, and nothing more is asked then.
   */
  readonly hasSleeptime: boolean
}

/**
 * Locks a run's conversation and then the run, always in that order, and reads nothing that decides: what is read after
 * this statement is as of now, what was read before it may be stale. Undefined if there is no such run, or if
 * `skipLocked` and someone holds one of the locks. `no key`, because a worker that stores files holds its run and
 * then shares the conversation's key: it must not wait for us.
 */
export async function lockRun(
  trx: Transaction<Database>,
  runId: string,
  { skipLocked = false }: { readonly skipLocked?: boolean } = {},
): Promise<LockedRun | undefined> {
  const otherwise = skipLocked ? sql`skip locked` : sql``
  const { rows } = await sql<{ has_sleeptime: boolean }>`
    with conversation as materialized (
      select conversations.id from conversations join runs on runs.conversation_id = conversations.id
      where runs.id = ${runId} for no key update of conversations ${otherwise})
    select exists (select from sleeptime_groups where sleeptime_groups.agent_id = runs.agent_id) as has_sleeptime
    from runs, conversation where runs.id = ${runId} for no key update of runs ${otherwise}`.execute(trx)
  return rows[0] && { hasSleeptime: rows[0].has_sleeptime }
}
