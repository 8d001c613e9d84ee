import { partOfFile, type ContentPart } from '../conversations/content.ts'
import { referenceTo, type FilePlace, type NewFile, type StoredFile } from '../files/file.ts'
import type { GivenMessage } from '../conversations/message.ts'

/** A part of new content that names a file, before that file has been looked up in the conversation. */
export interface OfferedFile {
  readonly file: FilePlace
  /** The id and the input field, for errors. */
  readonly id: string
  readonly field: string
}

/**
 * A part of new content that was checked without the database. Content that will become a file already refers to it.
 */
export type OfferedPart = ContentPart | OfferedFile

export type OfferedMessage = Omit<GivenMessage, 'content'> & { readonly content: readonly OfferedPart[] }

/** Content of a request that will be stored as a file, with the input field that it came from. */
export interface OfferedUpload {
  readonly file: NewFile
  readonly field: string
}

/** All files of a request: those that it names, and those that it uploads. */
export interface OfferedFiles {
  readonly named: readonly OfferedFile[]
  readonly brought: readonly OfferedUpload[]
}

/** Messages with the files that they include and name. */
export interface OfferedContent {
  readonly messages: readonly OfferedMessage[]
  readonly files: OfferedFiles
}

export function hasFiles({ named, brought }: OfferedFiles): boolean {
  return named.length + brought.length > 0
}

export const noFiles: OfferedFiles = { named: [], brought: [] }

export function namedFiles(parts: readonly OfferedPart[]): OfferedFile[] {
  return parts.flatMap((part) => ('file' in part ? [part] : []))
}

/** The part to store. `found` are the files that the request names. */
export function settlePart(part: OfferedPart, found: ReadonlyMap<string, StoredFile>): ContentPart {
  if (!('file' in part)) return part
  const file = found.get(part.file.key)
  if (!file) throw new Error(`The file ${part.file.key} was not looked up.`)
  return partOfFile(referenceTo(file))
}

export function settleMessages(
  messages: readonly OfferedMessage[],
  found: ReadonlyMap<string, StoredFile>,
): GivenMessage[] {
  return messages.map((message) => ({
    ...message,
    content: message.content.map((part) => settlePart(part, found)),
  }))
}
