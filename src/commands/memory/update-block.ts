import { mergeBlock, type BlockInput } from '../../domain/memory/block-input.ts'
import type { Block } from '../../domain/memory/block.ts'
import { badUserInput } from '../../domain/errors.ts'
import { shown, type Given } from '../../domain/input.ts'
import type { Viewer } from '../../domain/access/viewer.ts'
import { lockAgents } from '../../store/agents/agents.ts'
import {
  listAgentIdsOfBlock,
  listBlocksOfAgents,
  lockBlocks,
  renameCopies,
  setBlock,
} from '../../store/memory/blocks.ts'
import { transact } from '../../store/database/transact.ts'
import type { CommandContext } from '../command-context.ts'
import { found } from '../found.ts'
import { changeOf, recordChange } from '../record-change.ts'

export interface UpdateBlockInput extends BlockInput {
  readonly id: string
  readonly expectedVersion?: Given<number>
}

export type UpdateBlockOutcome =
  | { readonly outcome: 'updated'; readonly block: Block }
  /** The block does not have the expected version. Nothing was changed. */
  | { readonly outcome: 'changed'; readonly block: Block }

/** Omitted fields stay unchanged. Null restores the default. */
export async function updateBlock(
  context: CommandContext,
  viewer: Viewer,
  input: UpdateBlockInput,
): Promise<UpdateBlockOutcome> {
  return transact(context, async (trx): Promise<UpdateBlockOutcome> => {
    const [locked] = await lockBlocks(trx, viewer, [input.id])
    const stored = found('Block', input.id, locked)
    if (typeof input.expectedVersion === 'number' && input.expectedVersion !== stored.version)
      return { outcome: 'changed', block: stored }
    const settings = mergeBlock('input', stored, input)
    if (stored.readOnly && settings.readOnly && settings.value !== stored.value)
      throw badUserInput(
        'input.value',
        'The block is read-only. To change its value, set readOnly to false, in this update or before it.',
      )
    if (settings.label !== stored.label) await changeLabel(trx, stored, settings.label)
    const block: Block = {
      ...stored,
      ...settings,
      version: settings.value === stored.value ? stored.version : stored.version + 1,
      updatedAt: context.clock.now(),
    }
    if (!(await recordChange(context, trx, viewer, changeOf('updateBlock', 'Block', stored, block))))
      return { outcome: 'updated', block: stored }
    await setBlock(trx, block)
    return { outcome: 'updated', block }
  })
}

/**
 * The label must be free in every agent that has the block. The agents are locked, so that none gets a block with that
 * label meanwhile. Isolated copies get the new label too.
 */
async function changeLabel(trx: CommandContext['db'], block: Block, label: string): Promise<void> {
  if (block.conversationId !== null)
    throw badUserInput(
      'input.label',
      "An isolated copy has the label of the agent's block. Change the label of that block.",
    )
  const agents = await lockAgents(trx, block, await listAgentIdsOfBlock(trx, block.id))
  const blocks = await listBlocksOfAgents(
    trx,
    block,
    agents.map((agent) => agent.id),
  )
  const taken = blocks.find((other) => other.block.id !== block.id && other.block.label === label)
  if (!taken) {
    const agentIds = agents.map((agent) => agent.id)
    return renameCopies(trx, agentIds, { from: block.label, to: label })
  }
  const agent = agents.find(({ id }) => id === taken.agentId)!
  throw badUserInput(
    'input.label',
    `The agent ${shown(agent.name)} has another block labelled ${shown(label)}. Choose a label that none of the block's agents uses.`,
  )
}
