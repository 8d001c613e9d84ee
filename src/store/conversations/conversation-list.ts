import { sql, type RawBuilder, type SqlBool } from 'kysely'

import type { Conversation } from '../../domain/conversations/conversation.ts'
import type { Reach } from '../../domain/access/viewer.ts'
import { storableText, type JsonObject } from '../../util/json.ts'
import { toConversation } from './conversations.ts'
import { readPage, type ListOrder, type Page, type PageArguments } from '../database/page.ts'
import type { Db } from '../database/schema.ts'
import { ofTenant } from '../access/tenant-scope.ts'

/** All given fields must match. A field that is omitted filters nothing; an empty list matches nothing. */
export interface ConversationFilter {
  readonly agentIds?: readonly string[] | null | undefined
  readonly metadataContains?: JsonObject | null | undefined
  readonly titleContains?: string | null | undefined
  readonly activeSince?: Date | null | undefined
  readonly archived?: boolean | null | undefined
}

export type ConversationOrder = 'CREATED' | 'LAST_ACTIVITY'

const orders: Readonly<Record<ConversationOrder, ListOrder>> = {
  CREATED: { key: 'conversations.id', kind: 'uuid', order: 'oldest first' },
  LAST_ACTIVITY: { key: 'conversations.activity', kind: 'text', order: 'newest first' },
}

export function listConversationsPage(
  db: Db,
  reach: Reach,
  options: { readonly filter: ConversationFilter; readonly orderBy: ConversationOrder; readonly page: PageArguments },
): Promise<Page<Conversation>> {
  const { filter, orderBy, page } = options
  const activity = orderBy === 'CREATED' ? sql<string>`''` : activityKey
  const query = db
    .selectFrom((from) =>
      from
        .selectFrom('conversations')
        .where(matches(reach, filter))
        .selectAll('conversations')
        .select(activity.as('activity'))
        .as('conversations'),
    )
    .selectAll()
  return readPage(db, query, page, {
    ...orders[orderBy],
    keyOf: (row) => (orderBy === 'CREATED' ? row.id : row.activity),
    toNode({ activity: _activity, ...row }) {
      return toConversation(row)
    },
  })
}

export async function findLastActivity(db: Db, reach: Reach, ids: readonly string[]): Promise<Map<string, Date>> {
  const rows = await db
    .selectFrom('conversations')
    .where(ofTenant('conversations', reach))
    .where(sql<SqlBool>`conversations.id = any(${ids}::uuid[])`)
    .select(['conversations.id', lastActivity.as('last_activity_at')])
    .execute()
  return new Map(rows.map((row) => [row.id, row.last_activity_at]))
}

/**
 * When a message was last added or a run last changed status. It is derived from the runs, because a column and its
 * index would be written in every turn. Only these runs can have changed last: the one that held the conversation last,
 * the one before it (it may have ended after the other was accepted, which has not started yet), those that wait, and
 * those that were cancelled while they waited. A retried run holds the conversation anew, so it is the last one.
 */
const lastActivity = sql<Date>`greatest(conversations.created_at,
  (select max(updated_at) from runs
    where conversation_id = conversations.id and hold >= conversations.next_hold - 2),
  (select max(updated_at) from runs where conversation_id = conversations.id and hold is null and not ended),
  (select max(updated_at) from runs
    where conversation_id = conversations.id and outcome = 'CANCELLED' and hold is null))`

/** As text, sorts by time and then by id. */
const activityKey = sql<string>`(to_char(${lastActivity} at time zone 'UTC', 'YYYYMMDDHH24MISSMS') || '.'
  || conversations.id::text) collate "C"`

function matches(reach: Reach, filter: ConversationFilter): RawBuilder<SqlBool> {
  const conditions: RawBuilder<SqlBool>[] = [ofTenant('conversations', reach)]
  if (filter.agentIds) conditions.push(sql`conversations.agent_id = any(${filter.agentIds}::uuid[])`)
  if (filter.metadataContains)
    conditions.push(sql`conversations.metadata @> ${JSON.stringify(filter.metadataContains)}::jsonb`)
  if (typeof filter.titleContains === 'string') {
    const part = storableText(filter.titleContains)
    conditions.push(sql`position(lower(${part}) in lower(conversations.title)) > 0`)
  }
  if (filter.activeSince) conditions.push(sql`${lastActivity} >= ${filter.activeSince}`)
  if (typeof filter.archived === 'boolean')
    conditions.push(sql`(conversations.archived_at is not null) = ${filter.archived}`)
  return sql`${sql.join(conditions, sql` and `)}`
}
