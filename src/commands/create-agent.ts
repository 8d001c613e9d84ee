import { mergeAgentSettings, unsetAgent, type AgentSettingsInput } from '../domain/agent-input.ts'
import {
  checkAgentTools,
  checkBlockCount,
  checkBlockIds,
  checkLabels,
  checkToolCount,
  type AgentToolInput,
} from '../domain/agent-parts.ts'
import type { Agent } from '../domain/agent.ts'
import { mergeBlock, unsetBlock, type BlockInput } from '../domain/block-input.ts'
import type { Block } from '../domain/block.ts'
import { baseToolNames } from '../domain/builtin-tools.ts'
import type { Given } from '../domain/input.ts'
import { checkedToolRules, checkToolsOfRules, type ToolRuleInput } from '../domain/tool-rules-input.ts'
import type { Tool } from '../domain/tool.ts'
import type { Viewer } from '../domain/viewer.ts'
import { lockBlocks } from '../store/blocks.ts'
import { listBuiltinTools, lockToolsToAttach } from '../store/tools.ts'
import type { CommandContext } from './command-context.ts'
import { allFound } from './found.ts'
import { insertWholeAgent } from './insert-whole-agent.ts'

export interface CreateAgentInput extends AgentSettingsInput {
  readonly name: string
  readonly model: string
  readonly tools?: Given<readonly AgentToolInput[]>
  readonly toolRules?: Given<readonly ToolRuleInput[]>
  readonly blocks?: Given<readonly BlockInput[]>
  readonly blockIds?: Given<readonly string[]>
  readonly includeBaseTools: boolean
}

/** The agent with its main conversation, its blocks and its tools, all or nothing. */
export async function createAgent(context: CommandContext, viewer: Viewer, input: CreateAgentInput): Promise<Agent> {
  const { clock, ids } = context
  const { tenantId } = viewer
  const now = clock.now()
  const agent: Agent = {
    ...mergeAgentSettings(unsetAgent, input, context.models),
    id: ids.next(),
    tenantId,
    toolRules: checkedToolRules('input.toolRules', input.toolRules ?? []),
    createdAt: now,
    updatedAt: now,
  }
  const toolInputs = input.tools ?? []
  checkAgentTools('input.tools', toolInputs)
  const blockIds = input.blockIds ?? []
  checkBlockIds('input.blockIds', blockIds)
  checkBlockCount('input.blocks', blockIds.length + (input.blocks?.length ?? 0))
  const newBlocks = (input.blocks ?? []).map((block, index): Block => ({
    ...mergeBlock(`input.blocks.${index}`, unsetBlock, block),
    id: ids.next(),
    tenantId,
    version: 1,
    createdAt: now,
    updatedAt: now,
  }))
  checkLabels('input.blocks', newBlocks)

  await context.db.transaction().execute(async (trx) => {
    const sharedBlocks = allFound('Block', blockIds, await lockBlocks(trx, tenantId, blockIds))
    checkLabels('input.blockIds', [...newBlocks, ...sharedBlocks])

    const toolIds = toolInputs.map((tool) => tool.toolId)
    const tools = allFound('Tool', toolIds, await lockToolsToAttach(trx, tenantId, toolIds))
    const baseTools = input.includeBaseTools ? await listBaseTools(trx, tenantId) : []
    const overrides = new Map(toolInputs.map((tool) => [tool.toolId, tool.approvalOverride ?? null]))
    // A base tool that is also named has the settings that it is named with.
    const attached = [...baseTools.filter((tool) => !overrides.has(tool.id)), ...tools]
    checkToolCount('input.tools', attached.length)
    checkToolsOfRules(
      'input.toolRules',
      agent.toolRules,
      attached.map((tool) => tool.name),
    )

    await insertWholeAgent(context, trx, agent, {
      newBlocks,
      sharedBlocks,
      tools: attached.map(({ id }) => ({ toolId: id, approvalOverride: overrides.get(id) ?? null })),
    })
  })
  return agent
}

async function listBaseTools(trx: CommandContext['db'], tenantId: string): Promise<Tool[]> {
  const tools = await listBuiltinTools(trx, tenantId, baseToolNames)
  return baseToolNames.map((name) => {
    const tool = tools.find((candidate) => candidate.name === name)
    if (!tool)
      throw new Error(`the tenant ${tenantId} lacks the built-in tool ${name}: upsertBuiltinTools was not called`)
    return tool
  })
}
