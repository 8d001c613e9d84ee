import type { Agent } from '../domain/agent.ts'
import type { Viewer } from '../domain/access/viewer.ts'
import { listToolsOfAgents, setApprovalOverride } from '../store/agents/agent-tools.ts'
import { lockAgent, setAgent } from '../store/agents.ts'
import { transact } from '../store/transact.ts'
import { checkSleeptimeTools } from './check-sleeptime-tools.ts'
import type { CommandContext } from './command-context.ts'
import { found } from './found.ts'
import { recordChange, shownAgentTools, shownTools } from './record-change.ts'

export interface SetToolApprovalInput {
  readonly agentId: string
  readonly toolId: string
  /** Null removes the agent's own setting. */
  readonly requiresApproval: boolean | null
}

export async function setToolApproval(
  context: CommandContext,
  viewer: Viewer,
  input: SetToolApprovalInput,
): Promise<Agent> {
  return transact(context, async (trx) => {
    const stored = found('Agent', input.agentId, await lockAgent(trx, viewer, input.agentId))
    const agentTools = await listToolsOfAgents(trx, viewer, [stored.id])
    const attached = agentTools.find((agentTool) => agentTool.tool.id === input.toolId)
    await setApprovalOverride(trx, found('Tool', input.toolId, attached).id, input.requiresApproval)
    await checkSleeptimeTools(trx, 'input.requiresApproval', stored)
    await recordChange(context, trx, viewer, {
      action: 'setToolApproval',
      subject: ['Agent', stored.id],
      before: { tools: shownAgentTools([attached!]) },
      after: { tools: shownTools([{ toolId: input.toolId, approvalOverride: input.requiresApproval }]) },
    })
    const agent = { ...stored, updatedAt: context.clock.now() }
    await setAgent(trx, agent)
    return agent
  })
}
