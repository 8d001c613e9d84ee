import { isPdf, isTextType } from '../files/media-type.ts'

/** The tokens of content for a model that reads it. Like all token counts here, an estimate on the high side. */
export function estimateTokens(mediaType: string, bytes: Buffer): number {
  if (isTextType(mediaType)) return Math.ceil(bytes.length / 3)
  if (mediaType.startsWith('image/')) return imageTokens(bytes)
  if (isPdf(mediaType)) return tokensPerPage * pagesOf(bytes)
  return descriptionTokens
}

/** For an image whose size is unknown. */
export const usualImageTokens = 1_500
/** For a document behind a URL, whose size is unknown. */
export const usualDocumentTokens = 5_000
const maxImageTokens = 1_600
/** Providers scale larger images down to this many pixels on the longer side. */
const longestSide = 1_568
const pixelsPerToken = 750

function imageTokens(bytes: Buffer): number {
  const size = imageSize(bytes)
  if (!size) return usualImageTokens
  const scale = Math.min(1, longestSide / Math.max(size.width, size.height, 1))
  const pixels = size.width * size.height * scale ** 2
  return Math.min(maxImageTokens, Math.max(1, Math.ceil(pixels / pixelsPerToken)))
}

/** Models read a page both as text and as an image. */
const tokensPerPage = 2_000
const bytesPerPage = 50_000
/** More than any model reads. What a file says of itself may be nonsense, and must fit the integers of the API. */
const maxPages = 10_000

/** A PDF states its number of pages, unless that part of it is compressed. */
function pagesOf(bytes: Buffer): number {
  const text = bytes.toString('latin1')
  const pages = text.match(/\/Type\s{0,9}\/Page(?![A-Za-z])/g)?.length ?? 0
  return Math.min(maxPages, pages > 0 ? pages : Math.ceil(bytes.length / bytesPerPage))
}

/** Content of other types is replaced by a short description. */
const descriptionTokens = 50

interface ImageSize {
  readonly width: number
  readonly height: number
}

/** The size in the header of a PNG, GIF, WebP or JPEG image. Undefined if it cannot be read. */
function imageSize(bytes: Buffer): ImageSize | undefined {
  try {
    return pngSize(bytes) ?? gifSize(bytes) ?? webpSize(bytes) ?? jpegSize(bytes)
  } catch (error) {
    // The image ends before its header does.
    if (error instanceof RangeError) return undefined
    throw error
  }
}

function pngSize(bytes: Buffer): ImageSize | undefined {
  if (bytes.toString('latin1', 1, 4) !== 'PNG') return undefined
  return { width: bytes.readUInt32BE(16), height: bytes.readUInt32BE(20) }
}

function gifSize(bytes: Buffer): ImageSize | undefined {
  if (bytes.toString('latin1', 0, 4) !== 'GIF8') return undefined
  return { width: bytes.readUInt16LE(6), height: bytes.readUInt16LE(8) }
}

function webpSize(bytes: Buffer): ImageSize | undefined {
  if (bytes.toString('latin1', 8, 12) !== 'WEBP') return undefined
  const format = bytes.toString('latin1', 12, 16)
  if (format === 'VP8X') return { width: bytes.readUIntLE(24, 3) + 1, height: bytes.readUIntLE(27, 3) + 1 }
  if (format === 'VP8 ') return { width: bytes.readUInt16LE(26) & 0x3fff, height: bytes.readUInt16LE(28) & 0x3fff }
  const bits = bytes.readUInt32LE(21)
  return { width: (bits & 0x3fff) + 1, height: ((bits >> 14) & 0x3fff) + 1 }
}

/** Segments follow each other. The one that starts a frame has the size. */
function jpegSize(bytes: Buffer): ImageSize | undefined {
  if (bytes.readUInt16BE(0) !== 0xffd8) return undefined
  for (let at = 2; at < bytes.length; at += 2 + bytes.readUInt16BE(at + 2)) {
    const marker = bytes.readUInt16BE(at)
    const isFrame = marker >= 0xffc0 && marker <= 0xffcf && ![0xffc4, 0xffc8, 0xffcc].includes(marker)
    if (isFrame) return { height: bytes.readUInt16BE(at + 5), width: bytes.readUInt16BE(at + 7) }
    if (marker < 0xff00) return undefined
  }
  return undefined
}
