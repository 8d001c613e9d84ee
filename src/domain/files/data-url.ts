import { toUtf8 } from './charset.ts'
import { isTextType, mediaTypeOf } from './media-type.ts'

/** The parts of a base64 data URL. */
export interface DataUrl {
  /** In lower case, without parameters. */
  readonly mediaType: string
  /** Text is in UTF-8, whatever the URL declares. */
  readonly base64: string
}

const head = /^data:([\w!#$&^.+-]{1,100}\/[\w!#$&^.+-]{1,100})((?:;[\w-]+=[^;,]{0,100}){0,5});base64$/i

/** Undefined unless it is a base64 data URL with a media type and content. Text must be in a known charset. */
export function parseDataUrl(url: string): DataUrl | undefined {
  const comma = url.indexOf(',')
  if (comma < 0 || comma > 1_000) return undefined
  const [, given, parameters = ''] = head.exec(url.slice(0, comma)) ?? []
  const base64 = url.slice(comma + 1)
  if (given === undefined || !isBase64(base64)) return undefined
  const mediaType = mediaTypeOf(given)
  if (!isTextType(mediaType)) return { mediaType, base64 }
  const text = toUtf8(Buffer.from(base64, 'base64'), parameters)
  return text && { mediaType, base64: text.toString('base64') }
}

/** Not checked with one pattern for the whole text, because a repeating pattern needs memory for every repetition. */
function isBase64(text: string): boolean {
  if (text.length === 0 || text.length % 4 !== 0) return false
  const padding = text.endsWith('==') ? 2 : text.endsWith('=') ? 1 : 0
  return !/[^A-Za-z0-9+/]/.test(padding === 0 ? text : text.slice(0, -padding))
}

export function sizeOfBase64(base64: string): number {
  return Buffer.byteLength(base64, 'base64')
}
