import type { Viewer } from '../../domain/access/viewer.ts'
import { encodeId } from '../../domain/ids.ts'
import { checkedCount, checkedDistinct } from '../../domain/input.ts'
import { maxNewPassages } from '../../domain/memory/passage.ts'
import { transact } from '../../store/database/transact.ts'
import { deletePassages as deleteStored, lockPassages } from '../../store/memory/passages.ts'
import type { CommandContext } from '../command-context.ts'
import { allFound } from '../found.ts'
import { recordChange, shownPassages } from '../record-change.ts'

/** All of them or, if one does not exist, none. */
export async function deletePassages(
  context: CommandContext,
  viewer: Viewer,
  { ids }: { readonly ids: readonly string[] },
): Promise<void> {
  checkedCount('input.ids', ids, { max: maxNewPassages })
  checkedDistinct(
    'input.ids',
    ids.map((id) => encodeId('Passage', id)),
  )
  if (ids.length === 0) return
  await transact(context, async (trx) => {
    const passages = allFound('Passage', ids, await lockPassages(trx, viewer, ids))
    await deleteStored(trx, ids)
    for (const [agentId, some] of Map.groupBy(passages, (passage) => passage.agentId)) {
      await recordChange(context, trx, viewer, {
        action: 'deletePassages',
        subject: ['Agent', agentId],
        before: { passages: shownPassages(some) },
        after: { passages: [] },
      })
    }
  })
}
