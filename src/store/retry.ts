import { sql, type Transaction } from 'kysely'

import type { StoredRunStatus } from '../domain/run.ts'
import type { Database } from './schema.ts'

export type RetryObstacle =
  { readonly type: 'busy'; readonly activeRunId: string } | { readonly type: 'refused'; readonly message: string }

/** What keeps a run from being retried. The caller holds the conversation's and the run's lock. */
export async function findRetryObstacle(trx: Transaction<Database>, runId: string): Promise<RetryObstacle | undefined> {
  const { rows } = await sql<{
    status: StoredRunStatus
    latest: boolean
    compacted: boolean
    active_run_id: string | null
  }>`
    select runs.status, runs.hold = conversations.next_hold - 1 as latest, conversations.active_run_id,
      coalesce(conversations.summary_position >= runs.next_position, false) as compacted
    from runs join conversations on conversations.id = runs.conversation_id where runs.id = ${runId}`.execute(trx)
  const { status, latest, compacted, active_run_id: activeRunId } = rows[0]!
  if (status !== 'FAILED') {
    return { type: 'refused', message: `Only a run that is FAILED can be retried, and this one is ${status}.` }
  }
  if (activeRunId !== null) return { type: 'busy', activeRunId }
  if (!latest) {
    return { type: 'refused', message: 'Only the latest run of a conversation can be retried. Send a new message.' }
  }
  if (compacted) {
    return { type: 'refused', message: 'The conversation was compacted since the run failed. Send a new message.' }
  }
  return undefined
}

/** Gives the run its conversation back, and its input the place in the context that it lost when the run failed. */
export async function reopenRun(trx: Transaction<Database>, runId: string): Promise<void> {
  await sql`
    with r as (select id, conversation_id, number from runs where id = ${runId}),
    c as (update conversations set active_run_id = r.id from r where conversations.id = r.conversation_id)
    update messages set excluded = false from r
    where messages.conversation_id = r.conversation_id and messages.run_number = r.number and messages.excluded`.execute(
    trx,
  )
}
