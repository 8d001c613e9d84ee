import { checkAgentTool, checkToolCount, givenTools, type AgentToolInput } from '../../domain/agents/agent-parts.ts'
import type { Agent } from '../../domain/agents/agent.ts'
import type { Viewer } from '../../domain/access/viewer.ts'
import {
  deleteAgentTools,
  insertAgentTools,
  listToolsOfAgents,
  setApprovalOverride,
} from '../../store/agents/agent-tools.ts'
import { lockAgent } from '../../store/agents/agents.ts'
import { lockToolsToAttach } from '../../store/tools/tools.ts'
import { transact } from '../../store/database/transact.ts'
import { checkSleeptimeTools } from './replace-agent-tools.ts'
import type { CommandContext } from '../command-context.ts'
import { allFound, found } from '../found.ts'
import { shownAgentTools, shownTools, storeAgent } from '../record-change.ts'
import { checkToolsLeftToRules } from '../../domain/tools/tool-rules-input.ts'

export interface AttachToolInput extends AgentToolInput {
  readonly agentId: string
}

/** A tool that is already attached keeps its place, and gets the approval setting if one is given. */
export async function attachTool(context: CommandContext, viewer: Viewer, input: AttachToolInput): Promise<Agent> {
  checkAgentTool('input', input)
  const field = typeof input.toolName === 'string' ? 'input.toolName' : 'input.toolId'
  return transact(context, async (trx) => {
    const [given] = givenTools('input', [input], await lockToolsToAttach(trx, viewer, [input]))
    const { tool } = given!
    const stored = found('Agent', input.agentId, await lockAgent(trx, viewer, input.agentId))
    const agentTools = await listToolsOfAgents(trx, viewer, [stored.id])
    const attached = agentTools.find((agentTool) => agentTool.tool.id === tool.id)
    if (attached) {
      if (input.approvalOverride !== undefined) await setApprovalOverride(trx, attached.id, input.approvalOverride)
    } else {
      checkToolCount(field, agentTools.length + 1)
      await insertAgentTools(trx, stored.id, [
        { id: context.ids.next(), toolId: tool.id, approvalOverride: input.approvalOverride ?? null },
      ])
    }
    await checkSleeptimeTools(trx, field, stored)
    const override = input.approvalOverride === undefined ? attached?.approvalOverride : input.approvalOverride
    return storeAgent(context, trx, viewer, stored, {
      action: 'attachTool',
      before: attached ? { tools: shownAgentTools([attached]) } : null,
      after: { tools: shownTools([{ toolId: tool.id, approvalOverride: override ?? null }]) },
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
    const change = { before: { tools: shownAgentTools(detached) }, after: null }
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
    const attached = agentTools.find((agentTool) => agentTool.tool.id === input.toolId)
    await setApprovalOverride(trx, found('Tool', input.toolId, attached).id, input.requiresApproval)
    await checkSleeptimeTools(trx, 'input.requiresApproval', stored)
    return storeAgent(context, trx, viewer, stored, {
      action: 'setToolApproval',
      before: { tools: shownAgentTools([attached!]) },
      after: { tools: shownTools([{ toolId: input.toolId, approvalOverride: input.requiresApproval }]) },
    })
  })
}
