/** What a message or result stores about a file. Files never change, so this stays correct. */
export interface FileReference {
  /** Identifies the file in its conversation. Derived from the content, the name and the media type. */
  readonly key: string
  readonly mediaType: string
  readonly name: string | null
  readonly sizeBytes: number
  /** Estimated tokens of the content for a model that can read it. */
  readonly tokens: number
}

/** A part of a message or tool result, as stored. Large content is in a file, and the part names it. */
export type ContentPart =
  | { readonly text: string }
  /** An http or https URL, or a data URL that is too short to be stored as a file. */
  | { readonly imageUrl: string }
  | { readonly documentUrl: string }
  | { readonly image: FileReference }
  | { readonly document: FileReference }

export type ContentKind = 'TEXT' | 'IMAGE' | 'DOCUMENT'

export function kindOf(part: ContentPart): ContentKind {
  if ('text' in part) return 'TEXT'
  return 'imageUrl' in part || 'image' in part ? 'IMAGE' : 'DOCUMENT'
}

export function fileOf(part: ContentPart): FileReference | undefined {
  if ('image' in part) return part.image
  return 'document' in part ? part.document : undefined
}

/** The URL of a part that is one. */
export function urlOf(part: ContentPart): string {
  return 'imageUrl' in part ? part.imageUrl : 'documentUrl' in part ? part.documentUrl : ''
}

/** The media type tells whether it is an image or a document. */
export function partOfFile(file: FileReference): ContentPart {
  return file.mediaType.startsWith('image/') ? { image: file } : { document: file }
}

/** The text parts, joined by line breaks. */
export function textOf(content: readonly (object | { readonly text: string })[]): string {
  return content.flatMap((part) => ('text' in part ? [part.text] : [])).join('\n')
}

/** Describes content to readers that cannot see it: its name, type and size, or its address. */
export function describePart(part: Exclude<ContentPart, { readonly text: string }>): string {
  const noun = kindOf(part) === 'IMAGE' ? 'image' : 'document'
  const file = fileOf(part)
  if (file) return describeMedia(noun, file)
  const url = urlOf(part)
  const [, mediaType] = /^data:([^;,]*)/i.exec(url) ?? []
  return mediaType === undefined ? `${noun} at ${url}` : `${noun} of type ${mediaType.toLowerCase()}`
}

export function describeMedia(
  noun: string,
  { name, mediaType, sizeBytes }: Pick<FileReference, 'name' | 'mediaType' | 'sizeBytes'>,
): string {
  return `${noun}${name === null ? '' : ` ${quotedName(name)}`} of type ${mediaType}, ${shownSize(sizeBytes)}`
}

/** A name that cannot end the line or the quotes that it stands in. Clients and tools choose the names of files. */
export function quotedName(name: string): string {
  return `"${name.replaceAll(/[\p{Cc}\u2028\u2029"<>]+/gu, '_')}"`
}

export function shownSize(bytes: number): string {
  if (bytes < 1024) return `${bytes} bytes`
  return bytes < 1024 ** 2 ? `${Math.ceil(bytes / 1024)} KB` : `${(bytes / 1024 ** 2).toFixed(1)} MB`
}
