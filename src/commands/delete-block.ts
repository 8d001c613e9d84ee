import type { Viewer } from '../domain/viewer.ts'
import { deleteBlock as deleteBlockRow } from '../store/blocks.ts'
import { transact } from '../store/transact.ts'
import type { CommandContext } from './command-context.ts'
import { found } from './found.ts'
import { recordChange } from './record-change.ts'

/** Also detaches the block from every agent that has it. */
export async function deleteBlock(context: CommandContext, viewer: Viewer, input: { id: string }): Promise<void> {
  await transact(context, async (trx) => {
    const before = found('Block', input.id, await deleteBlockRow(trx, viewer, input.id))
    const change = { before, after: null }
    await recordChange(context, trx, viewer, { action: 'deleteBlock', subject: ['Block', input.id], ...change })
  })
}
