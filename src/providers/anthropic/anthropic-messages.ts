import type {
  Base64ImageSource,
  ContentBlockParam,
  DocumentBlockParam,
  ImageBlockParam,
  TextBlockParam,
} from '@anthropic-ai/sdk/resources/messages'

import type { ModelContent } from '../../domain/context/model-content.ts'
import type { AssistantPart, ModelMessage, ModelRequest } from '../../domain/models/model-request.ts'
import { ownData } from '../reasoning.ts'
import { alternatingTurns, argumentsObject, loadedMedia, returnContent, returnText, withWireIds } from '../wire.ts'

export interface Turn {
  readonly role: 'user' | 'assistant'
  readonly content: ContentBlockParam[]
}

/** Turns contain no empty text. Returns come first in the turn after their calls, followed by what the user says next. */
export function anthropicMessages(request: ModelRequest, { thinks }: { readonly thinks: boolean }): Turn[] {
  const turns = alternatingTurns<ContentBlockParam>(
    withWireIds(request.messages, 64),
    (message) => blocksOf(message, request, { thinks }),
    (text) => ({ type: 'text', text }),
  )
  return turns.map(({ isUser, parts }) => ({ role: isUser ? 'user' : 'assistant', content: parts }))
}

function blocksOf(
  message: ModelMessage,
  request: ModelRequest,
  { thinks }: { readonly thinks: boolean },
): ContentBlockParam[] {
  switch (message.role) {
    case 'user':
      return message.content.flatMap(contentOf)
    case 'system':
      // Only some models have this role, and not in every place.
      return textBlock(`<system-message>\n${message.text}\n</system-message>`)
    case 'assistant':
      return message.parts.flatMap((part, place) => {
        const followed = message.parts.slice(place + 1).some(({ type }) => type !== 'reasoning')
        return partOf(part, request, { keepsThinking: thinks && followed })
      })
    case 'tool':
      return message.returns.map((one) => {
        const parts = returnContent(one)?.flatMap(contentOf)
        const content = parts ?? returnText(one)
        return {
          type: 'tool_result',
          tool_use_id: one.callId,
          ...((typeof content !== 'string' || content.trim() !== '') && { content }),
          ...(one.failed && { is_error: true }),
        }
      })
    default:
      return message satisfies never
  }
}

/** Empty text is refused, and so is text of only white space. */
function textBlock(text: string): TextBlockParam[] {
  return text.trim() === '' ? [] : [{ type: 'text', text }]
}

function contentOf(part: ModelContent): (TextBlockParam | ImageBlockParam | DocumentBlockParam)[] {
  if ('text' in part) return textBlock(part.text)
  const media = loadedMedia('image' in part ? part.image : part.document)
  if ('image' in part) {
    if ('url' in media) return [{ type: 'image', source: { type: 'url', url: media.url } }]
    const mediaType = media.mediaType as Base64ImageSource['media_type']
    return [{ type: 'image', source: { type: 'base64', media_type: mediaType, data: media.base64 } }]
  }
  if ('url' in media) return [{ type: 'document', source: { type: 'url', url: media.url } }]
  const source = { type: 'base64', media_type: 'application/pdf', data: media.base64 } as const
  return [{ type: 'document', source, ...(media.name !== null && { title: media.name }) }]
}

function partOf(
  part: AssistantPart,
  request: ModelRequest,
  { keepsThinking }: { readonly keepsThinking: boolean },
): ContentBlockParam[] {
  if (part.type === 'text') return textBlock(part.text)
  if (part.type === 'call') {
    return [{ type: 'tool_use', id: part.callId, name: part.name, input: argumentsObject(part.argumentsText) }]
  }
  const data = keepsThinking ? ownData(part, request) : undefined
  if (typeof data?.['redacted'] === 'string') return [{ type: 'redacted_thinking', data: data['redacted'] }]
  if (typeof data?.['signature'] !== 'string') return []
  return [{ type: 'thinking', thinking: part.text, signature: data['signature'] }]
}
