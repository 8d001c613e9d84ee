import { sql, type Kysely, type Selectable } from 'kysely'

import type { Agent } from '../domain/agent.ts'
import type { Block } from '../domain/memory/block.ts'
import type { Reach } from '../domain/access/viewer.ts'
import { storableText } from '../util/json.ts'
import { toAgent } from './agents.ts'
import { countRows, plainListLimit, readPage, type Page, type PageArguments } from './database/page.ts'
import type { Database } from './database/schema.ts'
import { ofTenant } from './access/tenant-scope.ts'

export interface BlockFilter {
  readonly label?: string | null | undefined
}

export function toBlock(row: Selectable<Database['blocks']>): Block {
  return {
    id: row.id,
    tenantId: row.tenant_id,
    label: row.label,
    value: row.value,
    description: row.description,
    charLimit: row.char_limit,
    version: row.version,
    readOnly: row.read_only,
    conversationId: row.conversation_id,
    createdAt: row.created_at,
    updatedAt: row.updated_at,
  }
}

export async function listBlocks(db: Kysely<Database>, reach: Reach, ids: readonly string[]): Promise<Block[]> {
  const rows = await db
    .selectFrom('blocks')
    .selectAll()
    .where(ofTenant('blocks', reach))
    .where('id', 'in', ids)
    .execute()
  return rows.map(toBlock)
}

export function countBlocks(db: Kysely<Database>, reach: Reach, filter: BlockFilter): Promise<number> {
  return countRows(db, filteredBlocks(db, reach, filter).select('blocks.id'))
}

function filteredBlocks(db: Kysely<Database>, reach: Reach, filter: BlockFilter) {
  let query = db.selectFrom('blocks').where(ofTenant('blocks', reach)).where('blocks.conversation_id', 'is', null)
  if (typeof filter.label === 'string') query = query.where('label', '=', storableText(filter.label))
  return query
}

export function listBlocksPage(
  db: Kysely<Database>,
  reach: Reach,
  filter: BlockFilter,
  page: PageArguments,
): Promise<Page<Block>> {
  return readPage(filteredBlocks(db, reach, filter).selectAll('blocks'), page, {
    key: 'blocks.id',
    kind: 'uuid',
    order: 'oldest first',
    keyOf: (row) => row.id,
    toNode: toBlock,
  })
}

/** Ordered by when they were attached. */
export async function listBlocksOfAgents(
  db: Kysely<Database>,
  reach: Reach,
  agentIds: readonly string[],
): Promise<{ agentId: string; block: Block }[]> {
  if (agentIds.length === 0) return []
  const rows = await db
    .selectFrom('agent_blocks')
    .innerJoin('blocks', 'blocks.id', 'agent_blocks.block_id')
    .selectAll('blocks')
    .select('agent_blocks.agent_id')
    .where(ofTenant('blocks', reach))
    .where('agent_blocks.agent_id', 'in', agentIds)
    .orderBy('agent_blocks.ordinal')
    .execute()
  return rows.map((row) => ({ agentId: row.agent_id, block: toBlock(row) }))
}

/**
 * The blocks in the system prompt of these conversations, in order: the agent's blocks, each isolated one replaced by
 * the conversation's own copy. `agentId` names an agent other than the conversation's own that works for the
 * conversation.
 */
export async function listBlocksOfConversations(
  db: Kysely<Database>,
  reach: Reach,
  conversationIds: readonly string[],
  { agentId = null }: { readonly agentId?: string | null } = {},
): Promise<{ conversationId: string; block: Block }[]> {
  const { rows } = await sql<Selectable<Database['blocks']> & { shown_in: string }>`
    select blocks.*, conversations.id as shown_in
    from conversations
      join agent_blocks on agent_blocks.agent_id = coalesce(${agentId}::uuid, conversations.agent_id)
      join blocks original on original.id = agent_blocks.block_id
      left join blocks copy on copy.conversation_id = conversations.id and copy.label = original.label
      join blocks on blocks.id = coalesce(copy.id, original.id)
    where conversations.id = any(${conversationIds}::uuid[]) and ${ofTenant('blocks', reach)}
    order by agent_blocks.ordinal`.execute(db)
  return rows.map((row) => ({ conversationId: row.shown_in, block: toBlock(row) }))
}

/** A copy follows its block to the new label. */
export async function renameCopies(
  trx: Kysely<Database>,
  agentIds: readonly string[],
  { from, to }: { readonly from: string; readonly to: string },
): Promise<void> {
  await sql`
    update blocks copy set label = ${to} from conversations
    where conversations.id = copy.conversation_id and conversations.agent_id = any(${agentIds}::uuid[])
      and copy.label = ${from}
      -- A copy of a block that the agent no longer has.
      and not exists (select from blocks left_over
        where left_over.conversation_id = copy.conversation_id and left_over.label = ${to})`.execute(trx)
}

