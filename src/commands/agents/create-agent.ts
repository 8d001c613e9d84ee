import { mergeAgentSettings, unsetAgent, type AgentSettingsInput } from '../../domain/agents/agent-input.ts'
import {
  checkAgentTools,
  checkBlockCount,
  checkBlockIds,
  checkLabels,
  checkToolCount,
  givenTools,
  type AgentToolInput,
  type GivenTool,
} from '../../domain/agents/agent-parts.ts'
import type { Agent } from '../../domain/agents/agent.ts'
import { mergeBlock, unsetBlock } from '../../domain/memory/block-input.ts'
import { newBlock, type Block } from '../../domain/memory/block.ts'
import { baseToolNames } from '../../domain/tools/builtin-tools.ts'
import type { Given } from '../../domain/input.ts'
import { checkToolsOfRules, checkedToolRules, type ToolRuleInput } from '../../domain/tools/tool-rules-input.ts'
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
import type { CreateBlockInput } from '../memory/block.ts'
import { changeOf, idsOf, recordChange, shownTools } from '../record-change.ts'
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
  return insertLockedAgent(context, trx, viewer, action, { ...prepared, ...(await lockParts(trx, prepared)) })
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
  readonly tools: readonly GivenTool[]
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
  return { sharedBlocks, tools: attached }
}

/** The same for an agent whose parts are locked. */
export async function insertLockedAgent(
  context: CommandContext,
  trx: Trx,
  viewer: Viewer,
  action: string,
  { agent, ...parts }: Omit<PreparedAgent, 'tools'> & LockedParts,
): Promise<Agent> {
  await insertWholeAgent(context, trx, agent, parts)
  const { newBlocks, sharedBlocks, tools } = parts
  const after = { ...agent, tools: shownTools(tools), blockIds: idsOf([...newBlocks, ...sharedBlocks]) }
  await recordChange(context, trx, viewer, changeOf(action, 'Agent', null, after))
  return agent
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

export async function insertWholeAgent(
  { ids }: Pick<CommandContext, 'ids'>,
  trx: Trx,
  agent: Agent,
  { newBlocks, sharedBlocks, tools }: Pick<PreparedAgent, 'newBlocks'> & LockedParts,
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
  await insertAgentBlocks(trx, agent.id, idsOf([...newBlocks, ...sharedBlocks]))
  const attached = tools.map((given) => ({ ...given, id: ids.next() }))
  await insertAgentTools(trx, agent.id, attached)
}
