import { checkToolCount, type AgentToolInput } from '../domain/agent-parts.ts'
import type { Agent } from '../domain/agent.ts'
import type { Viewer } from '../domain/access/viewer.ts'
import { insertAgentTools, listToolsOfAgents, setApprovalOverride } from '../store/agents/agent-tools.ts'
import { lockAgent, setAgent } from '../store/agents.ts'
import { lockToolsToAttach } from '../store/tools.ts'
import { transact } from '../store/transact.ts'
import { checkSleeptimeTools } from './check-sleeptime-tools.ts'
import type { CommandContext } from './command-context.ts'
import { allFound, found } from './found.ts'
import { recordChange, shownAgentTools, shownTools } from './record-change.ts'

export interface AttachToolInput extends AgentToolInput {
  readonly agentId: string
}

/** A tool that is already attached keeps its place, and gets the approval setting if one is given. */
export async function attachTool(context: CommandContext, viewer: Viewer, input: AttachToolInput): Promise<Agent> {
  return transact(context, async (trx) => {
    allFound('Tool', [input.toolId], await lockToolsToAttach(trx, viewer, [input.toolId]))
    const stored = found('Agent', input.agentId, await lockAgent(trx, viewer, input.agentId))
    const agentTools = await listToolsOfAgents(trx, viewer, [stored.id])
    const attached = agentTools.find((agentTool) => agentTool.tool.id === input.toolId)
    if (attached) {
      if (input.approvalOverride !== undefined) await setApprovalOverride(trx, attached.id, input.approvalOverride)
    } else {
      checkToolCount('input.toolId', agentTools.length + 1)
      await insertAgentTools(trx, stored.id, [
        { id: context.ids.next(), toolId: input.toolId, approvalOverride: input.approvalOverride ?? null },
      ])
    }
    await checkSleeptimeTools(trx, 'input.toolId', stored)
    const override = input.approvalOverride === undefined ? attached?.approvalOverride : input.approvalOverride
    await recordChange(context, trx, viewer, {
      action: 'attachTool',
      subject: ['Agent', stored.id],
      before: attached ? { tools: shownAgentTools([attached]) } : null,
      after: { tools: shownTools([{ toolId: input.toolId, approvalOverride: override ?? null }]) },
    })
    const agent = { ...stored, updatedAt: context.clock.now() }
    await setAgent(trx, agent)
    return agent
  })
}
