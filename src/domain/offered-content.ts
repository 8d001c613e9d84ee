import { partOfFile, type ContentPart } from './content.ts'
import { referenceTo, type FilePlace, type NewFile, type StoredFile } from './file.ts'
import type { GivenMessage } from './message.ts'

/** A part of new content that names a file, before it is known whether the conversation has it. */
export interface OfferedFile {
  readonly file: FilePlace
  /** The id and the input field, for errors. */
  readonly id: string
  readonly field: string
}

/** A part of new content, checked without the database. Content that will be a file refers to it already. */
export type OfferedPart = ContentPart | OfferedFile

export type OfferedMessage = Omit<GivenMessage, 'content'> & { readonly content: readonly OfferedPart[] }

/** Content of a request that is to be stored as a file, with the input field that has it. */
export interface OfferedUpload {
  readonly file: NewFile
  readonly field: string
}

/** All files of a request: the ones that it refers to, and the ones that it uploads. */
export interface OfferedFiles {
  readonly named: readonly OfferedFile[]
  readonly brought: readonly OfferedUpload[]
}

/** Messages with the files that they bring and name. */
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

/** The part as it is stored. `found` are the files that the request names. */
export function settlePart(part: OfferedPart, found: ReadonlyMap<string, StoredFile>): ContentPart {
  return 'file' in part ? partOfFile(referenceTo(found.get(part.file.key)!)) : part
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
