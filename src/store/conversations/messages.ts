import { sql } from 'kysely'

import type { Message, MessageContents, MessageOutline, MessageType } from '../../domain/conversations/message.ts'
import type { Run } from '../../domain/runs/run.ts'
import type { Reach } from '../../domain/access/viewer.ts'
import { wasOnBranch } from './branches.ts'
import type { ConversationHead } from './conversation-heads.ts'
import { pickColumns, qualified } from '../database/columns.ts'
import { readPage, type Page, type PageArguments } from '../database/page.ts'
import { executePrepared } from '../database/prepared.ts'
import type { Db, Row } from '../database/schema.ts'
import { isOneOfSteps, type StepKey } from '../runs/steps.ts'
import { ofTenant } from '../access/tenant-scope.ts'

type MessageRow = Omit<Row<'messages'>, 'run_hold'> & { readonly run_id: string }

export function toMessage(row: MessageRow): Message {
  // The content of a stored message always has the shape of its type.
  return { ...toMessageOutline(row), content: row.content } as unknown as Message
}

function toMessageOutline(row: Omit<MessageRow, 'content'>): MessageOutline {
  return pickColumns(row, [...ownColumns, 'run_id'])
}

const ownColumns = [
  'id',
  'conversation_id',
  'position',
  'step_index',
  'type',
  'excluded',
  'created_at',
  'client_id',
] as const
const messageColumns = [...qualified('messages', ownColumns), 'runs.id as run_id'] as const

/** The messages of a conversation that were on its current branch when its head was read, or those of one run. */
export interface MessageList {
  readonly conversationId: string
  readonly of: Pick<ConversationHead, 'offBranch' | 'lastHold'> | Pick<Run, 'id' | 'firstPosition' | 'nextPosition'>
  /** A filter that is omitted filters nothing; an empty list matches nothing. */
  readonly types?: readonly MessageType[] | null | undefined
}

export async function findMessages(db: Db, reach: Reach, ids: readonly string[]): Promise<MessageOutline[]> {
  const rows = await messagesOfTenant(db, reach)
    .where(sql<boolean>`messages.id = any(${ids}::uuid[])`)
    .select(messageColumns)
    .execute()
  return rows.map(toMessageOutline)
}

/** By message. Messages that are deleted are missing. */
export async function findMessageTypes(db: Db, ids: readonly string[]): Promise<Map<string, MessageType>> {
  const rows = await db
    .selectFrom('messages')
    .where(sql<boolean>`id = any(${ids}::uuid[])`)
    .select(['id', 'type'])
    .execute()
  return new Map(rows.map(({ id, type }) => [id, type]))
}

/** The content of a message, without the parts that only its provider can read. */
export type ShownContent<Type extends MessageType = MessageType> = Omit<MessageContents[Type], 'provider'>

/** By message. */
export async function findMessageContents(
  db: Db,
  reach: Reach,
  ids: readonly string[],
): Promise<Map<string, ShownContent>> {
  const rows = await messagesOfTenant(db, reach)
    .where(sql<boolean>`messages.id = any(${ids}::uuid[])`)
    .select(['messages.id', sql<ShownContent>`messages.content - 'provider'`.as('content')])
    .execute()
  return new Map(rows.map((row) => [row.id, row.content]))
}

/** Oldest first, by position. */
export function listMessagesPage(
  db: Db,
  reach: Reach,
  list: MessageList,
  page: PageArguments,
): Promise<Page<MessageOutline>> {
  return readPage(db, listedMessages(db, reach, list).select(messageColumns), page, {
    key: 'messages.position',
    kind: 'integer',
    order: 'oldest first',
    keyOf: (row) => row.position,
    toNode: toMessageOutline,
  })
}

function listedMessages(db: Db, reach: Reach, list: MessageList) {
  let query = messagesOfTenant(db, reach).where('messages.conversation_id', '=', list.conversationId)
  const { of } = list
  if ('offBranch' in of) query = query.where(wasOnBranch(of))
  else {
    // The range is there for the index. A retried run may have messages of other branches between its own. Its place
    // may have changed since the run was read.
    query = query
      .where('runs.id', '=', of.id)
      .where('messages.position', '>=', of.firstPosition ?? 0)
      .where('messages.position', '<', of.nextPosition ?? 0)
  }
  if (list.types) query = query.where(sql<boolean>`messages.type = any(${list.types}::text[])`)
  return query
}

export async function listMessagesOfSteps(db: Db, reach: Reach, keys: readonly StepKey[]): Promise<MessageOutline[]> {
  const rows = await db
    .selectFrom('runs')
    .innerJoin('messages', (join) =>
      join.onRef('messages.conversation_id', '=', 'runs.conversation_id').onRef('messages.run_hold', '=', 'runs.hold'),
    )
    .where(ofTenant('runs', reach))
    .where(sql<boolean>`runs.id = any(${keys.map((key) => key.runId)}::uuid[])`)
    .where(isOneOfSteps('runs.id', 'messages.step_index', keys))
    // Without the range, finding a run's messages would read its whole conversation.
    .whereRef('messages.position', '>=', 'runs.first_position')
    .whereRef('messages.position', '<', 'runs.next_position')
    .orderBy('messages.conversation_id')
    .orderBy('messages.position')
    .select(messageColumns)
    .execute()
  return rows.map(toMessageOutline)
}

/** The text of the last assistant message of each run that has one. */
export async function findAnswers(db: Db, reach: Reach, runIds: readonly string[]): Promise<Map<string, string>> {
  const { rows } = await executePrepared(
    db,
    sql<{ run_id: string; answer: string }>`
    select runs.id as run_id, latest.content ->> 'text' as answer
    from runs cross join lateral (
      select content from messages
      where messages.conversation_id = runs.conversation_id and run_hold = runs.hold and type = 'ASSISTANT'
        and position >= runs.first_position and position < runs.next_position
      order by position desc limit 1
    ) latest
    where ${ofTenant('runs', reach)} and runs.id = any(${runIds}::uuid[])`,
  )
  return new Map(rows.map((row) => [row.run_id, row.answer]))
}

/**
 * A message belongs to a tenant through the run that added it. The limit keeps the planner from starting with the runs:
 * until the tables are analyzed for the first time it expects few rows, and would read a whole conversation once per
 * run.
 */
function messagesOfTenant(db: Db, reach: Reach) {
  return db
    .selectFrom('messages')
    .innerJoinLateral(
      (from) =>
        from
          .selectFrom('runs')
          .whereRef('runs.conversation_id', '=', 'messages.conversation_id')
          .whereRef('runs.hold', '=', 'messages.run_hold')
          .select(['runs.id', 'runs.tenant_id', 'runs.agent_id', 'runs.conversation_id', 'runs.hold', 'runs.resumed'])
          .limit(1)
          .as('runs'),
      (join) => join.onTrue(),
    )
    .where(ofTenant('runs', reach))
}
