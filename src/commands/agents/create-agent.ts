import { mergeAgentSettings, unsetAgent, type AgentSettingsInput } from '../../domain/agents/agent-input.ts'
import {
  checkAgentTools,
  checkBlockCount,
  checkBlockIds,
  checkLabels,
  checkToolCount,
  givenTools,
  type AgentToolInput,
} from '../../domain/agents/agent-parts.ts'
import type { Agent } from '../../domain/agents/agent.ts'
import { mergeBlock, unsetBlock } from '../../domain/memory/block-input.ts'
import { newBlock, type Block } from '../../domain/memory/block.ts'
import { baseToolNames } from '../../domain/tools/builtin-tools.ts'
import type { Given } from '../../domain/input.ts'
import type { ToolRuleInput } from '../../domain/tools/tool-rule-shape.ts'
import { checkToolsOfRules, checkedToolRules } from '../../domain/tools/tool-rules-input.ts'
import type { Tool } from '../../domain/tools/tool.ts'
import type { Viewer } from '../../domain/access/viewer.ts'
import { findAgents, insertAgent as insertAgentRow } from '../../store/agents/agents.ts'
import { insertAgentBlocks, insertBlocks, lockBlocks } from '../../store/memory/blocks.ts'
import type { Trx } from '../../store/database/schema.ts'
import { listBuiltinTools, lockToolsToAttach } from '../../store/tools/tools.ts'
import type { CommandContext } from '../command-context.ts'
import { createOnce, type Creation } from '../create-once.ts'
import { allFound } from '../found.ts'
import { refuseNestedKey, withDefaults } from '../idempotency.ts'
import type { CreateBlockInput } from '../memory/create-block.ts'
import { changeOf, recordChange, shownBlockIds, shownTools } from '../record-change.ts'
import { insertAgentTools } from '../../store/agents/agent-tools.ts'
import { insertConversation } from '../../store/conversations/conversations.ts'

export interface CreateAgentInput extends AgentSettingsInput {
  readonly name: string
  readonly model: string
  readonly tools?: Given<readonly AgentToolInput[]>
  readonly toolRules?: Given<readonly ToolRuleInput[]>
  readonly blocks?: Given<readonly CreateBlockInput[]>
  readonly blockIds?: Given<readonly string[]>
  readonly includeBaseTools: boolean
  readonly idempotencyKey?: Given<string>
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
export function createAgent(context: CommandContext, viewer: Viewer, input: CreateAgentInput): Promise<Agent> {
  const prepared = prepareAgent(context, viewer, input)
  const given = { ...input, blocks: input.blocks?.map((block) => withDefaults(block, unsetBlock)) ?? input.blocks }
  const creation: Creation<Agent> = {
    mutation: 'createAgent',
    kind: 'Agent',
    input: given,
    defaults: { ...unsetAgent, tools: [], toolRules: [], blocks: [], blockIds: [] },
    find: findAgents,
  }
  return createOnce(context, viewer, creation, (trx) => insertAgent(context, trx, viewer, 'createAgent', prepared))
}

/** Stores a new agent with its parts and its audit entry. */
export async function insertAgent(
  context: CommandContext,
  trx: Trx,
  viewer: Viewer,
  action: string,
  prepared: PreparedAgent,
): Promise<Agent> {
  const parts = await lockParts(trx, prepared)
  await insertWholeAgent(context, trx, prepared.agent, { ...prepared, ...parts })
  await recordNewAgent(context, trx, viewer, action, { ...prepared, ...parts })
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
  for (const [index, block] of (input.blocks ?? []).entries()) refuseNestedKey(`input.blocks.${index}`, block)
  const newBlocks = (input.blocks ?? []).map((block, index) => {
    const settings = mergeBlock(`input.blocks.${index}`, unsetBlock, block)
    return newBlock(settings, { id: ids.next(), tenantId, createdAt: now })
  })
  checkLabels('input.blocks', newBlocks)
  return { agent, newBlocks, blockIds, tools, includeBaseTools: input.includeBaseTools }
}

export interface LockedParts {
  readonly sharedBlocks: readonly Block[]
  readonly tools: readonly { readonly toolId: string; readonly approvalOverride: boolean | null }[]
}

/** Locks the existing blocks and then the tools of an agent, before the agent itself. */
export async function lockParts(trx: Trx, prepared: PreparedAgent): Promise<LockedParts> {
  const { agent, blockIds, newBlocks } = prepared
  const { toolRules } = agent
  const sharedBlocks = allFound('Block', blockIds, await lockBlocks(trx, agent, blockIds))
  checkLabels('input.blockIds', [...newBlocks, ...sharedBlocks])

  const tools = givenTools('input.tools', prepared.tools, await lockToolsToAttach(trx, agent, prepared.tools))
  const baseTools = prepared.includeBaseTools ? await listBaseTools(trx, agent) : []
  // A base tool that the input also names gets the settings of the input.
  const others = baseTools.filter(({ id }) => !tools.some(({ tool }) => tool.id === id))
  const attached = [...others.map((tool) => ({ tool, approvalOverride: null })), ...tools]
  checkToolCount('input.tools', attached.length)
  const names = attached.map(({ tool }) => tool.name)
  checkToolsOfRules('input.toolRules', toolRules, names)
  return {
    sharedBlocks,
    tools: attached.map(({ tool, approvalOverride }) => ({ toolId: tool.id, approvalOverride })),
  }
}

/** The audit entry of a new agent. */
export async function recordNewAgent(
  context: CommandContext,
  trx: Trx,
  viewer: Viewer,
  action: string,
  { agent, newBlocks, sharedBlocks, tools }: PreparedAgent & LockedParts,
): Promise<void> {
  const after = { ...agent, tools: shownTools(tools), blockIds: shownBlockIds([...newBlocks, ...sharedBlocks]) }
  await recordChange(context, trx, viewer, changeOf(action, 'Agent', null, after))
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

/** The initial tools and blocks of an agent. */
interface Parts {
  readonly newBlocks: readonly Block[]
  readonly sharedBlocks: readonly Block[]
  readonly tools: readonly { readonly toolId: string; readonly approvalOverride: boolean | null }[]
}

export async function insertWholeAgent(
  { ids }: Pick<CommandContext, 'ids'>,
  trx: Trx,
  agent: Agent,
  { newBlocks, sharedBlocks, tools }: Parts,
): Promise<void> {
  await insertAgentRow(trx, agent)
  await insertConversation(trx, {
    id: ids.next(),
    tenantId: agent.tenantId,
    agentId: agent.id,
    isMain: true,
    title: null,
    metadata: {},
    createdAt: agent.createdAt,
  })
  await insertBlocks(trx, newBlocks)
  await insertAgentBlocks(
    trx,
    agent.id,
    [...newBlocks, ...sharedBlocks].map((block) => block.id),
  )
  await insertAgentTools(
    trx,
    agent.id,
    tools.map((tool) => ({ ...tool, id: ids.next() })),
  )
}
