import { sql } from 'kysely'

import type { SleeptimeGroup } from '../../domain/memory/sleeptime.ts'
import type { Reach } from '../../domain/access/viewer.ts'
import { fromColumns, toColumns } from '../database/columns.ts'
import type { Db } from '../database/schema.ts'
import { ofTenant } from '../access/tenant-scope.ts'

export async function findSleeptimeGroups(db: Db, reach: Reach, ids: readonly string[]): Promise<SleeptimeGroup[]> {
  const rows = await groupsOfTenant(db, reach)
    .where(sql<boolean>`sleeptime_groups.id = any(${ids}::uuid[])`)
    .execute()
  return rows.map(toSleeptimeGroup)
}

/** The groups of these foreground agents. */
export async function findSleeptimeGroupsOfAgents(
  db: Db,
  reach: Reach,
  agentIds: readonly string[],
): Promise<SleeptimeGroup[]> {
  const rows = await groupsOfTenant(db, reach)
    .where(sql<boolean>`sleeptime_groups.agent_id = any(${agentIds}::uuid[])`)
    .execute()
  return rows.map(toSleeptimeGroup)
}

/** Locks the group against every other change, including its count of turns. */
export async function lockSleeptimeGroup(trx: Db, reach: Reach, id: string): Promise<SleeptimeGroup | undefined> {
  const row = await groupsOfTenant(trx, reach).where('id', '=', id).forNoKeyUpdate().executeTakeFirst()
  return row && toSleeptimeGroup(row)
}

/** False if the agent already has a group. */
export async function insertSleeptimeGroup(
  trx: Db,
  group: Pick<SleeptimeGroup, 'id' | 'tenantId' | 'agentId' | 'frequency'> & { readonly createdAt: Date },
): Promise<boolean> {
  const { numInsertedOrUpdatedRows } = await trx
    .insertInto('sleeptime_groups')
    .values(toColumns(group, ['id', 'tenantId', 'agentId', 'frequency', 'createdAt']))
    .onConflict((conflict) => conflict.column('agent_id').doNothing())
    .executeTakeFirst()
  return numInsertedOrUpdatedRows === 1n
}

/** The caller has locked its row. */
export async function setFrequency(trx: Db, groupId: string, frequency: number): Promise<void> {
  await trx.updateTable('sleeptime_groups').set({ frequency }).where('id', '=', groupId).execute()
}

/** The caller has locked its row. */
export async function deleteSleeptimeGroup(trx: Db, groupId: string): Promise<void> {
  await trx.deleteFrom('sleeptime_groups').where('id', '=', groupId).execute()
}

/** Sets exactly these agents, in the given order. Agents that stay keep their `made_for_group` mark. */
export async function setGroupAgents(
  trx: Db,
  groupId: string,
  agents: readonly { readonly agentId: string; readonly madeForGroup: boolean }[],
): Promise<void> {
  await trx.deleteFrom('sleeptime_group_agents').where('group_id', '=', groupId).execute()
  await trx
    .insertInto('sleeptime_group_agents')
    .values(agents.map((agent) => ({ ...toColumns(agent, ['agentId', 'madeForGroup']), group_id: groupId })))
    .execute()
}

/** The agents that were made for these agents' groups, ordered by id. */
export async function listMadeAgentIds(trx: Db, agentIds: readonly string[]): Promise<string[]> {
  const rows = await trx
    .selectFrom('sleeptime_group_agents')
    .innerJoin('sleeptime_groups', 'sleeptime_groups.id', 'sleeptime_group_agents.group_id')
    .where('sleeptime_groups.agent_id', 'in', agentIds)
    .where('made_for_group', '=', true)
    .select('sleeptime_group_agents.agent_id')
    .orderBy('sleeptime_group_agents.agent_id')
    .execute()
  return rows.map((row) => row.agent_id)
}

/** Whether the agent works for another in the background. */
export async function isSleeptimeAgent(trx: Db, agentId: string): Promise<boolean> {
  const row = await trx
    .selectFrom('sleeptime_group_agents')
    .where('agent_id', '=', agentId)
    .select('group_id')
    .limit(1)
    .executeTakeFirst()
  return row !== undefined
}

/**
 * The message up to which all agents of a group have read the foreground agent's main conversation, by group. It is the
 * one that the slowest of them has reached. Missing if one of them has read nothing yet.
 */
export async function findLastProcessedMessageIds(
  db: Db,
  reach: Reach,
  groupIds: readonly string[],
): Promise<Map<string, string>> {
  const { rows } = await sql<{ group_id: string; message_id: string }>`
    select sleeptime_groups.id as group_id, messages.id as message_id
    from sleeptime_groups
      join conversations on conversations.agent_id = sleeptime_groups.agent_id and is_main
      cross join lateral (
        select min(coalesce(read_to, 0)) as read_to
        from sleeptime_group_agents left join sleeptime_progress
          on sleeptime_progress.agent_id = sleeptime_group_agents.agent_id
          and sleeptime_progress.conversation_id = conversations.id
        where sleeptime_group_agents.group_id = sleeptime_groups.id
      ) progress
      join messages on messages.conversation_id = conversations.id and messages.position = progress.read_to
    where ${ofTenant('sleeptime_groups', reach)} and sleeptime_groups.id = any(${groupIds}::uuid[])`.execute(db)
  return new Map(rows.map((row) => [row.group_id, row.message_id]))
}

function groupsOfTenant(db: Db, reach: Reach) {
  return db
    .selectFrom('sleeptime_groups')
    .where(ofTenant('sleeptime_groups', reach))
    .select(['id', 'tenant_id', 'agent_id', 'frequency', 'turns'])
    .select(
      sql<string[]>`array(
        select agent_id from sleeptime_group_agents where group_id = sleeptime_groups.id order by ordinal
      )`.as('sleeptime_agent_ids'),
    )
}

type GroupRow = Awaited<ReturnType<ReturnType<typeof groupsOfTenant>['execute']>>[number]

function toSleeptimeGroup(row: GroupRow): SleeptimeGroup {
  return fromColumns(row)
}
