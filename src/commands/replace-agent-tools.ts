import type { Transaction } from 'kysely'

import type { Agent } from '../domain/agent.ts'
import { deleteAgentTools, insertAgentTools, listToolsOfAgents } from '../store/agents/agent-tools.ts'
import type { Database } from '../store/database/schema.ts'
import type { CommandContext } from './command-context.ts'

/** Sets the agent's tools, in this order. A tool that stays attached keeps the id of its attachment. */
export async function replaceAgentTools(
  { ids }: Pick<CommandContext, 'ids'>,
  trx: Transaction<Database>,
  agent: Agent,
  tools: readonly { readonly toolId: string; readonly approvalOverride: boolean | null }[],
): Promise<void> {
  const before = await listToolsOfAgents(trx, agent, [agent.id])
  const idsBefore = new Map(before.map((agentTool) => [agentTool.tool.id, agentTool.id]))
  await deleteAgentTools(trx, agent.id)
  const attached = tools.map((tool) => ({ ...tool, id: idsBefore.get(tool.toolId) ?? ids.next() }))
  await insertAgentTools(trx, agent.id, attached)
}
