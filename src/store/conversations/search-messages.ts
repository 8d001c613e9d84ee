import { sql, type RawBuilder } from 'kysely'

import type { MessageType } from '../../domain/conversations/message.ts'
import { storableText } from '../../util/json.ts'
import { isMessageOnBranch } from './branches.ts'
import type { Db } from '../database/schema.ts'

export type SearchedType = Extract<MessageType, 'USER' | 'ASSISTANT' | 'SYSTEM' | 'SUMMARY'>

export interface MessageSearch {
  readonly conversationId: string
  /** Only messages before this position. */
  readonly before: number
  /** Words, "a phrase", or -not. Null matches every message. */
  readonly query: string | null
  readonly types: readonly SearchedType[]
  /** A day or an instant, in `timezone` if it has no offset. Both ends are included. */
  readonly from: string | null
  readonly to: string | null
  readonly timezone: string
  readonly limit: number
}

export interface FoundMessage {
  readonly type: SearchedType
  readonly text: string
  readonly createdAt: Date
}

/** How many positions at the end of the conversation are searched one by one before the word index is used. */
const recentPositions = 400
/**
 * A word that is in this many messages is common: the index would match everywhere, so only the newest messages are
 * searched.
 */
const commonMatches = 20
/** Only the newest of the messages that the index finds are ranked, because ranking means reading their text. */
const maxCompared = 100

/**
 * Finds messages that contain all the words. If there are none, finds messages that contain any of them, or a word that
 * starts like one of them. The best of the newest matches come first, or the newest messages if there is no query.
 */
export async function searchMessages(db: Db, search: MessageSearch): Promise<FoundMessage[]> {
  if (search.query === null) return (await find(db, search, { recent: false })).messages
  const query = searchedText(search.query)
  const all = await findMatches(db, search, sql`websearch_to_tsquery('simple', ${query})`)
  if (all.length > 0) return all
  return findMatches(
    db,
    search,
    sql`regexp_replace(replace(plainto_tsquery('simple', ${query})::text, ' & ', ' | '), '''( |$)', ''':*\\1', 'g')::tsquery`,
  )
}

/** A hyphen means not, and Postgres takes at most 32 of them in a row, which a ruler in Markdown has. */
export function searchedText(query: string): string {
  return storableText(query).replaceAll(/-(?:[\s!&|()]*-)+/g, ' ')
}

async function findMatches(db: Db, search: MessageSearch, query: RawBuilder<unknown>): Promise<FoundMessage[]> {
  const inRecent = await find(db, search, { query, recent: true })
  if (inRecent.matches >= Math.max(commonMatches, search.limit)) return inRecent.messages
  return (await find(db, search, { query, recent: false })).messages
}

async function find(
  db: Db,
  search: MessageSearch,
  { query, recent }: { readonly query?: RawBuilder<unknown>; readonly recent: boolean },
): Promise<{ readonly messages: FoundMessage[]; readonly matches: number }> {
  const { conversationId, before, limit } = search
  const words = sql`message_words(conversation_id, content)`
  const inConversation = sql`quote_literal(conversation_word(${conversationId}::uuid))::tsquery`
  const asked = sql`select * from messages
    where conversation_id = ${conversationId} and position < ${before} and ${isAsked(search)}
      and ${isMessageOnBranch(conversationId)}`
  // `offset 0` keeps the planner from using the word index for this part, which is searched message by message.
  const compared = query === undefined ? limit : Math.max(limit, maxCompared)
  const { rows } = await sql<{ type: SearchedType; text: string; created_at: Date; matches: number }>`
    with newest as materialized (
      ${recent ? sql`select * from (${asked} and position >= ${before - recentPositions} offset 0) messages where true` : asked}
        ${query === undefined ? sql`` : sql`and numnode(${query}) > 0 and ${words} @@ (${inConversation} && ${query})`}
      order by position desc limit ${compared}
    )
    select type, message_text(content) as text, created_at, (select count(*)::integer from newest) as matches
    from newest
    order by ${query === undefined ? sql`` : sql`ts_rank_cd(${words}, ${query}) desc,`} position desc
    limit ${limit}`.execute(db)
  return {
    messages: rows.map((row) => ({ type: row.type, text: row.text, createdAt: row.created_at })),
    matches: rows[0]?.matches ?? 0,
  }
}

/** Whether a message has one of the requested types and lies in the requested time range. */
function isAsked({ types, from, to, timezone }: MessageSearch): RawBuilder<unknown> {
  return sql`type in ('USER', 'ASSISTANT', 'SYSTEM', 'SUMMARY') and type = any(${types}::text[])
    ${from === null ? sql`` : sql`and created_at >= ${instant(from, timezone)}`}
    ${to === null ? sql`` : sql`and created_at ${isDay(to) ? sql`<` : sql`<=`} ${instant(to, timezone, { dayAfter: true })}`}`
}

function isDay(text: string): boolean {
  return /^\d{4}-\d{2}-\d{2}$/.test(text)
}

function instant(text: string, timezone: string, options: { readonly dayAfter?: boolean } = {}) {
  if (isDay(text))
    return sql`((${text}::date + ${options.dayAfter ? 1 : 0}::integer)::timestamp at time zone ${timezone})`
  const hasOffset = /(Z|[+-]\d{2}(:?\d{2})?)$/i.test(text)
  return hasOffset ? sql`${text}::timestamptz` : sql`(${text}::timestamp at time zone ${timezone})`
}
