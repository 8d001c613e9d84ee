import { badUserInput } from '../domain/errors.ts'
import { shown } from '../domain/input.ts'
import { toolsNamedBy } from '../domain/tools/tool-rules.ts'
import type { Viewer } from '../domain/access/viewer.ts'
import { listAgentIdsOfTool } from '../store/agents/agent-tools.ts'
import { lockAgents } from '../store/agents.ts'
import { deleteTool as deleteToolRow, lockTool } from '../store/tools.ts'
import { transact } from '../store/transact.ts'
import type { CommandContext } from './command-context.ts'
import { found } from './found.ts'
import { recordChange } from './record-change.ts'

/**
 * Detaches the tool from all agents. Refused while an agent's rules name it, because they would require a missing tool.
 */
export async function deleteTool(context: CommandContext, viewer: Viewer, input: { id: string }): Promise<void> {
  await transact(context, async (trx) => {
    const tool = found('Tool', input.id, await lockTool(trx, viewer, input.id))
    if (tool.kind === 'BUILTIN' && tool.isAvailable)
      throw badUserInput(
        'input.id',
        `${tool.name} is part of the server's code. Detach it from the agents that should not have it.`,
      )
    const agents = await lockAgents(trx, viewer, await listAgentIdsOfTool(trx, tool.id))
    const bound = agents.filter((agent) => agent.toolRules.some((rule) => names(rule, tool.name)))
    if (bound.length > 0) {
      const named = bound
        .slice(0, 5)
        .map((agent) => shown(agent.name))
        .join(', ')
      throw badUserInput(
        'input.id',
        `${bound.length} agents have tool rules that name ${tool.name} (${named}${bound.length > 5 ? ' …' : ''}). Change their rules with updateAgent first.`,
      )
    }
    await deleteToolRow(trx, viewer, tool.id)
    const change = { before: tool, after: null }
    await recordChange(context, trx, viewer, { action: 'deleteTool', subject: ['Tool', tool.id], ...change })
  })
}

function names(rule: Parameters<typeof toolsNamedBy>[0], toolName: string): boolean {
  return toolsNamedBy(rule).some(({ tool }) => tool === toolName)
}
