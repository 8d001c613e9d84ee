import { mergeBlock, unsetBlock, type BlockInput } from '../../domain/memory/block-input.ts'
import { type Given, shown } from '../../domain/input.ts'
import { newBlock, type Block } from '../../domain/memory/block.ts'
import type { Viewer } from '../../domain/access/viewer.ts'
import {
  listAgentIdsOfBlock,
  deleteBlock as deleteBlockRow,
  findBlocks,
  insertBlocks,
  listBlocksOfAgents,
  lockBlocks,
  renameCopies,
  setBlock,
} from '../../store/memory/blocks.ts'
import type { CommandContext, IdInput } from '../command-context.ts'
import { createOnce } from '../create-once.ts'
import { changeOf, idsOf, recordChange } from '../record-change.ts'
import { badUserInput } from '../../domain/errors.ts'
import { transact } from '../../store/database/transact.ts'
import { found, foundOne } from '../found.ts'
import { lockAgents } from '../../store/agents/agents.ts'

export interface CreateBlockInput extends BlockInput {
  readonly idempotencyKey?: Given<string>
}

export function createBlock(context: CommandContext, viewer: Viewer, input: CreateBlockInput): Promise<Block> {
  const made = { id: context.ids.next(), tenantId: viewer.tenantId, createdAt: context.clock.now() }
  const block = newBlock(mergeBlock('input', unsetBlock, input), made)
  const creation = { mutation: 'createBlock', kind: 'Block', input, defaults: unsetBlock, find: findBlocks } as const
  return createOnce(context, viewer, creation, async (trx) => {
    await insertBlocks(trx, [block])
    await recordChange(context, trx, viewer, changeOf('createBlock', 'Block', null, block))
    return block
  })
}

/**
 * Also detaches the block from every agent that has it. The copy of a conversation stays: without it, the conversation
 * would show the agent's block, and write what it learns into it.
 */
export async function deleteBlock(context: CommandContext, viewer: Viewer, input: IdInput): Promise<void> {
  await transact(context, async (trx) => {
    const before = found('Block', input.id, await deleteBlockRow(trx, viewer, input.id))
    if (before.conversationId !== null)
      throw badUserInput(
        'input.id',
        'The block is the copy of one conversation, and is deleted with it. To empty it, set its value with updateBlock.',
      )
    await recordChange(context, trx, viewer, changeOf('deleteBlock', 'Block', before, null))
  })
}

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
    const stored = await foundOne('Block', input.id, lockBlocks(trx, viewer, [input.id]))
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
  const blocks = await listBlocksOfAgents(trx, block, idsOf(agents))
  const taken = blocks.find((other) => other.block.id !== block.id && other.block.label === label)
  const agent = agents.find(({ id }) => id === taken?.agentId)
  if (!agent) return renameCopies(trx, idsOf(agents), { from: block.label, to: label })
  throw badUserInput(
    'input.label',
    `The agent ${shown(agent.name)} has another block labelled ${shown(label)}. Choose a label that none of the block's agents uses.`,
  )
}
