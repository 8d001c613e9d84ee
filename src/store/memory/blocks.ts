import { sql } from 'kysely'

import type { Agent } from '../../domain/agents/agent.ts'
import type { Block } from '../../domain/memory/block.ts'
import type { Reach } from '../../domain/access/viewer.ts'
import { storableText } from '../../util/json.ts'
import { toAgent } from '../agents/agents.ts'
import { fromColumns, toColumns } from '../database/columns.ts'
import { plainListLimit, readPage, type Page, type PageArguments } from '../database/page.ts'
import type { Db, Row } from '../database/schema.ts'
import { byId, finderOf, lockerOf } from '../access/tenant-rows.ts'
import { ofTenant } from '../access/tenant-scope.ts'

export interface BlockFilter {
  readonly label?: string | null | undefined
}

export function toBlock(row: Row<'blocks'>): Block {
  return fromColumns(row)
}

export const findBlocks = finderOf('blocks', toBlock)

function filteredBlocks(db: Db, reach: Reach, filter: BlockFilter) {
  let query = db.selectFrom('blocks').where(ofTenant('blocks', reach)).where('blocks.conversation_id', 'is', null)
  if (typeof filter.label === 'string') query = query.where('label', '=', storableText(filter.label))
  return query
}

export function listBlocksPage(db: Db, reach: Reach, filter: BlockFilter, page: PageArguments): Promise<Page<Block>> {
  return readPage(db, filteredBlocks(db, reach, filter).selectAll('blocks'), page, byId('blocks', toBlock))
}

/** Ordered by when they were attached. */
export async function listBlocksOfAgents(
  db: Db,
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
  return rows.map(({ agent_id: agentId, ...block }) => ({ agentId, block: toBlock(block) }))
}

/**
 * The blocks in the system prompt of these conversations, in order: the agent's blocks, each isolated one replaced by
 * the conversation's own copy. `agentId` names an agent other than the conversation's own that works for the
 * conversation.
 */
export async function listBlocksOfConversations(
  db: Db,
  reach: Reach,
  conversationIds: readonly string[],
  { agentId = null }: { readonly agentId?: string | null } = {},
): Promise<{ conversationId: string; block: Block }[]> {
  const { rows } = await sql<Row<'blocks'> & { shown_in: string }>`
    select blocks.*, conversations.id as shown_in
    from conversations
      join agent_blocks on agent_blocks.agent_id = coalesce(${agentId}::uuid, conversations.agent_id)
      join blocks original on original.id = agent_blocks.block_id
      left join blocks copy on copy.conversation_id = conversations.id and copy.label = original.label
      join blocks on blocks.id = coalesce(copy.id, original.id)
    where conversations.id = any(${conversationIds}::uuid[]) and ${ofTenant('blocks', reach)}
    order by agent_blocks.ordinal`.execute(db)
  return rows.map(({ shown_in: conversationId, ...block }) => ({ conversationId, block: toBlock(block) }))
}

/** A copy follows its block to the new label. */
export async function renameCopies(
  trx: Db,
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

/** The ids of the agents that have the block. */
export async function listAgentIdsOfBlock(db: Db, blockId: string): Promise<string[]> {
  const rows = await db.selectFrom('agent_blocks').select('agent_id').where('block_id', '=', blockId).execute()
  return rows.map((row) => row.agent_id)
}

/** The agents of each block, oldest first, as many as one answer holds. */
export async function listSomeAgentsOfBlocks(
  db: Db,
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
  return rows.map(({ block_id: blockId, ...agent }) => ({ blockId, agent: toAgent(agent) }))
}

/** Locks their labels and values. */
export const lockBlocks = lockerOf('blocks', toBlock, 'for no key update')

const settable = ['label', 'value', 'description', 'charLimit', 'version', 'readOnly', 'updatedAt'] as const

export async function insertBlocks(trx: Db, blocks: readonly Block[]): Promise<void> {
  if (blocks.length === 0) return
  await trx
    .insertInto('blocks')
    .values(blocks.map((block) => toColumns(block, [...settable, 'id', 'tenantId', 'conversationId', 'createdAt'])))
    .execute()
}

/** Writes the block's new values. The caller has locked its row. */
export async function setBlock(trx: Db, block: Block): Promise<void> {
  await trx
    .updateTable('blocks')
    .set(toColumns(block, settable))
    .where(ofTenant('blocks', block))
    .where('id', '=', block.id)
    .execute()
}

/** Deletes the block and returns it. Undefined if the tenant has no such block. */
export async function deleteBlock(db: Db, reach: Reach, id: string): Promise<Block | undefined> {
  const row = await db
    .deleteFrom('blocks')
    .where(ofTenant('blocks', reach))
    .where('id', '=', id)
    .returningAll()
    .executeTakeFirst()
  return row && toBlock(row)
}

/** Blocks with this label that only this agent has. */
export async function deleteOwnBlocks(trx: Db, agentId: string, label: string): Promise<void> {
  await trx
    .deleteFrom('blocks')
    .where('label', '=', label)
    .where('id', 'in', (eb) => eb.selectFrom('agent_blocks').select('block_id').where('agent_id', '=', agentId))
    .where('id', 'not in', (eb) => eb.selectFrom('agent_blocks').select('block_id').where('agent_id', '<>', agentId))
    .execute()
}

/** Attaches blocks in the given order. The caller has checked that they and the agent belong to the tenant. */
export async function insertAgentBlocks(trx: Db, agentId: string, blockIds: readonly string[]): Promise<void> {
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
  trx: Db,
  agentId: string,
  which: { readonly blockId?: string } = {},
): Promise<boolean> {
  let query = trx.deleteFrom('agent_blocks').where('agent_id', '=', agentId)
  if (which.blockId !== undefined) query = query.where('block_id', '=', which.blockId)
  const { numDeletedRows } = await query.executeTakeFirst()
  return numDeletedRows > 0n
}
