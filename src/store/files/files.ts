import { sql } from 'kysely'

import type { FilePlace, NewFile, StoredFile } from '../../domain/files/file.ts'
import type { Reach } from '../../domain/access/viewer.ts'
import { fromColumns } from '../database/columns.ts'
import { onlyRow } from '../database/rows.ts'
import type { Db, Row, Trx } from '../database/schema.ts'
import { ofTenant } from '../access/tenant-scope.ts'

type FileRow = Omit<Row<'files'>, 'hash' | 'expires_at'>

const fileColumns = [
  'files.conversation_id',
  'files.key',
  'files.tenant_id',
  'files.name',
  'files.media_type',
  'files.size_bytes',
  'files.tokens',
  'files.created_at',
] as const

function toFile(row: FileRow): StoredFile {
  return fromColumns(row)
}

/** The conversation that files are stored in. The caller has locked it, so that it is not deleted meanwhile. */
export type FileOwner = Pick<StoredFile, 'tenantId' | 'conversationId'>

/**
 * Stores files. A file that exists already stays as it is. `expiresAt` is null if something refers to the files. They
 * are stored in the order of their content, so that two transactions with the same files don't deadlock.
 */
export async function insertFiles(
  trx: Trx,
  { tenantId, conversationId }: FileOwner,
  files: readonly NewFile[],
  { now, expiresAt }: { readonly now: Date; readonly expiresAt: Date | null },
): Promise<void> {
  for (const file of files.toSorted((one, other) => Buffer.compare(one.hash, other.hash))) {
    // `do update` locks the content, so that it is not deleted before the file refers to it.
    await sql`
      with content as (
        insert into file_contents (tenant_id, hash, bytes) values (${tenantId}, ${file.hash}, ${file.bytes})
        on conflict (tenant_id, hash) do update set hash = excluded.hash
        returning tenant_id, hash)
      insert into files (conversation_id, key, tenant_id, hash, name, media_type, size_bytes, tokens, created_at, expires_at)
      select ${conversationId}, ${file.key}, tenant_id, hash, ${file.name}, ${file.mediaType}, ${file.sizeBytes}, ${file.tokens},
        ${now}::timestamptz, ${expiresAt}::timestamptz from content
      on conflict (conversation_id, key) do update
        set expires_at = case when files.expires_at is not null then excluded.expires_at end`.execute(trx)
  }
}

export async function findFiles(db: Db, reach: Reach, places: readonly FilePlace[]): Promise<StoredFile[]> {
  const rows = await db
    .selectFrom('files')
    .where(ofTenant('files', reach))
    .where(isOneOf(places))
    .select(fileColumns)
    .execute()
  return rows.map(toFile)
}

/** Files of a conversation, locked against deletion until the transaction ends. */
export async function lockFiles(trx: Trx, conversationId: string, keys: readonly string[]): Promise<StoredFile[]> {
  const rows = await trx
    .selectFrom('files')
    .where('conversation_id', '=', conversationId)
    .where(sql<boolean>`key = any(${keys}::uuid[])`)
    .select(fileColumns)
    .orderBy('key')
    .forNoKeyUpdate()
    .execute()
  return rows.map(toFile)
}

/** Marks files that something now refers to, so that they stay as long as their conversation. */
export async function setFilesUsed(trx: Trx, conversationId: string, keys: readonly string[]): Promise<void> {
  await trx
    .updateTable('files')
    .set({ expires_at: null })
    .where('conversation_id', '=', conversationId)
    .where(sql<boolean>`key = any(${keys}::uuid[])`)
    .where('expires_at', 'is not', null)
    .execute()
}

/** The content of those of the files that exist. The caller has checked that they may be read. */
export async function readFiles(
  db: Db,
  places: readonly FilePlace[],
): Promise<(FilePlace & { readonly bytes: Buffer })[]> {
  const rows = await db
    .selectFrom('files')
    .innerJoin('file_contents', (join) =>
      join.onRef('file_contents.tenant_id', '=', 'files.tenant_id').onRef('file_contents.hash', '=', 'files.hash'),
    )
    .where(isOneOf(places))
    .select(['files.conversation_id', 'files.key', 'file_contents.bytes'])
    .execute()
  return rows.map((row) => fromColumns(row))
}

/** The size of all files and archives of a tenant. Equal files count once, as they are stored. */
export async function sumStoredBytes(db: Db, tenantId: string): Promise<number> {
  // The lengths are known without reading the bytes.
  const sum = sql<{ bytes: number }>`
    select (
      (select coalesce(sum(octet_length(bytes)), 0) from file_contents where tenant_id = ${tenantId})
      + (select coalesce(sum(octet_length(text)), 0) from passages where tenant_id = ${tenantId}))::bigint as bytes`
  return onlyRow(await sum.execute(db)).bytes
}

export async function deleteFilesOfConversation(trx: Db, conversationId: string): Promise<void> {
  await trx.deleteFrom('files').where('conversation_id', '=', conversationId).execute()
}

function isOneOf(places: readonly FilePlace[]) {
  return sql<boolean>`(files.conversation_id, files.key) in (select * from unnest(
    ${places.map((place) => place.conversationId)}::uuid[], ${places.map((place) => place.key)}::uuid[]))`
}
