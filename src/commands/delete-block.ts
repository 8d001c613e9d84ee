import { notFound } from '../domain/errors.ts'
import { encodeId } from '../domain/ids.ts'
import type { Viewer } from '../domain/viewer.ts'
import { deleteBlock as deleteBlockRow } from '../store/blocks.ts'
import type { CommandContext } from './command-context.ts'

/** Every agent that has it loses it. */
export async function deleteBlock(context: CommandContext, viewer: Viewer, input: { id: string }): Promise<void> {
  const deleted = await deleteBlockRow(context.db, viewer, input.id)
  if (!deleted) throw notFound('block', encodeId('Block', input.id))
}
