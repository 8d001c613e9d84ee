import { sql, type Kysely, type Selectable } from 'kysely'

import type { Message, MessageType } from '../domain/message.ts'
import { readPage, type Page, type PageArguments } from './page.ts'
import type { Database } from './schema.ts'
import { isOneOfSteps, type StepKey } from './steps.ts'
import { ofTenant } from './tenant-scope.ts'

type MessageRow = Omit<Selectable<Database['messages']>, 'run_number'> & { readonly run_id: string }

export function toMessage(row: MessageRow): Message {
  return {
    id: row.id,
    conversationId: row.conversation_id,
    position: row.position,
    runId: row.run_id,
    stepIndex: row.step_index,
    clientId: row.client_id,
    excluded: row.excluded,
    createdAt: row.created_at,
    type: row.type,
    content: row.content,
    // What is stored under a type was written as that type's content.
  } as unknown as Message
}

/** A conversation's messages, or those of one of its runs. */
export interface MessageList {
  readonly conversationId: string
  /** A run's messages are one unbroken range. Both null: the run has none yet. */
  readonly range?: { readonly from: number | null; readonly before: number | null } | undefined
  /** What is left out filters nothing; an empty list leaves nothing. */
  readonly types?: readonly MessageType[] | null | undefined
}

export async function findMessages(db: Kysely<Database>, tenantId: string, ids: readonly string[]): Promise<Message[]> {
  const rows = await messagesOfTenant(db, tenantId)
    .where(sql<boolean>`messages.id = any(${ids}::uuid[])`)
    .execute()
  return rows.map(toMessage)
}

/** Oldest first: in the order of their positions. */
export function listMessagesPage(
  db: Kysely<Database>,
  tenantId: string,
  list: MessageList,
  page: PageArguments,
): Promise<Page<Message>> {
  let query = messagesOfTenant(db, tenantId).where('messages.conversation_id', '=', list.conversationId)
  if (list.range) {
    query = query
      .where('messages.position', '>=', list.range.from ?? 0)
      .where('messages.position', '<', list.range.before ?? 0)
  }
  if (list.types) query = query.where(sql<boolean>`messages.type = any(${list.types}::text[])`)
  return readPage(query, page, {
    key: 'messages.position',
    kind: 'integer',
    order: 'oldest first',
    keyOf: (row) => row.position,
    toNode: toMessage,
  })
}

export async function listMessagesOfSteps(
  db: Kysely<Database>,
  tenantId: string,
  keys: readonly StepKey[],
): Promise<Message[]> {
  const rows = await messagesOfTenant(db, tenantId)
    .where(sql<boolean>`runs.id = any(${keys.map((key) => key.runId)}::uuid[])`)
    .where(isOneOfSteps('runs.id', 'messages.step_index', keys))
    // Without the range, finding a run's messages means reading its whole conversation.
    .whereRef('messages.position', '>=', 'runs.first_position')
    .whereRef('messages.position', '<', 'runs.next_position')
    .orderBy('messages.conversation_id')
    .orderBy('messages.position')
    .execute()
  return rows.map(toMessage)
}

/** The text of the last assistant message of each run that has one. */
export async function findAnswers(
  db: Kysely<Database>,
  tenantId: string,
  runIds: readonly string[],
): Promise<Map<string, string>> {
  const { rows } = await sql<{ run_id: string; answer: string }>`
    select runs.id as run_id, latest.content ->> 'text' as answer
    from runs cross join lateral (
      select content from messages
      where messages.conversation_id = runs.conversation_id and type = 'ASSISTANT'
        and position >= runs.first_position and position < runs.next_position
      order by position desc limit 1
    ) latest
    where ${ofTenant('runs', tenantId)} and runs.id = any(${runIds}::uuid[])`.execute(db)
  return new Map(rows.map((row) => [row.run_id, row.answer]))
}

/** A message belongs to a tenant through the run that added it. */
function messagesOfTenant(db: Kysely<Database>, tenantId: string) {
  return db
    .selectFrom('messages')
    .innerJoin('runs', (join) =>
      join
        .onRef('runs.conversation_id', '=', 'messages.conversation_id')
        .onRef('runs.number', '=', 'messages.run_number'),
    )
    .where(ofTenant('runs', tenantId))
    .select([
      'messages.id',
      'messages.conversation_id',
      'messages.position',
      'messages.step_index',
      'messages.type',
      'messages.excluded',
      'messages.created_at',
      'messages.client_id',
      'messages.content',
      'runs.id as run_id',
    ])
}
