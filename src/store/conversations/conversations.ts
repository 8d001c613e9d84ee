import { sql, type RawBuilder } from 'kysely'

import type { Conversation } from '../../domain/conversations/conversation.ts'
import type { Reach } from '../../domain/access/viewer.ts'
import { deleteFilesOfConversation } from '../files/files.ts'
import { fromColumns, toColumns } from '../database/columns.ts'
import type { Db, Row } from '../database/schema.ts'
import { countEndedRuns } from '../usage/count-runs.ts'
import { finderOf, sharerOf } from '../access/tenant-rows.ts'
import { ofTenant } from '../access/tenant-scope.ts'

export function toConversation(row: Row<'conversations'>): Conversation {
  return fromColumns(row, ['deleted_at', 'next_hold', 'off_branch', 'context_version'])
}

export const findConversations = finderOf('conversations', toConversation)

export async function listMainConversations(
  db: Db,
  reach: Reach,
  agentIds: readonly string[],
): Promise<Conversation[]> {
  const rows = await db
    .selectFrom('conversations')
    .selectAll()
    .where(ofTenant('conversations', reach))
    .where('agent_id', 'in', agentIds)
    .where('is_main', '=', true)
    .execute()
  return rows.map(toConversation)
}

/** A new conversation, without runs or messages. */
export async function insertConversation(
  trx: Db,
  conversation: Pick<Conversation, 'id' | 'tenantId' | 'agentId' | 'isMain' | 'title' | 'metadata' | 'createdAt'>,
): Promise<Conversation> {
  const row = await trx
    .insertInto('conversations')
    .values({
      ...toColumns(conversation, ['id', 'tenantId', 'agentId', 'isMain', 'title', 'createdAt'], ['metadata']),
      updated_at: conversation.createdAt,
    })
    .returningAll()
    .executeTakeFirstOrThrow()
  return toConversation(row)
}

/**
 * Undefined values are left unchanged, and so is the time if nothing changes. Returns undefined if the tenant has no
 * such conversation.
 */
export async function setConversation(
  db: Db,
  reach: Reach,
  id: string,
  changes: {
    readonly title: string | null | undefined
    readonly metadata: Conversation['metadata'] | undefined
    readonly now: Date
  },
): Promise<Conversation | undefined> {
  const title = changes.title === undefined ? sql.ref('title') : sql`${changes.title}::text`
  const metadata =
    changes.metadata === undefined ? sql.ref('metadata') : sql`${JSON.stringify(changes.metadata)}::jsonb`
  const row = await db
    .updateTable('conversations')
    .set({
      title: sql<string | null>`${title}`,
      metadata: sql<string>`${metadata}`,
      updated_at: sql<Date>`case when (title, metadata) is distinct from (${title}, ${metadata}) then ${changes.now} else updated_at end`,
    })
    .where(ofTenant('conversations', reach))
    .where('id', '=', id)
    .returningAll()
    .executeTakeFirst()
  return row && toConversation(row)
}

/**
 * Archives the conversation or restores it. If that is already so, its times stay the same. Returns undefined if the
 * tenant has no such conversation.
 */
export async function setArchived(
  db: Db,
  reach: Reach,
  id: string,
  { archived, now }: { readonly archived: boolean; readonly now: Date },
): Promise<Conversation | undefined> {
  const row = await db
    .updateTable('conversations')
    .set({
      archived_at: archived ? (eb) => eb.fn.coalesce('archived_at', eb.val(now)) : null,
      updated_at: sql<Date>`case when (archived_at is not null) = ${archived} then updated_at else ${now} end`,
    })
    .where(ofTenant('conversations', reach))
    .where('id', '=', id)
    .returningAll()
    .executeTakeFirst()
  return row && toConversation(row)
}

/**
 * Deletes the runs, messages and files of a conversation that the caller has locked. Numbers and positions continue
 * from where they were, so that nothing new is mistaken for something deleted.
 */
export async function clearConversation(trx: Db, id: string, now: Date): Promise<void> {
  await countEndedRuns(trx)
  await trx.deleteFrom('messages').where('conversation_id', '=', id).execute()
  await trx.deleteFrom('runs').where('conversation_id', '=', id).execute()
  await deleteFilesOfConversation(trx, id)
  await trx
    .updateTable('conversations')
    .set((eb) => ({
      context_from: eb.ref('next_position'),
      summary_position: null,
      off_branch: '{}',
      // A `hold` that no run has tells readers that the branch they know is no longer current.
      next_hold: eb('next_hold', '+', 1),
      context_version: eb('context_version', '+', 1),
      updated_at: now,
    }))
    .where('id', '=', id)
    .execute()
}

/** Keeps a conversation from being deleted. It allows every other change. */
export const shareConversation = sharerOf('conversations')

/** Keeps a conversation from being changed, cleared or deleted until the transaction ends. False if it is deleted. */
export async function lockConversationToCopy(trx: Db, id: string): Promise<boolean> {
  const rows = await trx
    .selectFrom('conversations')
    .select('id')
    .where('id', '=', id)
    .where('deleted_at', 'is', null)
    .forShare()
    .execute()
  return rows.length > 0
}

/**
 * Locks conversations and then their unfinished runs before they are deleted, in the usual order. A worker that stores
 * files has locked its run and then needs the conversation for the foreign key. This lock lets it have that, and waits
 * for the worker at the run. A plain delete would lock the conversation, wait for the run, and deadlock.
 */
export async function lockConversationsToDelete(
  trx: Db,
  reach: Reach,
  which: { readonly agentId: string } | { readonly id: string },
): Promise<Conversation[]> {
  const query = trx.selectFrom('conversations').selectAll().where(ofTenant('conversations', reach))
  const rows = await (
    'id' in which
      ? // Includes the sleeptime agents' conversations for it, which are deleted with it.
        query.where((eb) => eb.or([eb('id', '=', which.id), eb('for_conversation', '=', which.id)]))
      : query.where('agent_id', '=', which.agentId)
  )
    .orderBy('id')
    .forNoKeyUpdate()
    .execute()
  const ids = rows.map((row) => row.id)
  await sql`select from runs where id in (${unfinishedRunsOf(ids)}) and not ended order by id for update`.execute(trx)
  return rows.map(toConversation)
}

/**
 * The ids of the runs that hold locked conversations or wait for them. Conversations may have many ended runs, which
 * are not read.
 */
export function unfinishedRunsOf(conversationIds: readonly string[]): RawBuilder<unknown> {
  return sql`
    select active_run_id from conversations where id = any(${conversationIds}::uuid[]) and active_run_id is not null
    union all
    select id from runs where conversation_id = any(${conversationIds}::uuid[]) and hold is null and not ended`
}
