import type { Transaction } from 'kysely'

import { shownSize } from '../domain/conversations/content.ts'
import { badUserInput, notFound, type HoldpointError } from '../domain/errors.ts'
import type { StoredFile } from '../domain/files/file.ts'
import type { OfferedFiles, OfferedUpload } from '../domain/context/offered-content.ts'
import type { Reach } from '../domain/access/viewer.ts'
import { findFiles, insertFiles, lockFiles, setFilesUsed, sumFileBytes, type FileOwner } from '../store/files/files.ts'
import type { Database } from '../store/database/schema.ts'
import type { CommandContext } from './command-context.ts'

/** The files that a request names, by key, locked against deletion until the transaction ends. */
export async function findNamedFiles(
  trx: Transaction<Database>,
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
  trx: Transaction<Database>,
  owner: FileOwner,
  { named, brought }: OfferedFiles,
  { now, tenantStorageBytes }: StorageLimit & { readonly now: Date },
): Promise<void> {
  await insertFiles(
    trx,
    owner,
    brought.map(({ file }) => file),
    { now, expiresAt: null },
  )
  const [first] = brought
  if (first) await checkStorage(trx, { tenantId: owner.tenantId, field: first.field, tenantStorageBytes })
  const keys = named.map(({ file }) => file.key)
  if (keys.length > 0) await setFilesUsed(trx, owner.conversationId, keys)
}

type StorageLimit = Pick<CommandContext, 'tenantStorageBytes'>

/**
 * Refuses files that this transaction has stored if the tenant's files are too large with them. Transactions that
 * commit at the same moment do not see each other's files, so together they may exceed the limit.
 */
export async function checkStorage(
  trx: Transaction<Database>,
  { tenantId, field, tenantStorageBytes: limit }: StorageLimit & { readonly tenantId: string; readonly field: string },
): Promise<void> {
  if (limit === undefined || (await sumFileBytes(trx, tenantId)) <= limit) return
  const reason = `With this, the files of the tenant would have more than ${shownSize(limit)} together`
  throw badUserInput(field, `${reason}, the limit that HOLDPOINT_TENANT_STORAGE sets. Delete conversations with files.`)
}

/** Refuses files that are larger than the server accepts. */
export function checkSizes({ maxFileBytes }: Pick<CommandContext, 'maxFileBytes'>, brought: readonly OfferedUpload[]) {
  for (const { file, field } of brought) {
    if (file.sizeBytes > maxFileBytes) throw tooLarge(field, file.sizeBytes, maxFileBytes)
  }
}

function tooLarge(field: string, sizeBytes: number, maxFileBytes: number): HoldpointError {
  const limit = `The limit is ${shownSize(maxFileBytes)}, which HOLDPOINT_MAX_FILE sets.`
  return badUserInput(field, `The file is ${shownSize(sizeBytes)}. ${limit}`)
}
