import { badUserInput } from '../domain/errors.ts'
import type { Viewer } from '../domain/access/viewer.ts'
import { deleteBlock as deleteBlockRow } from '../store/blocks.ts'
import { transact } from '../store/transact.ts'
import type { CommandContext } from './command-context.ts'
import { found } from './found.ts'
import { recordChange } from './record-change.ts'

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
    const change = { before, after: null }
    await recordChange(context, trx, viewer, { action: 'deleteBlock', subject: ['Block', input.id], ...change })
  })
}
