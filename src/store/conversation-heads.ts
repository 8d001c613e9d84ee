import { sql, type Kysely } from 'kysely'

import type { Database } from './schema.ts'
import { ofTenant } from './tenant-scope.ts'

/**
 * What moves in a conversation, read in one statement. A reader that shows the last entry beside other fields reads
 * this first and them afterwards: what it shows is then never older than the entry it names.
 */
export interface ConversationHead {
  readonly conversationId: string
  readonly nextHold: number
  readonly contextFrom: number
  readonly summaryPosition: number | null
  readonly activeRunId: string | null
  /** The last stored entry of the run that holds the conversation, or held it last. Null before the first run. */
  readonly lastEntry: { readonly runId: string; readonly seq: number } | null
}

export async function findConversationHeads(
  db: Kysely<Database>,
  tenantId: string,
  conversationIds: readonly string[],
): Promise<ConversationHead[]> {
  const { rows } = await sql<{
    id: string
    next_hold: number
    context_from: number
    summary_position: number | null
    active_run_id: string | null
    last_run_id: string | null
    next_seq: number | null
  }>`
    select conversations.id, next_hold, context_from, summary_position, active_run_id,
      last_run.id as last_run_id, last_run.next_seq
    from conversations left join runs last_run
      on last_run.conversation_id = conversations.id and last_run.hold = next_hold - 1
    where ${ofTenant('conversations', tenantId)} and conversations.id = any(${conversationIds}::uuid[])`.execute(db)
  return rows.map((row) => ({
    conversationId: row.id,
    nextHold: row.next_hold,
    contextFrom: row.context_from,
    summaryPosition: row.summary_position,
    activeRunId: row.active_run_id,
    lastEntry: row.last_run_id === null ? null : { runId: row.last_run_id, seq: row.next_seq! - 1 },
  }))
}
