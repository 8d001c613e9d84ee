import { mergeBlock, unsetBlock, type BlockInput } from '../domain/block-input.ts'
import type { Block } from '../domain/memory/block.ts'
import type { Viewer } from '../domain/access/viewer.ts'
import { insertBlocks } from '../store/blocks.ts'
import { transact } from '../store/transact.ts'
import type { CommandContext } from './command-context.ts'
import { recordChange } from './record-change.ts'

export async function createBlock(context: CommandContext, viewer: Viewer, input: BlockInput): Promise<Block> {
  const now = context.clock.now()
  const block: Block = {
    ...mergeBlock('input', unsetBlock, input),
    id: context.ids.next(),
    tenantId: viewer.tenantId,
    version: 1,
    conversationId: null,
    createdAt: now,
    updatedAt: now,
  }
  await transact(context, async (trx) => {
    await insertBlocks(trx, [block])
    const change = { before: null, after: block }
    await recordChange(context, trx, viewer, { action: 'createBlock', subject: ['Block', block.id], ...change })
  })
  return block
}
