import { alongList } from '../../util/along-list.ts'
import { describeMedia, quotedName } from '../conversations/content.ts'
import type { FilePlace } from '../files/file.ts'
import { isPdf, isTextType } from '../files/media-type.ts'
import { mediaIn, type MediaFacts, type MediaPart, type ModelContent } from './model-content.ts'
import type { ModelMessage, ModelRequest } from '../models/model-request.ts'
import type { ModelCapability } from '../models/model.ts'

/** The files of a request whose content is not loaded yet. */
export function filesToLoad({ messages }: ModelRequest): FilePlace[] {
  if (!haveMedia(messages)) return []
  const content = messages.flatMap((message) => {
    if (message.role === 'user') return message.content
    return message.role === 'tool' ? message.returns.flatMap((one) => one.content ?? []) : []
  })
  return content.flatMap((part) => {
    const media = 'text' in part ? undefined : mediaIn(part)
    return media && 'file' in media ? [media.file] : []
  })
}

/** The request with descriptions instead of content that a model with these capabilities cannot read. */
export function describeUnreadable(request: ModelRequest, capabilities: readonly ModelCapability[]): ModelRequest {
  return replaceMedia(request, (part) => {
    const reason = unreadable(part, capabilities)
    return reason === undefined ? part : described(part, reason)
  })
}

/** The request with the content of its files. Text documents become text. `base64Of` may lack a file. */
export function withFileContent(
  request: ModelRequest,
  base64Of: (place: FilePlace) => string | undefined,
): ModelRequest {
  return replaceMedia(request, (part) => loadedPart(part, base64Of))
}

function replaceMedia(request: ModelRequest, replace: (part: MediaPart) => ModelContent): ModelRequest {
  if (!haveMedia(request.messages)) return request
  const replaced = (content: readonly ModelContent[]) => content.map((part) => ('text' in part ? part : replace(part)))
  const messages = request.messages.map((message): ModelMessage => {
    if (!hasMedia(message)) return message
    if (message.role === 'user') return { ...message, content: replaced(message.content) }
    if (message.role !== 'tool') return message
    const returns = message.returns.map((one) => (one.content ? { ...one, content: replaced(one.content) } : one))
    return { ...message, returns }
  })
  return { ...request, messages }
}

const haveMedia = alongList(
  () => false,
  (found, message: ModelMessage) => found || hasMedia(message),
)

function hasMedia(message: ModelMessage): boolean {
  const isMedia = (part: ModelContent) => !('text' in part)
  if (message.role === 'user') return message.content.some(isMedia)
  return message.role === 'tool' && message.returns.some(({ content }) => content?.some(isMedia) ?? false)
}

function loadedPart(part: MediaPart, base64Of: (place: FilePlace) => string | undefined): ModelContent {
  const media = mediaIn(part)
  if ('url' in media) return part
  const { mediaType, name, sizeBytes, tokens } = media
  const base64 = 'base64' in media ? media.base64 : base64Of(media.file)
  if (base64 === undefined) return described(part, 'It is no longer stored.')
  const loaded = { mediaType, name, sizeBytes, tokens, base64 }
  if (isTextType(mediaType)) return { text: documentText(loaded) }
  return 'image' in part ? { image: loaded } : { document: loaded }
}

/** Why the model cannot read the part. Undefined if it can. */
function unreadable(part: MediaPart, capabilities: readonly ModelCapability[]): string | undefined {
  if ('image' in part) return capabilities.includes('IMAGES') ? undefined : 'You cannot see images.'
  const { document } = part
  if (!('url' in document)) {
    if (isTextType(document.mediaType)) return undefined
    if (!isPdf(document.mediaType)) return 'You cannot read this type of file.'
  }
  return capabilities.includes('DOCUMENTS') ? undefined : 'You cannot read documents of this type.'
}

function described(part: MediaPart, reason: string): ModelContent {
  const noun = 'image' in part ? 'image' : 'document'
  const media = mediaIn(part)
  const words = 'url' in media ? `${noun} at ${media.url}` : describeMedia(noun, media)
  return { text: `[${words}. ${reason}]`, describes: true }
}

function documentText({ name, mediaType, base64 }: MediaFacts & { readonly base64: string }): string {
  const title = name === null ? '' : ` name=${quotedName(name)}`
  const text = new TextDecoder().decode(Buffer.from(base64, 'base64'))
  return `<document${title} type="${mediaType}">\n${text}\n</document>`
}
