import { mergeAgentSettings, type AgentSettingsInput } from '../domain/agent-input.ts'
import { checkAgentTools, checkBlockIds, checkLabels, type AgentToolInput } from '../domain/agent-parts.ts'
import type { Agent } from '../domain/agent.ts'
import type { Given } from '../domain/input.ts'
import { checkedToolRules, checkToolsLeftToRules, checkToolsOfRules } from '../domain/tools/tool-rules-input.ts'
import type { ToolRuleInput } from '../domain/tools/tool-rule-shape.ts'
import type { Viewer } from '../domain/access/viewer.ts'
import { listToolsOfAgents } from '../store/agents/agent-tools.ts'
import { lockAgent, setAgent } from '../store/agents.ts'
import { deleteAgentBlocks, insertAgentBlocks, listBlocksOfAgents, lockBlocks } from '../store/blocks.ts'
import { lockToolsToAttach } from '../store/tools.ts'
import { transact } from '../store/transact.ts'
import { checkSleeptimeTools } from './check-sleeptime-tools.ts'
import type { CommandContext } from './command-context.ts'
import { allFound, found } from './found.ts'
import { recordChange, shownAgentTools, shownBlockIds, shownTools } from './record-change.ts'
import { replaceAgentTools } from './replace-agent-tools.ts'
import { shareBlocks } from './memory/share-blocks.ts'

export interface UpdateAgentInput extends AgentSettingsInput {
  readonly id: string
  readonly tools?: Given<readonly AgentToolInput[]>
  readonly toolRules?: Given<readonly ToolRuleInput[]>
  readonly blockIds?: Given<readonly string[]>
}

/** Omitted fields stay unchanged, also inside nested settings. Null restores the default. Lists are replaced. */
export async function updateAgent(context: CommandContext, viewer: Viewer, input: UpdateAgentInput): Promise<Agent> {
  const toolRules =
    input.toolRules === undefined ? undefined : checkedToolRules('input.toolRules', input.toolRules ?? [])
  const toolInputs = input.tools === undefined ? undefined : (input.tools ?? [])
  if (toolInputs) checkAgentTools('input.tools', toolInputs)
  const blockIds = input.blockIds === undefined ? undefined : (input.blockIds ?? [])
  if (blockIds) checkBlockIds('input.blockIds', blockIds)

  return transact(context, async (trx) => {
    const blocks = blockIds && allFound('Block', blockIds, await lockBlocks(trx, viewer, blockIds))
    if (blocks) checkLabels('input.blockIds', blocks)
    const toolIds = toolInputs?.map((tool) => tool.toolId)
    const tools = toolIds && allFound('Tool', toolIds, await lockToolsToAttach(trx, viewer, toolIds))
    const stored = found('Agent', input.id, await lockAgent(trx, viewer, input.id))

    const agent: Agent = {
      ...stored,
      ...mergeAgentSettings(stored, input, context.models),
      toolRules: toolRules ?? stored.toolRules,
      updatedAt: context.clock.now(),
    }
    const before = await listToolsOfAgents(trx, viewer, [agent.id])
    const toolNames = (tools ?? before.map((agentTool) => agentTool.tool)).map((tool) => tool.name)
    if (toolRules) checkToolsOfRules('input.toolRules', toolRules, toolNames)
    else if (tools) checkToolsLeftToRules('input.tools', agent.toolRules, toolNames)

    const blocksBefore = blockIds && (await listBlocksOfAgents(trx, viewer, [agent.id])).map(({ block }) => block)
    await setAgent(trx, agent)
    if (blockIds) {
      await deleteAgentBlocks(trx, agent.id)
      await insertAgentBlocks(trx, agent.id, blockIds)
      await shareBlocks(trx, agent, { field: 'input.blockIds', blocks: blocks! })
    }
    if (toolInputs) {
      const given = toolInputs.map((tool) => ({ ...tool, approvalOverride: tool.approvalOverride ?? null }))
      await replaceAgentTools(context, trx, agent, given)
    }
    if (toolInputs || toolRules) await checkSleeptimeTools(trx, toolInputs ? 'input.tools' : 'input.toolRules', agent)
    await recordChange(context, trx, viewer, {
      action: 'updateAgent',
      subject: ['Agent', agent.id],
      before: {
        ...stored,
        ...(toolInputs && { tools: shownAgentTools(before) }),
        ...(blocksBefore && { blockIds: shownBlockIds(blocksBefore) }),
      },
      after: {
        ...agent,
        ...(toolInputs && {
          tools: shownTools(toolInputs.map(({ toolId, approvalOverride = null }) => ({ toolId, approvalOverride }))),
        }),
        ...(blocks && { blockIds: shownBlockIds(blocks) }),
      },
    })
    return agent
  })
}
