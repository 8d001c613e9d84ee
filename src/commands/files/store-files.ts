import { shownSize } from '../../domain/conversations/content.ts'
import { badUserInput, notFound } from '../../domain/errors.ts'
import { unusedFileMs, type NewFile, type StoredFile } from '../../domain/files/file.ts'
import type { OfferedFiles, OfferedUpload } from '../../domain/context/offered-content.ts'
import type { Reach, Viewer } from '../../domain/access/viewer.ts'
import {
  findFiles,
  insertFiles,
  lockFiles,
  setFilesUsed,
  sumStoredBytes,
  type FileOwner,
} from '../../store/files/files.ts'
import type { Trx } from '../../store/database/schema.ts'
import type { CommandContext } from '../command-context.ts'
import { shareConversation } from '../../store/conversations/conversations.ts'
import { transact } from '../../store/database/transact.ts'
import { found, foundOne } from '../found.ts'

/** The files that a request names, by key, locked against deletion until the transaction ends. */
export async function findNamedFiles(
  trx: Trx,
  reach: Reach,
  conversationId: string,
  { named }: OfferedFiles,
): Promise<ReadonlyMap<string, StoredFile>> {
  const own = named.filter(({ file }) => file.conversationId === conversationId).map(({ file }) => file.key)
  const found = own.length === 0 ? [] : await lockFiles(trx, conversationId, own)
  const byKey = new Map(found.map((file) => [file.key, file]))
  for (const { file, id, field } of named) {
    if (file.conversationId === conversationId && byKey.has(file.key)) continue
    if ((await findFiles(trx, reach, [file])).length === 0) throw notFound('file', id)
    throw badUserInput(field, 'The file belongs to another conversation. Upload it to this one.')
  }
  return byKey
}

/**
 * Stores a request's new files, and keeps those that it names from expiring, in the transaction that stores the
 * request.
 */
export async function keepFiles(
  context: StorageLimit,
  trx: Trx,
  owner: FileOwner,
  { named, brought }: OfferedFiles,
  now: Date,
): Promise<void> {
  const files = brought.map(({ file }) => file)
  await insertFiles(trx, owner, files, { now, expiresAt: null })
  const [first] = brought
  if (first) await checkStorage(context, trx, owner.tenantId, first.field)
  const keys = named.map(({ file }) => file.key)
  if (keys.length > 0) await setFilesUsed(trx, owner.conversationId, keys)
}

type StorageLimit = Pick<CommandContext, 'tenantStorageBytes'>

/**
 * Refuses what this transaction has stored if the tenant's files and archives are too large with it. Transactions that
 * commit at the same moment do not see each other's, so together they may exceed the limit.
 */
export async function checkStorage(
  { tenantStorageBytes: limit }: StorageLimit,
  trx: Trx,
  tenantId: string,
  field: string,
): Promise<void> {
  if (limit === undefined || (await sumStoredBytes(trx, tenantId)) <= limit) return
  const reason = `With this, the files and archives of the tenant would have more than ${shownSize(limit)} together`
  const remedy = 'Delete conversations with files, or passages.'
  throw badUserInput(field, `${reason}, the limit that HOLDPOINT_TENANT_STORAGE sets. ${remedy}`)
}

/** Refuses files that are larger than the server accepts. */
export function checkSizes({ maxFileBytes }: Pick<CommandContext, 'maxFileBytes'>, brought: readonly OfferedUpload[]) {
  const large = brought.find(({ file }) => file.sizeBytes > maxFileBytes)
  if (!large) return
  const limit = `The limit is ${shownSize(maxFileBytes)}, which HOLDPOINT_MAX_FILE sets.`
  throw badUserInput(large.field, `The file is ${shownSize(large.file.sizeBytes)}. ${limit}`)
}

/** Stores a file that messages can name. It is deleted after a day unless a message names it. */
export async function uploadFile(
  context: CommandContext,
  viewer: Viewer,
  { conversationId, file }: { readonly conversationId: string; readonly file: NewFile },
): Promise<StoredFile> {
  checkSizes(context, [{ file, field: 'input.dataUrl' }])
  const { tenantId } = viewer
  return transact(context, async (trx) => {
    found('Conversation', conversationId, await shareConversation(trx, viewer, conversationId))
    const now = context.clock.now()
    const expiresAt = new Date(now.getTime() + unusedFileMs)
    await insertFiles(trx, { tenantId, conversationId }, [file], { now, expiresAt })
    await checkStorage(context, trx, tenantId, 'input.dataUrl')
    return foundOne('Conversation', conversationId, findFiles(trx, viewer, [{ conversationId, key: file.key }]))
  })
}