/** Ordered by when the agents were created. */
export async function listAgentsOfBlocks(
  db: Kysely<Database>,
  reach: Reach,
  blockIds: readonly string[],
): Promise<{ blockId: string; agent: Agent }[]> {
  const rows = await db
    .selectFrom('agent_blocks')
    .innerJoin('agents', 'agents.id', 'agent_blocks.agent_id')
    .selectAll('agents')
    .select('agent_blocks.block_id')
    .where(ofTenant('agents', reach))
    .where('agent_blocks.block_id', 'in', blockIds)
    .orderBy('agents.id')
    .execute()
  return rows.map((row) => ({ blockId: row.block_id, agent: toAgent(row) }))
}

/** Like `listAgentsOfBlocks`, but for each block only the oldest agents, as many as one answer holds. */
export async function listSomeAgentsOfBlocks(
  db: Kysely<Database>,
  reach: Reach,
  blockIds: readonly string[],
): Promise<{ blockId: string; agent: Agent }[]> {
  const rows = await db
    .selectFrom('agents')
    .innerJoin(
      sql<{ agent_id: string; block_id: string }>`(
        select oldest.agent_id, block.id as block_id
        from unnest(${blockIds}::uuid[]) block(id) cross join lateral (
          select agent_id from agent_blocks join agents on agents.id = agent_id
          where block_id = block.id and ${ofTenant('agents', reach)}
          order by agent_id limit ${plainListLimit}
        ) oldest
      )`.as('attached'),
      'attached.agent_id',
      'agents.id',
    )
    .selectAll('agents')
    .select('attached.block_id')
    .orderBy('agents.id')
    .execute()
  return rows.map((row) => ({ blockId: row.block_id, agent: toAgent(row) }))
}

/** Locks their labels and values, in the order of their ids. */
export async function lockBlocks(trx: Kysely<Database>, reach: Reach, ids: readonly string[]): Promise<Block[]> {
  if (ids.length === 0) return []
  const rows = await trx
    .selectFrom('blocks')
    .selectAll()
    .where(ofTenant('blocks', reach))
    .where('id', 'in', ids)
    .orderBy('id')
    .forNoKeyUpdate()
    .execute()
  return rows.map(toBlock)
}

export async function insertBlocks(trx: Kysely<Database>, blocks: readonly Block[]): Promise<void> {
  if (blocks.length === 0) return
  await trx
    .insertInto('blocks')
    .values(
      blocks.map((block) => ({
        id: block.id,
        tenant_id: block.tenantId,
        label: block.label,
        value: block.value,
        description: block.description,
        char_limit: block.charLimit,
        version: block.version,
        read_only: block.readOnly,
        conversation_id: block.conversationId,
        created_at: block.createdAt,
        updated_at: block.updatedAt,
      })),
    )
    .execute()
}

/** Writes the block's new values. The caller has locked its row. */
export async function setBlock(trx: Kysely<Database>, block: Block): Promise<void> {
  await trx
    .updateTable('blocks')
    .set({
      label: block.label,
      value: block.value,
      description: block.description,
      char_limit: block.charLimit,
      version: block.version,
      read_only: block.readOnly,
      updated_at: block.updatedAt,
    })
    .where(ofTenant('blocks', block))
    .where('id', '=', block.id)
    .execute()
}

/** Deletes the block and returns it. Undefined if the tenant has no such block. */
export async function deleteBlock(db: Kysely<Database>, reach: Reach, id: string): Promise<Block | undefined> {
  const row = await db
    .deleteFrom('blocks')
    .where(ofTenant('blocks', reach))
    .where('id', '=', id)
    .returningAll()
    .executeTakeFirst()
  return row && toBlock(row)
}

/** Blocks with this label that only this agent has. */
export async function deleteOwnBlocks(trx: Kysely<Database>, agentId: string, label: string): Promise<void> {
  await trx
    .deleteFrom('blocks')
    .where('label', '=', label)
    .where('id', 'in', (eb) => eb.selectFrom('agent_blocks').select('block_id').where('agent_id', '=', agentId))
    .where('id', 'not in', (eb) => eb.selectFrom('agent_blocks').select('block_id').where('agent_id', '<>', agentId))
    .execute()
}

/** Attaches blocks in the given order. The caller has checked that they and the agent belong to the tenant. */
export async function insertAgentBlocks(
  trx: Kysely<Database>,
  agentId: string,
  blockIds: readonly string[],
): Promise<void> {
  if (blockIds.length === 0) return
  await trx
    .insertInto('agent_blocks')
    .values(blockIds.map((blockId) => ({ agent_id: agentId, block_id: blockId })))
    .execute()
}

/**
 * Detaches one block, or all of them. Returns whether there were any. The caller has checked that the agent belongs to
 * the tenant.
 */
export async function deleteAgentBlocks(
  trx: Kysely<Database>,
  agentId: string,
  which: { readonly blockId?: string } = {},
): Promise<boolean> {
  let query = trx.deleteFrom('agent_blocks').where('agent_id', '=', agentId)
  if (which.blockId !== undefined) query = query.where('block_id', '=', which.blockId)
  const { numDeletedRows } = await query.executeTakeFirst()
  return numDeletedRows > 0n
}
