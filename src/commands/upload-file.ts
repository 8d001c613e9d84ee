import { unusedFileMs, type NewFile, type StoredFile } from '../domain/files/file.ts'
import type { Viewer } from '../domain/access/viewer.ts'
import { lockConversationKey } from '../store/conversations/conversations.ts'
import { findFiles, insertFiles } from '../store/files/files.ts'
import { transact } from '../store/transact.ts'
import type { CommandContext } from './command-context.ts'
import { found } from './found.ts'
import { checkSizes, checkStorage } from './store-files.ts'

/** Stores a file that messages can name. It is deleted after a day unless a message names it. */
export async function uploadFile(
  context: CommandContext,
  viewer: Viewer,
  { conversationId, file }: { readonly conversationId: string; readonly file: NewFile },
): Promise<StoredFile> {
  checkSizes(context, [{ file, field: 'input.dataUrl' }])
  const { tenantId } = viewer
  return transact(context, async (trx) => {
    found('Conversation', conversationId, await lockConversationKey(trx, viewer, conversationId))
    const now = context.clock.now()
    const expiresAt = new Date(now.getTime() + unusedFileMs)
    await insertFiles(trx, { tenantId, conversationId }, [file], { now, expiresAt })
    const { tenantStorageBytes } = context
    await checkStorage(trx, { tenantId, field: 'input.dataUrl', tenantStorageBytes })
    const [stored] = await findFiles(trx, viewer, [{ conversationId, key: file.key }])
    return stored!
  })
}
