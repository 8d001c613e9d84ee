import type { Agent } from '../../domain/agents/agent.ts'
import {
  deleteAgentTools,
  insertAgentTools,
  listToolsOfAgents,
  setApprovalOverride,
} from '../../store/agents/agent-tools.ts'
import type { Trx } from '../../store/database/schema.ts'
import type { CommandContext } from '../command-context.ts'
import { refuseWaitingTools } from '../../domain/memory/sleeptime-agent.ts'
import { isSleeptimeAgent } from '../../store/memory/sleeptime-groups.ts'
import {
  checkAgentTool,
  checkToolCount,
  givenTool,
  type AgentToolInput,
  type GivenTool,
} from '../../domain/agents/agent-parts.ts'
import type { Viewer } from '../../domain/access/viewer.ts'
import { lockAgent } from '../../store/agents/agents.ts'
import { lockToolsToAttach } from '../../store/tools/tools.ts'
import { transact } from '../../store/database/transact.ts'
import { allFound, found } from '../found.ts'
import { shownTools, storeAgent } from '../record-change.ts'
import { checkToolsLeftToRules } from '../../domain/tools/tool-rules-input.ts'

/** Sets the agent's tools, in this order. A tool that stays attached keeps the id of its attachment. */
export async function replaceAgentTools(
  { ids }: Pick<CommandContext, 'ids'>,
  trx: Trx,
  agent: Agent,
  tools: readonly GivenTool[],
): Promise<void> {
  const before = await listToolsOfAgents(trx, agent, [agent.id])
  const idsBefore = new Map(before.map((agentTool) => [agentTool.tool.id, agentTool.id]))
  await deleteAgentTools(trx, agent.id)
  await insertAgentTools(
    trx,
    agent.id,
    tools.map((given) => ({ ...given, id: idsBefore.get(given.tool.id) ?? ids.next() })),
  )
}

/**
 * Called after an agent's tools or rules changed, with its row locked: an agent that works in the background must not
 * have a tool that waits.
 */
export async function checkSleeptimeTools(trx: Trx, field: string, agent: Agent): Promise<void> {
  if (!(await isSleeptimeAgent(trx, agent.id))) return
  refuseWaitingTools(field, agent, await listToolsOfAgents(trx, agent, [agent.id]))
}

export interface AttachToolInput extends AgentToolInput {
  readonly agentId: string
}

/** A tool that is already attached keeps its place, and gets the approval setting if one is given. */
export async function attachTool(context: CommandContext, viewer: Viewer, input: AttachToolInput): Promise<Agent> {
  checkAgentTool('input', input)
  const field = typeof input.toolName === 'string' ? 'input.toolName' : 'input.toolId'
  return transact(context, async (trx) => {
    const given = givenTool(input, await lockToolsToAttach(trx, viewer, [input]))
    const stored = found('Agent', input.agentId, await lockAgent(trx, viewer, input.agentId))
    const agentTools = await listToolsOfAgents(trx, viewer, [stored.id])
    const attached = agentTools.find(({ tool }) => tool.id === given.tool.id)
    if (attached) {
      if (input.approvalOverride !== undefined) await setApprovalOverride(trx, attached.id, input.approvalOverride)
    } else {
      checkToolCount(field, agentTools.length + 1)
      await insertAgentTools(trx, stored.id, [{ id: context.ids.next(), ...given }])
    }
    await checkSleeptimeTools(trx, field, stored)
    const kept = input.approvalOverride === undefined ? attached : undefined
    return storeAgent(context, trx, viewer, stored, {
      action: 'attachTool',
      before: attached ? { tools: shownTools([attached]) } : null,
      after: { tools: shownTools([kept ?? given]) },
    })
  })
}

/** Nothing changes if the agent does not have the tool. Refused if the agent's rules name it. */
export async function detachTool(
  context: CommandContext,
  viewer: Viewer,
  input: { readonly agentId: string; readonly toolId: string },
): Promise<Agent> {
  return transact(context, async (trx) => {
    allFound('Tool', [input.toolId], await lockToolsToAttach(trx, viewer, [input]))
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
    if (detached.length === 0) return stored
    const change = { before: { tools: shownTools(detached) }, after: null }
    return storeAgent(context, trx, viewer, stored, { action: 'detachTool', ...change })
  })
}

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
    const attached = agentTools.find(({ tool }) => tool.id === input.toolId)
    const before = found('Tool', input.toolId, attached)
    await setApprovalOverride(trx, before.id, input.requiresApproval)
    await checkSleeptimeTools(trx, 'input.requiresApproval', stored)
    return storeAgent(context, trx, viewer, stored, {
      action: 'setToolApproval',
      before: { tools: shownTools([before]) },
      after: { tools: shownTools([{ ...before, approvalOverride: input.requiresApproval }]) },
    })
  })
}
