import type { Agent } from '../domain/agent.ts'
import { checkToolsLeftToRules } from '../domain/tools/tool-rules-input.ts'
import type { Viewer } from '../domain/access/viewer.ts'
import { deleteAgentTools, listToolsOfAgents } from '../store/agents/agent-tools.ts'
import { lockAgent, setAgent } from '../store/agents.ts'
import { lockToolsToAttach } from '../store/tools.ts'
import { transact } from '../store/transact.ts'
import type { CommandContext } from './command-context.ts'
import { allFound, found } from './found.ts'
import { recordChange, shownAgentTools } from './record-change.ts'

/** Nothing changes if the agent does not have the tool. Refused if the agent's rules name it. */
export async function detachTool(
  context: CommandContext,
  viewer: Viewer,
  input: { readonly agentId: string; readonly toolId: string },
): Promise<Agent> {
  return transact(context, async (trx) => {
    allFound('Tool', [input.toolId], await lockToolsToAttach(trx, viewer, [input.toolId]))
    const stored = found('Agent', input.agentId, await lockAgent(trx, viewer, input.agentId))
    const agentTools = await listToolsOfAgents(trx, viewer, [stored.id])
    const left = agentTools.filter(({ tool }) => tool.id !== input.toolId)
    checkToolsLeftToRules(
      'input.toolId',
      stored.toolRules,
      left.map(({ tool }) => tool.name),
    )
    await deleteAgentTools(trx, stored.id, { toolId: input.toolId })
    const detached = agentTools.filter(({ tool }) => tool.id === input.toolId)
    if (detached.length > 0) {
      const change = { before: { tools: shownAgentTools(detached) }, after: null }
      await recordChange(context, trx, viewer, { action: 'detachTool', subject: ['Agent', stored.id], ...change })
    }
    const agent = { ...stored, updatedAt: context.clock.now() }
    await setAgent(trx, agent)
    return agent
  })
}
