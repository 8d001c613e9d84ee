import { sql, type Kysely, type RawBuilder, type Selectable } from 'kysely'

import type { Conversation } from '../../domain/conversations/conversation.ts'
import type { Reach } from '../../domain/access/viewer.ts'
import { deleteFilesOfConversation } from '../files/files.ts'
import type { Database } from '../database/schema.ts'
import { ofTenant } from '../access/tenant-scope.ts'

export function toConversation(row: Selectable<Database['conversations']>): Conversation {
  return {
    id: row.id,
    tenantId: row.tenant_id,
    agentId: row.agent_id,
    isMain: row.is_main,
    title: row.title,
    metadata: row.metadata,
    createdAt: row.created_at,
    updatedAt: row.updated_at,
    archivedAt: row.archived_at,
    nextRunNumber: row.next_run_number,
    nextPosition: row.next_position,
    contextFrom: row.context_from,
    summaryPosition: row.summary_position,
    activeRunId: row.active_run_id,
    forConversation: row.for_conversation,
  }
}

export async function listConversations(
  db: Kysely<Database>,
  reach: Reach,
  ids: readonly string[],
): Promise<Conversation[]> {
  const rows = await db
    .selectFrom('conversations')
    .selectAll()
    .where(ofTenant('conversations', reach))
    .where('id', 'in', ids)
    .execute()
  return rows.map(toConversation)
}

export async function listMainConversations(
  db: Kysely<Database>,
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
  trx: Kysely<Database>,
  conversation: Pick<Conversation, 'id' | 'tenantId' | 'agentId' | 'isMain' | 'title' | 'metadata' | 'createdAt'>,
): Promise<Conversation> {
  const row = await trx
    .insertInto('conversations')
    .values({
      id: conversation.id,
      tenant_id: conversation.tenantId,
      agent_id: conversation.agentId,
      is_main: conversation.isMain,
      title: conversation.title,
      metadata: JSON.stringify(conversation.metadata),
      created_at: conversation.createdAt,
      updated_at: conversation.createdAt,
    })
    .returningAll()
    .executeTakeFirstOrThrow()
  return toConversation(row)
}

/** Undefined values are left unchanged. Returns undefined if the tenant has no such conversation. */
export async function setConversation(
  db: Kysely<Database>,
  reach: Reach,
  id: string,
  changes: {
    readonly title: string | null | undefined
    readonly metadata: Conversation['metadata'] | undefined
    readonly updatedAt: Date
  },
): Promise<Conversation | undefined> {
  const row = await db
    .updateTable('conversations')
    .set({
      ...(changes.title !== undefined && { title: changes.title }),
      ...(changes.metadata !== undefined && { metadata: JSON.stringify(changes.metadata) }),
      updated_at: changes.updatedAt,
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
  db: Kysely<Database>,
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
export async function clearConversation(trx: Kysely<Database>, id: string, now: Date): Promise<void> {
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

/** Keeps a conversation from being deleted until the transaction ends. It allows every other change. */
export async function lockConversationKey(
  trx: Kysely<Database>,
  reach: Reach,
  id: string,
): Promise<{ readonly id: string } | undefined> {
  return trx
    .selectFrom('conversations')
    .select('id')
    .where(ofTenant('conversations', reach))
    .where('id', '=', id)
    .forKeyShare()
    .executeTakeFirst()
}

/** Keeps a conversation from being changed, cleared or deleted until the transaction ends. False if it is deleted. */
export async function lockConversationToCopy(trx: Kysely<Database>, id: string): Promise<boolean> {
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
  trx: Kysely<Database>,
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
