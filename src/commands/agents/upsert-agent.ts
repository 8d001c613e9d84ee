import { checkBlockCount, checkLabels } from '../../domain/agents/agent-parts.ts'
import type { Agent } from '../../domain/agents/agent.ts'
import { checkedAt } from '../../domain/errors.ts'
import type { Viewer } from '../../domain/access/viewer.ts'
import { listToolsOfAgents } from '../../store/agents/agent-tools.ts'
import { lockAgentByKey } from '../../store/agents/agents.ts'
import { insertAgentBlocks, insertBlocks, listBlocksOfAgents } from '../../store/memory/blocks.ts'
import { queueChangedArchive } from '../../store/memory/passage-embeddings.ts'
import type { Trx } from '../../store/database/schema.ts'
import { transact } from '../../store/database/transact.ts'
import { checkSleeptimeTools, replaceAgentTools } from '../tools/attach-tool.ts'
import type { CommandContext } from '../command-context.ts'
import {
  lockParts,
  prepareAgent,
  insertLockedAgent,
  type CreateAgentInput,
  type LockedParts,
  type PreparedAgent,
} from './create-agent.ts'
import { refuseNestedKey } from '../idempotency.ts'
import { idsOf, shownTools, storeAgent } from '../record-change.ts'
import { shareBlocks } from '../memory/attach-block.ts'

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
  refuseNestedKey('input.agent', given)
  return checkedAt('input.agent', async () => {
    const prepared = prepareAgent(context, viewer, given)
    return transact(context, async (trx) => {
      const locked = { ...prepared, ...(await lockParts(trx, prepared)), agent: { ...prepared.agent, key } }
      const stored = await lockAgentByKey(trx, viewer, key)
      if (stored) return replaceAgent(context, trx, viewer, stored, locked)
      return insertLockedAgent(context, trx, viewer, 'upsertAgent', locked)
    })
  })
}

/** Blocks and conversations stay: a deploy script must not reset what the agent has learned. */
async function replaceAgent(
  context: CommandContext,
  trx: Trx,
  viewer: Viewer,
  stored: Agent,
  given: Omit<PreparedAgent, 'tools'> & LockedParts,
): Promise<Agent> {
  const { id, key, createdAt, updatedAt } = stored
  const agent = { ...given.agent, id, key, createdAt, updatedAt }
  await queueChangedArchive(trx, { before: stored, after: agent, now: context.clock.now() })
  const toolsBefore = await listToolsOfAgents(trx, stored, [id])
  await replaceAgentTools(context, trx, agent, given.tools)
  await checkSleeptimeTools(trx, 'input.tools', agent)

  const has = (await listBlocksOfAgents(trx, stored, [id])).map(({ block }) => block)
  const newBlocks = given.newBlocks.filter(({ label }) => !has.some((block) => block.label === label))
  const shared = given.sharedBlocks.filter((block) => !has.some((other) => other.id === block.id))
  const added = [...newBlocks, ...shared]
  checkBlockCount('input.blocks', has.length + added.length)
  checkLabels('input.blockIds', [...has, ...added])
  await insertBlocks(trx, newBlocks)
  await insertAgentBlocks(trx, id, idsOf(added))
  await shareBlocks(trx, agent, { field: 'input.blocks', blocks: added })
  return storeAgent(context, trx, viewer, agent, {
    action: 'upsertAgent',
    before: { ...stored, tools: shownTools(toolsBefore), blockIds: idsOf(has) },
    after: { ...agent, tools: shownTools(given.tools), blockIds: idsOf([...has, ...added]) },
  })
}
