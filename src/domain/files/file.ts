import { createHash } from 'node:crypto'

import { uuidOfHex } from '../../util/ids.ts'
import { storableText } from '../../util/json.ts'
import type { FileReference } from '../conversations/content.ts'
import { parseDataUrl } from './data-url.ts'
import { estimateTokens } from '../context/media-tokens.ts'
import { mediaTypeOf } from './media-type.ts'

/** A file of a conversation, without its bytes. */
export interface StoredFile extends FileReference {
  readonly tenantId: string
  readonly conversationId: string
  readonly createdAt: Date
}

/** The place of a file, which also identifies it. */
export type FilePlace = Pick<StoredFile, 'conversationId' | 'key'>

/** Content to store as a file. */
export interface NewFile extends FileReference {
  readonly bytes: Buffer
  /** SHA-256 of the bytes: equal content of a tenant is stored once. */
  readonly hash: Buffer
}

/** Longer data URLs are stored as files. */
export const maxInlineUrl = 8 * 1024
/** An upload that nothing refers to is deleted after this time. */
export const unusedFileMs = 24 * 3_600_000

/** The given media type and name may be any text. */
export function newFile({ bytes, ...given }: Pick<NewFile, 'mediaType' | 'name' | 'bytes'>): NewFile {
  const mediaType = mediaTypeOf(given.mediaType)
  const name = given.name === null ? null : storableText(given.name)
  const hash = createHash('sha256').update(bytes).digest()
  return {
    key: keyOf(hash, mediaType, name),
    mediaType,
    name,
    sizeBytes: bytes.length,
    tokens: estimateTokens(mediaType, bytes),
    bytes,
    hash,
  }
}

/** Undefined for a URL that is stored unchanged. */
export function fileOfUrl(url: string, name: string | null = null): NewFile | undefined {
  const data = url.length > maxInlineUrl ? parseDataUrl(url) : undefined
  return data && newFile({ mediaType: data.mediaType, name, bytes: Buffer.from(data.base64, 'base64') })
}

export function referenceTo({ key, mediaType, name, sizeBytes, tokens }: FileReference): FileReference {
  return { key, mediaType, name, sizeBytes, tokens }
}

/** The same file has the same key, so storing it twice changes nothing. */
function keyOf(hash: Buffer, mediaType: string, name: string | null): string {
  const digest = createHash('sha256')
    .update(hash)
    .update(JSON.stringify([mediaType, name]))
    .digest('hex')
  return uuidOfHex(digest.slice(0, 32))
}
