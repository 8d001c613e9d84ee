import { sql, type Kysely, type RawBuilder } from 'kysely'

import type { MessageType } from '../domain/message.ts'
import { storableText } from '../util/json.ts'
import type { Database } from './schema.ts'

export type SearchedType = Extract<MessageType, 'USER' | 'ASSISTANT' | 'SYSTEM' | 'SUMMARY'>

export interface MessageSearch {
  readonly conversationId: string
  /** Only what came before this position. */
  readonly before: number
  /** Words, "a phrase", or -not; null: any message. */
  readonly query: string | null
  readonly types: readonly SearchedType[]
  /** A day or an instant; without an offset it is one of `timezone`. Both days and instants are included. */
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

/**
 * Messages that hold all the words; where none does, those that hold any of them or a word that begins like one. The
 * best first, or the newest where there is nothing to compare by.
 */
export async function searchMessages(db: Kysely<Database>, search: MessageSearch): Promise<FoundMessage[]> {
  if (search.query === null) return find(db, search, undefined)
  const query = storableText(search.query)
  const all = await find(db, search, sql`websearch_to_tsquery('simple', ${query})`)
  if (all.length > 0) return all
  return find(
    db,
    search,
    sql`regexp_replace(replace(plainto_tsquery('simple', ${query})::text, ' & ', ' | '), '''( |$)', ''':*\\1', 'g')::tsquery`,
  )
}

async function find(
  db: Kysely<Database>,
  { conversationId, before, types, from, to, timezone, limit }: MessageSearch,
  query: RawBuilder<unknown> | undefined,
): Promise<FoundMessage[]> {
  const { rows } = await sql<{ type: SearchedType; text: string; created_at: Date }>`
    select type, message_text(content) as text, created_at
    from messages
    where conversation_id = ${conversationId} and position < ${before}
      and type in ('USER', 'ASSISTANT', 'SYSTEM', 'SUMMARY') and type = any(${types}::text[])
      ${from === null ? sql`` : sql`and created_at >= ${instant(from, timezone)}`}
      ${to === null ? sql`` : sql`and created_at ${isDay(to) ? sql`<` : sql`<=`} ${instant(to, timezone, { dayAfter: true })}`}
      ${query === undefined ? sql`` : sql`and message_words(content) @@ ${query}`}
    order by ${query === undefined ? sql`` : sql`ts_rank_cd(message_words(content), ${query}) desc,`} position desc
    limit ${limit}`.execute(db)
  return rows.map((row) => ({ type: row.type, text: row.text, createdAt: row.created_at }))
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
