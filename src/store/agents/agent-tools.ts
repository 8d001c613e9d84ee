import type { AgentTool } from '../../domain/tools/tool.ts'
import type { Reach } from '../../domain/access/viewer.ts'
import { toColumns } from '../database/columns.ts'
import type { Db } from '../database/schema.ts'
import { ofTenant } from '../access/tenant-scope.ts'
import { toTool } from '../tools/tools.ts'

function selectAgentTools(db: Db, reach: Reach) {
  return db
    .selectFrom('agent_tools')
    .innerJoin('tools', 'tools.id', 'agent_tools.tool_id')
    .innerJoin('agents', 'agents.id', 'agent_tools.agent_id')
    .selectAll('tools')
    .select(['agent_tools.id as agent_tool_id', 'agent_tools.agent_id', 'agent_tools.approval_override'])
    .where(ofTenant('agents', reach))
    .where(ofTenant('tools', reach))
    .orderBy('agent_tools.ordinal')
}

type AgentToolRow = Awaited<ReturnType<ReturnType<typeof selectAgentTools>['execute']>>[number]

function toAgentTool(row: AgentToolRow): AgentTool {
  const { agent_tool_id: id, agent_id: agentId, approval_override: approvalOverride, ...tool } = row
  return { id, agentId, tool: toTool(tool), approvalOverride }
}

export async function findAgentTools(db: Db, reach: Reach, ids: readonly string[]): Promise<AgentTool[]> {
  const rows = await selectAgentTools(db, reach).where('agent_tools.id', 'in', ids).execute()
  return rows.map(toAgentTool)
}

/** Ordered by when they were attached. */
export async function listToolsOfAgents(db: Db, reach: Reach, agentIds: readonly string[]): Promise<AgentTool[]> {
  if (agentIds.length === 0) return []
  const rows = await selectAgentTools(db, reach).where('agent_tools.agent_id', 'in', agentIds).execute()
  return rows.map(toAgentTool)
}

/** The agents that have the tool. */
export async function listAgentIdsOfTool(db: Db, toolId: string): Promise<string[]> {
  const rows = await db.selectFrom('agent_tools').select('agent_id').where('tool_id', '=', toolId).execute()
  return rows.map((row) => row.agent_id)
}

/** Attaches tools in the given order. The caller has checked that the agent and the tools belong to the tenant. */
export async function insertAgentTools(
  trx: Db,
  agentId: string,
  agentTools: readonly Omit<AgentTool, 'agentId'>[],
): Promise<void> {
  if (agentTools.length === 0) return
  const rows = agentTools.map(({ tool, ...one }) => {
    return { ...toColumns(one, ['id', 'approvalOverride']), tool_id: tool.id, agent_id: agentId }
  })
  await trx.insertInto('agent_tools').values(rows).execute()
}

export async function setApprovalOverride(
  trx: Db,
  agentToolId: string,
  approvalOverride: boolean | null,
): Promise<void> {
  await trx
    .updateTable('agent_tools')
    .set({ approval_override: approvalOverride })
    .where('id', '=', agentToolId)
    .execute()
}

/** Detaches one tool, or all of them. The caller has checked that the agent belongs to the tenant. */
export async function deleteAgentTools(
  trx: Db,
  agentId: string,
  which: { readonly toolId?: string } = {},
): Promise<void> {
  let query = trx.deleteFrom('agent_tools').where('agent_id', '=', agentId)
  if (which.toolId !== undefined) query = query.where('tool_id', '=', which.toolId)
  await query.execute()
}
