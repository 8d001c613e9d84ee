import type { Transaction } from 'kysely'

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
import type { Block } from '../domain/memory/block.ts'
import { baseToolNames } from '../domain/builtin-tools.ts'
import type { Given } from '../domain/input.ts'
import type { ToolRuleInput } from '../domain/tools/tool-rule-shape.ts'
import { checkedToolRules, checkToolsOfRules } from '../domain/tools/tool-rules-input.ts'
import type { Tool } from '../domain/tools/tool.ts'
import type { Viewer } from '../domain/access/viewer.ts'
import { lockBlocks } from '../store/blocks.ts'
import type { Database } from '../store/database/schema.ts'
import { listBuiltinTools, lockToolsToAttach } from '../store/tools.ts'
import { transact } from '../store/transact.ts'
import type { CommandContext } from './command-context.ts'
import { allFound } from './found.ts'
import { insertWholeAgent } from './insert-whole-agent.ts'
import { recordChange, shownBlockIds, shownTools } from './record-change.ts'

export interface CreateAgentInput extends AgentSettingsInput {
  readonly name: string
  readonly model: string
  readonly tools?: Given<readonly AgentToolInput[]>
  readonly toolRules?: Given<readonly ToolRuleInput[]>
  readonly blocks?: Given<readonly BlockInput[]>
  readonly blockIds?: Given<readonly string[]>
  readonly includeBaseTools: boolean
}

/** An agent whose settings have been checked, and what still has to be looked up in the database. */
export interface PreparedAgent {
  readonly agent: Agent
  readonly newBlocks: readonly Block[]
  readonly blockIds: readonly string[]
  readonly tools: readonly AgentToolInput[]
  readonly includeBaseTools: boolean
}

/** Creates an agent with its main conversation, its blocks and its tools, all or nothing. */
export async function createAgent(context: CommandContext, viewer: Viewer, input: CreateAgentInput): Promise<Agent> {
  const prepared = prepareAgent(context, viewer, input)
  await transact(context, async (trx) => {
    const parts = await lockParts(trx, prepared)
    await insertWholeAgent(context, trx, prepared.agent, { ...prepared, ...parts })
    await recordNewAgent(context, trx, viewer, 'createAgent', { ...prepared, ...parts })
  })
  return prepared.agent
}

export function prepareAgent(
  { clock, ids, models }: CommandContext,
  { tenantId }: Viewer,
  input: CreateAgentInput,
): PreparedAgent {
  const now = clock.now()
  const agent: Agent = {
    ...mergeAgentSettings(unsetAgent, input, models),
    id: ids.next(),
    tenantId,
    key: null,
    toolRules: checkedToolRules('input.toolRules', input.toolRules ?? []),
    createdAt: now,
    updatedAt: now,
  }
  const tools = input.tools ?? []
  checkAgentTools('input.tools', tools)
  const blockIds = input.blockIds ?? []
  checkBlockIds('input.blockIds', blockIds)
  checkBlockCount('input.blocks', blockIds.length + (input.blocks?.length ?? 0))
  const newBlocks = (input.blocks ?? []).map((block, index): Block => ({
    ...mergeBlock(`input.blocks.${index}`, unsetBlock, block),
    id: ids.next(),
    tenantId,
    version: 1,
    conversationId: null,
    createdAt: now,
    updatedAt: now,
  }))
  checkLabels('input.blocks', newBlocks)
  return { agent, newBlocks, blockIds, tools, includeBaseTools: input.includeBaseTools }
}

export interface LockedParts {
  readonly sharedBlocks: readonly Block[]
  readonly tools: readonly { readonly toolId: string; readonly approvalOverride: boolean | null }[]
}

/** Locks the existing blocks and then the tools of an agent, before the agent itself. */
export async function lockParts(trx: Transaction<Database>, prepared: PreparedAgent): Promise<LockedParts> {
  const { agent, blockIds, newBlocks } = prepared
  const { toolRules } = agent
  const sharedBlocks = allFound('Block', blockIds, await lockBlocks(trx, agent, blockIds))
  checkLabels('input.blockIds', [...newBlocks, ...sharedBlocks])

  const toolIds = prepared.tools.map((tool) => tool.toolId)
  const tools = allFound('Tool', toolIds, await lockToolsToAttach(trx, agent, toolIds))
  const baseTools = prepared.includeBaseTools ? await listBaseTools(trx, agent) : []
  const overrides = new Map(prepared.tools.map((tool) => [tool.toolId, tool.approvalOverride ?? null]))
  // A base tool that the input also names gets the settings of the input.
  const attached = [...baseTools.filter((tool) => !overrides.has(tool.id)), ...tools]
  checkToolCount('input.tools', attached.length)
  const names = attached.map((tool) => tool.name)
  checkToolsOfRules('input.toolRules', toolRules, names)
  return {
    sharedBlocks,
    tools: attached.map(({ id }) => ({ toolId: id, approvalOverride: overrides.get(id) ?? null })),
  }
}

/** The audit entry of a new agent. */
export async function recordNewAgent(
  context: CommandContext,
  trx: Transaction<Database>,
  viewer: Viewer,
  action: string,
  { agent, newBlocks, sharedBlocks, tools }: PreparedAgent & LockedParts,
): Promise<void> {
  const after = { ...agent, tools: shownTools(tools), blockIds: shownBlockIds([...newBlocks, ...sharedBlocks]) }
  await recordChange(context, trx, viewer, { action, subject: ['Agent', agent.id], before: null, after })
}

async function listBaseTools(trx: CommandContext['db'], { tenantId }: Agent): Promise<Tool[]> {
  const tools = await listBuiltinTools(trx, { tenantId }, baseToolNames)
  return baseToolNames.map((name) => {
    const tool = tools.find((candidate) => candidate.name === name)
    if (!tool)
      throw new Error(`the tenant ${tenantId} lacks the built-in tool ${name}: upsertBuiltinTools was not called`)
    return tool
  })
}
