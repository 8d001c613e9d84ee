import { toUtf8 } from '../domain/files/charset.ts'
import { describeMedia, shownSize, type ContentPart } from '../domain/conversations/content.ts'
import { parseDataUrl } from '../domain/files/data-url.ts'
import { fileOfUrl, maxInlineUrl, newFile, referenceTo, type NewFile } from '../domain/files/file.ts'
import { anyBytes, isTextType, mediaTypeOf } from '../domain/files/media-type.ts'
import { cutText, isJsonObject, storableText, type Json } from '../util/json.ts'

/** A part of a tool's result: text, the URL of an image or document, or its bytes. */
export type ReturnedPart =
  | { readonly text: string }
  | { readonly imageUrl: string; readonly name?: string | undefined }
  | { readonly documentUrl: string; readonly name?: string | undefined }
  /** The media type may be any text, and may declare the charset of text. */
  | { readonly bytes: Buffer; readonly mediaType: string; readonly name: string | null }

/** The parts to store, and the files that they refer to. */
export interface KeptContent {
  readonly content: readonly ContentPart[]
  readonly files: readonly NewFile[]
  /** Whether something was too large to keep. */
  readonly truncated: boolean
}

const maxParts = 50
const maxName = 200

/**
 * Turns large content into files. Content that is too large is replaced by a description, because the tool has run and
 * the model must know the result.
 */
export function keepContent(parts: readonly ReturnedPart[], maxFileBytes: number): KeptContent {
  const files: NewFile[] = []
  let truncated = parts.length > maxParts
  const content = parts.slice(0, maxParts).map((part): ContentPart => {
    if ('text' in part) return part
    const file = fileOf(part)
    if (!file) return urlPart(part as UrlPart)
    if (file.sizeBytes > maxFileBytes) {
      truncated = true
      return { text: `[${describeMedia('file', file)}, is larger than ${shownSize(maxFileBytes)} and was not kept]` }
    }
    files.push(file)
    const isImage = 'imageUrl' in part || file.mediaType.startsWith('image/')
    return isImage ? { image: referenceTo(file) } : { document: referenceTo(file) }
  })
  return { content, files, truncated }
}

type UrlPart = Exclude<ReturnedPart, { readonly text: string } | { readonly bytes: Buffer }>

/** Undefined for a URL that is kept unchanged. Text that cannot be decoded becomes a file of unknown type. */
function fileOf(part: Exclude<ReturnedPart, { readonly text: string }>): NewFile | undefined {
  const name = part.name === undefined || part.name === null ? null : cutText(storableText(part.name), maxName)
  if (!('bytes' in part)) return fileOfUrl(urlOf(part), name)
  const { bytes, mediaType } = part
  if (!isTextType(mediaTypeOf(mediaType))) return newFile({ bytes, name, mediaType })
  const text = toUtf8(bytes, mediaType)
  return text ? newFile({ bytes: text, name, mediaType }) : newFile({ bytes, name, mediaType: anyBytes })
}

function urlPart(part: UrlPart): ContentPart {
  const url = storableText(urlOf(part))
  return 'imageUrl' in part ? { imageUrl: url } : { documentUrl: url }
}

function urlOf(part: UrlPart): string {
  return 'imageUrl' in part ? part.imageUrl : part.documentUrl
}

/**
 * Content that a tool's function returned: an object with `content`, a list of parts of which at least one is not text,
 * and optionally `json`. Undefined for any other value, which is then the result itself.
 */
export function contentOfValue(
  value: unknown,
): { readonly content: readonly ReturnedPart[]; readonly json?: Json } | undefined {
  if (!isJsonObject(value) || !Array.isArray(value['content'])) return undefined
  if (Object.keys(value).some((key) => key !== 'content' && key !== 'json')) return undefined
  const content: unknown[] = value['content']
  if (!content.every(isPart) || content.every((part) => 'text' in part)) return undefined
  for (const part of content) if (!('text' in part)) checkUrl(part)
  return { content, ...(value['json'] !== undefined && { json: value['json'] }) }
}

function isPart(part: unknown): part is { readonly text: string } | UrlPart {
  if (!isJsonObject(part)) return false
  const { name, ...rest } = part
  const [key, ...others] = Object.keys(rest)
  if (others.length > 0 || (name !== undefined && typeof name !== 'string')) return false
  return ['text', 'imageUrl', 'documentUrl'].includes(key ?? '') && typeof rest[key ?? ''] === 'string'
}

function checkUrl(part: UrlPart): void {
  const url = urlOf(part)
  if (parseDataUrl(url) || (/^https?:\/\//i.test(url) && URL.canParse(url) && url.length <= maxInlineUrl)) return
  const shown = url.length > 100 ? `${cutText(url, 99)}…` : url
  throw new Error(`The tool returned content with a URL that cannot be used: ${JSON.stringify(shown)}`)
}
