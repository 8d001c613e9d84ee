import { sql, type Transaction } from 'kysely'

import type { RetryConversation } from '../domain/retry.ts'
import { tipHold } from './branches.ts'
import type { Database } from './schema.ts'

/** What decides, beside the run, whether the run can be retried. The caller holds the conversation's lock. */
export async function getRetryConversation(trx: Transaction<Database>, id: string): Promise<RetryConversation> {
  const row = await trx
    .selectFrom('conversations')
    .where('id', '=', id)
    .select(['next_position', 'summary_position', 'active_run_id', tipHold.as('tip_hold')])
    .executeTakeFirstOrThrow()
  return {
    tipHold: row.tip_hold,
    nextPosition: row.next_position,
    summaryPosition: row.summary_position,
    activeRunId: row.active_run_id,
  }
}

/** Gives the run its conversation back, and its input the place in the context that it lost when the run failed. */
export async function reopenRun(trx: Transaction<Database>, runId: string): Promise<void> {
  await sql`
    with run as (select id, conversation_id, number from runs where id = ${runId}),
    conversation as (
      update conversations set active_run_id = run.id, context_version = context_version + 1
      from run where conversations.id = run.conversation_id)
    update messages set excluded = false from run
    where messages.conversation_id = run.conversation_id and messages.run_number = run.number
      and messages.excluded`.execute(trx)
}
