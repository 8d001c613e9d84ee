import { mergeAgentSettings, type AgentSettingsInput } from '../../domain/agents/agent-input.ts'
import {
  checkAgentTools,
  checkBlockIds,
  checkLabels,
  givenTools,
  type AgentToolInput,
} from '../../domain/agents/agent-parts.ts'
import type { Agent } from '../../domain/agents/agent.ts'
import type { Given } from '../../domain/input.ts'
import {
  checkedToolRules,
  checkToolsLeftToRules,
  checkToolsOfRules,
  type ToolRuleInput,
} from '../../domain/tools/tool-rules-input.ts'
import type { Viewer } from '../../domain/access/viewer.ts'
import { listToolsOfAgents } from '../../store/agents/agent-tools.ts'
import { lockAgent } from '../../store/agents/agents.ts'
import { deleteAgentBlocks, insertAgentBlocks, listBlocksOfAgents, lockBlocks } from '../../store/memory/blocks.ts'
import { lockToolsToAttach } from '../../store/tools/tools.ts'
import { queueChangedArchive } from '../../store/memory/passage-embeddings.ts'
import { transact } from '../../store/database/transact.ts'
import { checkSleeptimeTools, replaceAgentTools } from '../tools/attach-tool.ts'
import type { CommandContext } from '../command-context.ts'
import { allFound, found } from '../found.ts'
import { idsOf, shownTools, storeAgent } from '../record-change.ts'
import { shareBlocks } from '../memory/attach-block.ts'

export interface UpdateAgentInput extends AgentSettingsInput {
  readonly id: string
  readonly tools?: Given<readonly AgentToolInput[]>
  readonly toolRules?: Given<readonly ToolRuleInput[]>
  readonly blockIds?: Given<readonly string[]>
}

function orEmpty<Item>(list: Given<readonly Item[]>): readonly Item[] | undefined {
  return list === null ? [] : list
}

/** Omitted fields stay unchanged, also inside nested settings. Null restores the default. Lists are replaced. */
export async function updateAgent(context: CommandContext, viewer: Viewer, input: UpdateAgentInput): Promise<Agent> {
  const ruleInputs = orEmpty(input.toolRules)
  const toolRules = ruleInputs && checkedToolRules('input.toolRules', ruleInputs)
  const toolInputs = orEmpty(input.tools)
  if (toolInputs) checkAgentTools('input.tools', toolInputs)
  const blockIds = orEmpty(input.blockIds)
  if (blockIds) checkBlockIds('input.blockIds', blockIds)

  return transact(context, async (trx) => {
    const blocks = blockIds && allFound('Block', blockIds, await lockBlocks(trx, viewer, blockIds))
    if (blocks) checkLabels('input.blockIds', blocks)
    const tools = toolInputs && givenTools('input.tools', toolInputs, await lockToolsToAttach(trx, viewer, toolInputs))
    const stored = found('Agent', input.id, await lockAgent(trx, viewer, input.id))

    const agent: Agent = {
      ...stored,
      ...mergeAgentSettings(stored, input, context.models),
      toolRules: toolRules ?? stored.toolRules,
    }
    const before = await listToolsOfAgents(trx, viewer, [agent.id])
    const toolNames = (tools ?? before).map(({ tool }) => tool.name)
    if (toolRules) checkToolsOfRules('input.toolRules', toolRules, toolNames)
    else if (tools) checkToolsLeftToRules('input.tools', agent.toolRules, toolNames)

    const blocksBefore = blocks && (await listBlocksOfAgents(trx, viewer, [agent.id])).map(({ block }) => block)
    if (blocks) {
      await deleteAgentBlocks(trx, agent.id)
      await insertAgentBlocks(trx, agent.id, idsOf(blocks))
      await shareBlocks(trx, agent, { field: 'input.blockIds', blocks })
    }
    await queueChangedArchive(trx, { before: stored, after: agent, now: context.clock.now() })
    if (tools) await replaceAgentTools(context, trx, agent, tools)
    if (tools || toolRules) await checkSleeptimeTools(trx, tools ? 'input.tools' : 'input.toolRules', agent)
    return storeAgent(context, trx, viewer, agent, {
      action: 'updateAgent',
      before: {
        ...stored,
        ...(tools && { tools: shownTools(before) }),
        ...(blocksBefore && { blockIds: idsOf(blocksBefore) }),
      },
      after: {
        ...agent,
        ...(tools && { tools: shownTools(tools) }),
        ...(blocks && { blockIds: idsOf(blocks) }),
      },
    })
  })
}
