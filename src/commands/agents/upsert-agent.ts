import type { Transaction } from 'kysely'

import { checkBlockCount, checkLabels } from '../../domain/agent-parts.ts'
import type { Agent } from '../../domain/agent.ts'
import { checkedAt } from '../../domain/errors.ts'
import type { Viewer } from '../../domain/access/viewer.ts'
import { listToolsOfAgents } from '../../store/agents/agent-tools.ts'
import { lockAgentByKey, setAgent } from '../../store/agents.ts'
import { insertAgentBlocks, insertBlocks, listBlocksOfAgents } from '../../store/blocks.ts'
import type { Database } from '../../store/database/schema.ts'
import { transact } from '../../store/transact.ts'
import { checkSleeptimeTools } from '../check-sleeptime-tools.ts'
import type { CommandContext } from '../command-context.ts'
import {
  lockParts,
  prepareAgent,
  recordNewAgent,
  type CreateAgentInput,
  type LockedParts,
  type PreparedAgent,
} from '../create-agent.ts'
import { insertWholeAgent } from '../insert-whole-agent.ts'
import { recordChange, shownAgentTools, shownBlockIds, shownTools } from '../record-change.ts'
import { replaceAgentTools } from '../replace-agent-tools.ts'
import { shareBlocks } from '../memory/share-blocks.ts'

export interface UpsertAgentInput {
  readonly key: string
  readonly agent: CreateAgentInput
}

/**
 * Creates the agent with this key, or replaces its settings, rules and tools. Repeating the same input changes nothing.
 */
export async function upsertAgent(
  context: CommandContext,
  viewer: Viewer,
  { key, agent: given }: UpsertAgentInput,
): Promise<Agent> {
  return checkedAt('input.agent', async () => {
    const prepared = prepareAgent(context, viewer, given)
    return transact(context, async (trx) => {
      const parts = await lockParts(trx, prepared)
      const stored = await lockAgentByKey(trx, viewer, key)
      if (stored) return replaceAgent(context, trx, viewer, stored, { ...prepared, ...parts })
      const agent = { ...prepared.agent, key }
      await insertWholeAgent(context, trx, agent, { ...prepared, ...parts })
      await recordNewAgent(context, trx, viewer, 'upsertAgent', { ...prepared, ...parts, agent })
      return agent
    })
  })
}

/** Blocks and conversations stay: a deploy script must not reset what the agent has learned. */
async function replaceAgent(
  context: CommandContext,
  trx: Transaction<Database>,
  viewer: Viewer,
  stored: Agent,
  given: PreparedAgent & LockedParts,
): Promise<Agent> {
  const { id, key, createdAt } = stored
  const agent = { ...given.agent, id, key, createdAt }
  const toolsBefore = await listToolsOfAgents(trx, stored, [id])
  await setAgent(trx, agent)
  await replaceAgentTools(context, trx, agent, given.tools)
  await checkSleeptimeTools(trx, 'input.tools', agent)

  const has = (await listBlocksOfAgents(trx, stored, [id])).map(({ block }) => block)
  const newBlocks = given.newBlocks.filter(({ label }) => !has.some((block) => block.label === label))
  const shared = given.sharedBlocks.filter((block) => !has.some((other) => other.id === block.id))
  const added = [...newBlocks, ...shared]
  checkBlockCount('input.blocks', has.length + added.length)
  checkLabels('input.blockIds', [...has, ...added])
  await insertBlocks(trx, newBlocks)
  const blockIds = added.map((block) => block.id)
  await insertAgentBlocks(trx, id, blockIds)
  await shareBlocks(trx, agent, { field: 'input.blocks', blocks: added })
  await recordChange(context, trx, viewer, {
    action: 'upsertAgent',
    subject: ['Agent', id],
    before: { ...stored, tools: shownAgentTools(toolsBefore), blockIds: shownBlockIds(has) },
    after: { ...agent, tools: shownTools(given.tools), blockIds: shownBlockIds([...has, ...added]) },
  })
  return agent
}
