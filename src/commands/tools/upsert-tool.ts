import { settingsChange } from '../../domain/access/audit.ts'
import { badUserInput } from '../../domain/errors.ts'
import { checkedToolName, shown, type Given } from '../../domain/input.ts'
import {
  mergeTool,
  refuseRulesForTwo,
  unsetTool,
  type ToolImplementationInput,
  type ToolInput,
} from '../../domain/tools/tool-input.ts'
import { sealTool } from '../../domain/tools/sealed-headers.ts'
import type { Tool } from '../../domain/tools/tool.ts'
import type { Agent } from '../../domain/agents/agent.ts'
import type { Trx } from '../../store/database/schema.ts'
import { ownerOf, type Viewer } from '../../domain/access/viewer.ts'
import {
  deleteTool as deleteToolRow,
  lockTool,
  lockToolByName,
  setTool,
  upsertTool as upsertToolRow,
} from '../../store/tools/tools.ts'
import { transact } from '../../store/database/transact.ts'
import { judged } from '../../util/json-schema.ts'
import type { CommandContext, IdInput } from '../command-context.ts'
import { changeOf, recordChange } from '../record-change.ts'
import { found } from '../found.ts'
import { toolsNamedBy } from '../../domain/tools/tool-rules.ts'
import { listAgentIdsOfTool } from '../../store/agents/agent-tools.ts'
import { lockAgents } from '../../store/agents/agents.ts'

export interface UpsertToolInput extends ToolInput {
  readonly name: string
  readonly implementation: ToolImplementationInput
}

/**
 * An existing tool of that name is replaced completely, including its headers. It keeps its id, so it stays attached to
 * its agents. Repeating the same input changes nothing.
 */
export async function upsertTool(context: CommandContext, viewer: Viewer, input: UpsertToolInput): Promise<Tool> {
  const now = context.clock.now()
  const name = checkedToolName('input.name', input.name)
  refuseRulesForTwo(viewer.actor, input)
  const settings = await judged(ownerOf(viewer), () => mergeTool(unsetTool, input))
  await checkImplementation(context, viewer, input.implementation)
  const given = { ...settings, tenantId: viewer.tenantId, name, createdAt: now, updatedAt: now }
  return transact(context, async (trx) => {
    const before = await lockToolByName(trx, viewer, name)
    const sealed = sealTool(context.secrets, { ...given, id: context.ids.next() }, before)
    if (before && !settingsChange(before, sealed)) return before
    const tool = await upsertToolRow(trx, sealed)
    if (!tool)
      throw badUserInput(
        'input.name',
        `${name} is a tool that comes with the server or from an MCP server, which cannot be replaced. Choose another name.`,
      )
    await recordChange(context, trx, viewer, changeOf('upsertTool', 'Tool', before ?? null, tool))
    return tool
  })
}

export interface UpdateToolInput extends ToolInput {
  readonly id: string
}

/** Updates a tool of any kind. Omitted fields stay unchanged, including stored headers. */
export async function updateTool(context: CommandContext, viewer: Viewer, input: UpdateToolInput): Promise<Tool> {
  refuseRulesForTwo(viewer.actor, input)
  await checkImplementation(context, viewer, input.implementation)
  return transact(context, async (trx) => {
    const stored = found('Tool', input.id, await lockTool(trx, viewer, input.id))
    const merged = { ...stored, ...mergeTool(stored, input), updatedAt: context.clock.now() }
    const tool = sealTool(context.secrets, merged, stored)
    if (!(await recordChange(context, trx, viewer, changeOf('updateTool', 'Tool', stored, tool)))) return stored
    await setTool(trx, tool)
    return tool
  })
}

/**
 * Detaches the tool from all agents. Refused while an agent's rules name it, because they would require a missing tool.
 */
export async function deleteTool(context: CommandContext, viewer: Viewer, { id }: IdInput): Promise<void> {
  await transact(context, async (trx) => {
    const tool = found('Tool', id, await lockTool(trx, viewer, id))
    if (tool.kind === 'BUILTIN' && tool.isAvailable)
      throw badUserInput(
        'input.id',
        `${tool.name} is part of the server's code. Detach it from the agents that should not have it.`,
      )
    const bound = await lockAgentsWithRulesFor(trx, tool)
    if (bound.length > 0) {
      const names = bound.slice(0, 5).map((agent) => shown(agent.name))
      throw badUserInput(
        'input.id',
        `${bound.length} agents have tool rules that name ${tool.name} (${names.join(', ')}${bound.length > 5 ? ' …' : ''}). Change their rules with updateAgent first.`,
      )
    }
    await deleteToolRow(trx, viewer, tool.id)
    await recordChange(context, trx, viewer, changeOf('deleteTool', 'Tool', tool, null))
  })
}

/** The agents whose rules name the tool. All agents that have it are locked, so that none gets such a rule meanwhile. */
export async function lockAgentsWithRulesFor(trx: Trx, { id, tenantId, name }: Tool): Promise<Agent[]> {
  const agents = await lockAgents(trx, { tenantId }, await listAgentIdsOfTool(trx, id))
  return agents.filter(({ toolRules }) => toolRules.flatMap(toolsNamedBy).some(({ tool }) => tool === name))
}

/**
 * Checks what takes time, before anything is locked. A module is loaded as a call would load it, without calling it. So
 * the author sees the error now rather than the model later.
 */
export async function checkImplementation(
  { tools }: CommandContext,
  { tenantId }: Viewer,
  given: Given<ToolImplementationInput>,
): Promise<void> {
  if (!given) return
  if ('javascript' in given && given.javascript.source.trim() !== '') {
    const fault = await tools.faultOfJavaScript(given.javascript.source, tenantId)
    if (fault !== undefined)
      throw badUserInput('input.implementation.javascript.source', `This module cannot be called. ${fault}`)
  }
  if ('http' in given && URL.canParse(given.http.url)) {
    const fault = await tools.faultOfAddress(given.http.url)
    if (fault !== undefined) throw badUserInput('input.implementation.http.url', fault)
  }
}
