import { sql } from 'kysely'

import type { RetryConversation } from '../../domain/runs/retry-obstacle.ts'
import { tipHold } from '../conversations/branches.ts'
import { fromColumns } from '../database/columns.ts'
import type { Trx } from '../database/schema.ts'

/** What decides, besides the run itself, whether it can be retried. The caller holds the conversation's lock. */
export async function getRetryConversation(trx: Trx, id: string): Promise<RetryConversation> {
  const row = await trx
    .selectFrom('conversations')
    .where('id', '=', id)
    .select(['next_position', 'summary_position', 'active_run_id', tipHold.as('tip_hold')])
    .executeTakeFirstOrThrow()
  return fromColumns(row)
}

/**
 * Lets the run hold its conversation again, and returns its input to the context, which it left when the run failed. If
 * other runs have held the conversation since, this run gets a new place after them, so that what it adds counts as
 * newer.
 */
export async function reopenRun(trx: Trx, runId: string): Promise<void> {
  await sql`
    with run as (
      select runs.id, conversation_id, hold, hold < next_hold - 1 as moves, next_hold, first_position, runs.next_position
      from runs join conversations on conversations.id = conversation_id where runs.id = ${runId}),
    conversation as (
      update conversations set active_run_id = run.id, context_version = context_version + 1,
        next_hold = conversations.next_hold + moves::integer
      from run where conversations.id = run.conversation_id),
    moved as (
      update runs set hold = run.next_hold, resumed = jsonb_build_object(
        'holds', coalesce(runs.resumed -> 'holds', '[]') || to_jsonb(run.hold),
        'seq', coalesce(runs.resumed -> 'seq', to_jsonb(next_seq)))
      from run where runs.id = run.id and moves)
    update messages set excluded = false, run_hold = case when moves then run.next_hold else run.hold end from run
    where messages.conversation_id = run.conversation_id and messages.run_hold = run.hold
      and messages.position >= run.first_position and messages.position < run.next_position
      and (messages.excluded or moves)`.execute(trx)
}
