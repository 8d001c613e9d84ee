import { sql } from 'kysely'

import type { Trx } from '../database/schema.ts'

export interface LockedRun {
  /**
   * Whether other agents work for the run's agent in the background. Most agents have none, and then nothing more is
   * read.
   */
  readonly hasSleeptime: boolean
}

/**
 * Locks a run's conversation and then the run, always in that order. It reads nothing that decides: whatever is read
 * after this statement is current, whatever was read before may be stale. Returns undefined if there is no such run, or
 * with `skipLocked`, if someone else has one of the locks. The lock is `for no key update`, because a worker that stores files has locked its
 * run and then needs the conversation for a foreign key, and must not wait for this lock.
 */
export async function lockRun(
  trx: Trx,
  runId: string,
  { skipLocked = false }: { readonly skipLocked?: boolean } = {},
): Promise<LockedRun | undefined> {
  const otherwise = skipLocked ? sql`skip locked` : sql``
  const { rows } = await sql<{ has_sleeptime: boolean }>`
    with conversation as materialized (
      select conversations.id from conversations join runs on runs.conversation_id = conversations.id
      where runs.id = ${runId} and conversations.deleted_at is null for no key update of conversations ${otherwise})
    select exists (select from sleeptime_groups where sleeptime_groups.agent_id = runs.agent_id) as has_sleeptime
    from runs, conversation where runs.id = ${runId} for no key update of runs ${otherwise}`.execute(trx)
  return rows[0] && { hasSleeptime: rows[0].has_sleeptime }
}
