import { mergeBlock, unsetBlock, type BlockInput } from '../../domain/memory/block-input.ts'
import type { Given } from '../../domain/input.ts'
import { newBlock, type Block } from '../../domain/memory/block.ts'
import type { Viewer } from '../../domain/access/viewer.ts'
import { deleteBlock as deleteBlockRow, findBlocks, insertBlocks } from '../../store/memory/blocks.ts'
import type { CommandContext } from '../command-context.ts'
import { createOnce } from '../create-once.ts'
import { changeOf, recordChange } from '../record-change.ts'
import { badUserInput } from '../../domain/errors.ts'
import { transact } from '../../store/database/transact.ts'
import { found } from '../found.ts'

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
export async function deleteBlock(context: CommandContext, viewer: Viewer, input: { id: string }): Promise<void> {
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
