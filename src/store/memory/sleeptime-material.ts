import { sql } from 'kysely'

import type { UnreadConversation } from '../../domain/memory/sleeptime.ts'
import { isMessageOnBranch, isOnBranch } from '../conversations/branches.ts'
import { listContextMessages } from '../runs/load-run.ts'
import { onlyRow } from '../database/rows.ts'
import type { Db, Trx } from '../database/schema.ts'

/** Whether one of `conversations` has blocks of its own. */
export const hasOwnBlocks = sql`exists (select from blocks where blocks.conversation_id = conversations.id)`

/** Limits per run. Whatever exceeds them waits for the next run, or the input says that it was left out. */
const maxConversations = 20
const maxMessages = 500

/**
 * What a sleeptime agent has not read yet in an agent's conversations, with the longest-unread conversation first: all
 * turns that are over, however they ended. A turn that is still going on is read once it has ended. Empty if the agent
 * is no longer in the other's group. A conversation with blocks of its own is read only if `of` names it, and then
 * alone.
 */
export async function listUnreadConversations(
  trx: Trx,
  {
    agentId,
    sleeptimeAgentId,
    of,
  }: { readonly agentId: string; readonly sleeptimeAgentId: string; readonly of: string | null },
): Promise<UnreadConversation[]> {
  // When a run ends, it writes its next position to the conversation. Everything before that is over.
  const { rows } = await sql<{ id: string; title: string | null; read_to: number; before: number }>`
    select conversations.id, conversations.title, progress.read_to, conversations.next_position as before
    from conversations
      cross join lateral (
        select coalesce(max(read_to), 0) as read_to from sleeptime_progress
        where sleeptime_progress.agent_id = ${sleeptimeAgentId} and conversation_id = conversations.id
      ) progress
      cross join lateral (
        select created_at from messages
        where conversation_id = conversations.id and position > progress.read_to and position < conversations.next_position
          and ${isMessageOnBranch()}
        order by position limit 1
      ) first_unread
    where conversations.agent_id = ${agentId} and conversations.deleted_at is null and ${of === null ? sql`not ${hasOwnBlocks}` : sql`conversations.id = ${of}`}
      and exists (
      select from sleeptime_groups join sleeptime_group_agents on group_id = sleeptime_groups.id
      where sleeptime_groups.agent_id = ${agentId} and sleeptime_group_agents.agent_id = ${sleeptimeAgentId})
    order by first_unread.created_at, conversations.id limit ${maxConversations}`.execute(trx)

  const unread: UnreadConversation[] = []
  for (const { id, title, read_to: readTo, before } of rows) {
    const { from, omitted } = await findStart(trx, { conversationId: id, readTo, before })
    const messages = await listMessagesBetween(trx, { conversationId: id, from, before })
    if (messages.length > 0) unread.push({ conversationId: id, title, messages, omitted })
  }
  return unread
}

/**
 * Where the last `maxMessages` unread messages of the current branch begin, and how many unread ones come before them.
 */
async function findStart(
  db: Db,
  unread: { readonly conversationId: string; readonly readTo: number; readonly before: number },
): Promise<{ readonly from: number; readonly omitted: number }> {
  const start = sql<{ from: number | null; unread: number; shown: number }>`
    with unread as materialized (
      select position from messages
      where conversation_id = ${unread.conversationId} and position > ${unread.readTo} and position < ${unread.before}
        and ${isMessageOnBranch(unread.conversationId)}
    ),
    shown as (select position from unread order by position desc limit ${maxMessages})
    select (select min(position) from shown) as from, (select count(*)::integer from unread) as unread,
      (select count(*)::integer from shown) as shown`
  const { from, unread: count, shown } = onlyRow(await start.execute(db))
  return { from: from ?? unread.before, omitted: count - shown }
}

/** Includes messages that left the context or were never in it, because they were said all the same. */
function listMessagesBetween(
  db: Db,
  range: { readonly conversationId: string; readonly from: number; readonly before: number },
) {
  return listContextMessages(
    db,
    sql`where messages.conversation_id = ${range.conversationId}
        and messages.position >= ${range.from} and messages.position < ${range.before}
        and ${isOnBranch(range.conversationId)}
      order by messages.position`,
  )
}
