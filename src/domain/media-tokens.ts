import { imageSize } from '../util/image-size.ts'
import { isPdf, isTextType } from './files/media-type.ts'

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
