import { describePart, fileOf, kindOf, urlOf, type ContentPart } from '../conversations/content.ts'
import { parseDataUrl, sizeOfBase64 } from '../files/data-url.ts'
import type { FilePlace } from '../files/file.ts'
import { usualDocumentTokens, usualImageTokens } from './media-tokens.ts'
import { isReadableImage, isTextType } from '../files/media-type.ts'

/** An image or document for a model: a URL that the provider fetches, inline data, or a file that is not loaded yet. */
export type Media =
  { readonly url: string } | (MediaFacts & { readonly base64: string }) | (MediaFacts & { readonly file: FilePlace })

export interface MediaFacts {
  readonly mediaType: string
  readonly name: string | null
  readonly sizeBytes: number
  readonly tokens: number
}

/** A part of a user message or tool return, in a form that can be converted to every provider's format. */
export type ModelContent =
  | { readonly text: string }
  /** Replaces content that the model cannot read. */
  | { readonly text: string; readonly describes: true }
  | { readonly image: Media }
  | { readonly document: Media }

export type MediaPart = Exclude<ModelContent, { readonly text: string }>

export function mediaIn(part: MediaPart): Media {
  return 'image' in part ? part.image : part.document
}

export function toModelContent(content: readonly ContentPart[], conversationId: string): ModelContent[] {
  return content.map((part) => {
    if ('text' in part) return part
    const media = mediaOf(part, conversationId)
    const isImage = 'url' in media ? kindOf(part) === 'IMAGE' : isReadableImage(media.mediaType)
    return isImage ? { image: media } : { document: media }
  })
}

function mediaOf(part: Exclude<ContentPart, { readonly text: string }>, conversationId: string): Media {
  const reference = fileOf(part)
  if (reference) {
    const { key, ...facts } = reference
    return { ...facts, file: { conversationId, key } }
  }
  const url = urlOf(part)
  const data = parseDataUrl(url)
  if (!data) return { url }
  const sizeBytes = sizeOfBase64(data.base64)
  const tokens = isTextType(data.mediaType) ? Math.ceil(sizeBytes / 3) : usualImageTokens
  return { ...data, name: null, sizeBytes, tokens }
}

/** Estimated tokens of content that is not text. */
export function weighMedia(part: MediaPart): number {
  const media = mediaIn(part)
  if ('url' in media) return 'image' in part ? usualImageTokens : usualDocumentTokens
  return media.tokens
}

/** The parts as text, for readers without media: other content is described. */
export function contentText(content: readonly ContentPart[]): string {
  return content.map((part) => ('text' in part ? part.text : `[${describePart(part)}]`)).join('\n')
}
