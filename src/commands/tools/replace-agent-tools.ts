import type { Agent } from '../../domain/agents/agent.ts'
import { deleteAgentTools, insertAgentTools, listToolsOfAgents } from '../../store/agents/agent-tools.ts'
import type { Trx } from '../../store/database/schema.ts'
import type { CommandContext } from '../command-context.ts'
import { refuseWaitingTools } from '../../domain/memory/sleeptime-agent.ts'
import { isSleeptimeAgent } from '../../store/memory/sleeptime-groups.ts'

/** Sets the agent's tools, in this order. A tool that stays attached keeps the id of its attachment. */
export async function replaceAgentTools(
  { ids }: Pick<CommandContext, 'ids'>,
  trx: Trx,
  agent: Agent,
  tools: readonly { readonly toolId: string; readonly approvalOverride: boolean | null }[],
): Promise<void> {
  const before = await listToolsOfAgents(trx, agent, [agent.id])
  const idsBefore = new Map(before.map((agentTool) => [agentTool.tool.id, agentTool.id]))
  await deleteAgentTools(trx, agent.id)
  const attached = tools.map((tool) => ({ ...tool, id: idsBefore.get(tool.toolId) ?? ids.next() }))
  await insertAgentTools(trx, agent.id, attached)
}

/**
 * Called after an agent's tools or rules changed, with its row locked: an agent that works in the background must not
 * have a tool that waits.
 */
export async function checkSleeptimeTools(trx: Trx, field: string, agent: Agent): Promise<void> {
  if (!(await isSleeptimeAgent(trx, agent.id))) return
  refuseWaitingTools(field, agent, await listToolsOfAgents(trx, agent, [agent.id]))
}
