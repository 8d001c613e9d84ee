import { createHash } from 'node:crypto'

import { textOf } from '../domain/conversations/content.ts'
import type { Media, ModelContent } from '../domain/context/model-content.ts'
import type { AssistantPart, ModelMessage, ModelRequest, ModelToolReturn } from '../domain/models/model-request.ts'
import { alongList } from '../util/along-list.ts'
import { isJsonObject, parseStorable, type Json, type JsonObject } from '../util/json.ts'

/**
 * The exchange with ids and names that a provider accepts. Ids come from the model that made the call: another provider
 * may refuse their characters or their length, and models repeat them. The same exchange always gets the same ids.
 * Messages that need no change are returned as they are.
 */
export function withWireIds(messages: readonly ModelMessage[], maxLength: 40 | 64): readonly ModelMessage[] {
  return (maxLength === 40 ? exchange40 : exchange64)(messages).messages
}

const exchange40 = exchangeWithIds(40)
const exchange64 = exchangeWithIds(64)

function exchangeWithIds(maxLength: number) {
  return alongList(
    () => new WireExchange(maxLength),
    (exchange, message: ModelMessage) => exchange.add(message),
  )
}

class WireExchange {
  readonly messages: ModelMessage[] = []
  readonly #maxLength: number
  readonly #used = new Map<string, number>()
  /**
   * The new ids of the last assistant turn's calls, by their original ids. There are several if the model repeated an
   * id.
   */
  #turn = new Map<string, string[]>()

  constructor(maxLength: number) {
    this.#maxLength = maxLength
  }

  add(message: ModelMessage): this {
    this.messages.push(this.#wireMessage(message))
    return this
  }

  #wireMessage(message: ModelMessage): ModelMessage {
    if (message.role === 'assistant') {
      this.#turn = new Map()
      const parts = message.parts.map((part) => this.#wirePart(part))
      return isSame(parts, message.parts) ? message : { ...message, parts }
    }
    if (message.role === 'tool') {
      const returns = message.returns.map((result) => {
        const callId = this.#turn.get(result.callId)?.shift() ?? this.#newId(result.callId)
        const name = wireName(result.name)
        return callId === result.callId && name === result.name ? result : { ...result, callId, name }
      })
      return isSame(returns, message.returns) ? message : { ...message, returns }
    }
    if (message.at === undefined) return message
    if (message.role === 'user') return { ...message, content: withTime(message.content, message.at) }
    return { ...message, text: [...timeLine(message.at), message.text].join('\n') }
  }

  #wirePart(part: AssistantPart): AssistantPart {
    if (part.type !== 'call') return part
    const callId = this.#newId(part.callId)
    const ids = this.#turn.get(part.callId)
    if (ids) ids.push(callId)
    else this.#turn.set(part.callId, [callId])
    const name = wireName(part.name)
    return callId === part.callId && name === part.name ? part : { ...part, callId, name }
  }

  #newId(id: string): string {
    const times = this.#used.get(id) ?? 0
    this.#used.set(id, times + 1)
    const fits = /^[\w-]+$/.test(id) && id.length <= this.#maxLength
    if (fits && times === 0) return id
    return `call_${createHash('sha256').update(`${id} ${times}`).digest('hex').slice(0, 24)}`
  }
}

/**
 * Turns of two roles, which alternate, as some formats require. They begin and end with the user. Messages without
 * content are left out.
 */
export function alternatingTurns<Part>(
  messages: readonly ModelMessage[],
  partsOf: (message: ModelMessage) => readonly Part[],
  textPart: (text: string) => Part,
): { readonly isUser: boolean; readonly parts: Part[] }[] {
  const turns: { readonly isUser: boolean; readonly parts: Part[] }[] = []
  for (const message of messages) {
    const isUser = message.role !== 'assistant'
    const parts = partsOf(message)
    const last = turns.at(-1)
    if (parts.length === 0) continue
    if (last?.isUser === isUser) last.parts.push(...parts)
    else turns.push({ isUser, parts: [...parts] })
  }
  if (!turns[0]?.isUser) turns.unshift({ isUser: true, parts: [textPart('(The conversation goes on.)')] })
  if (!turns.at(-1)?.isUser) turns.push({ isUser: true, parts: [textPart('Go on.')] })
  return turns
}

function isSame<Item>(items: readonly Item[], others: readonly Item[]): boolean {
  return items.every((item, place) => item === others[place])
}

/** No format has a field for the time of a message, so it is written in front of the text. */
function timeLine(at: string | undefined): string[] {
  return at === undefined ? [] : [`[${at}]`]
}

function withTime(content: readonly ModelContent[], at: string | undefined): readonly ModelContent[] {
  const [first, ...rest] = content
  if (at === undefined) return content
  if (!first || !('text' in first)) return [...timeLine(at).map((text) => ({ text })), ...content]
  return [{ ...first, text: [...timeLine(at), first.text].join('\n') }, ...rest]
}

/** A model may call a tool by a name that providers don't accept. The next request must still contain the call. */
function wireName(name: string): string {
  return name.replaceAll(/[^\w-]/g, '_').slice(0, 64) || '_'
}

/**
 * The arguments as an object. Arguments that are not valid JSON, or nested too deeply to be serialized again, are sent
 * as text, so that the model sees what its error is about.
 */
export function argumentsObject(text: string): JsonObject {
  if (text.trim() === '') return {}
  const value = parseStorable(text)
  return isJsonObject(value) ? value : { unparsable: text }
}

/**
 * Arguments that arrived as JSON and not as text. The model is told if they are nested too deeply to be written: the
 * text is no JSON, so the call is answered with an error.
 */
export function writtenArguments(value: unknown): string {
  try {
    return JSON.stringify(value ?? {})
  } catch {
    return '(These arguments were nested too deeply.)'
  }
}

/** The same as text. Valid arguments are passed on exactly as the model wrote them. */
export function argumentsText(text: string): string {
  const value = argumentsObject(text)
  return text.trim() !== '' && !('unparsable' in value) ? text : JSON.stringify(value)
}

/**
 * Whether the response schema can be given to a provider as a parameter. OpenAI and compatible servers accept only
 * objects.
 */
export function isObjectSchema(schema: Json): schema is JsonObject {
  return isJsonObject(schema) && schema['type'] === 'object'
}

/** The system prompt with the response schema, for models on which it cannot be enforced otherwise. */
export function promptWithSchema({ systemPrompt, settings: { responseSchema } }: ModelRequest): string {
  const schema = `<response_schema>\nYour final answer must be one JSON value that satisfies this JSON Schema, with no other text before or after it:\n${JSON.stringify(responseSchema)}\n</response_schema>`
  return [systemPrompt, schema].filter((text) => text !== '').join('\n\n')
}

/** A return as text, with its time and the notes about its call in front, because no format has fields for them. */
export function returnText({ output, content, notes = [], at }: ModelToolReturn): string {
  return [...timeLine(at), ...notes.map(noteLine), content ? textOf(content) : output].join('\n')
}

/**
 * The parts of a return that contains more than text, with the time and the notes in front. Undefined if it is all
 * text.
 */
export function returnContent({ content, notes = [], at }: ModelToolReturn): ModelContent[] | undefined {
  if (!content?.some((part) => !('text' in part))) return undefined
  return [...[...timeLine(at), ...notes.map(noteLine)].map((text) => ({ text })), ...content]
}

/**
 * Content other than text that tools returned, each after a line that names its tool, for formats whose returns can
 * only be text.
 */
export function returnedMedia(returns: readonly ModelToolReturn[]): ModelContent[] {
  return returns.flatMap((one) => {
    const media = one.content?.filter((part) => !('text' in part)) ?? []
    return media.length > 0 ? [{ text: `Returned by the tool ${one.name}:` }, ...media] : []
  })
}

function noteLine(note: string): string {
  return `[Note: ${note}]`
}

/** Content as a provider gets it: a URL, or bytes in base64. */
export function loadedMedia(media: Media): Exclude<Media, { readonly file: unknown }> {
  if ('file' in media) throw new Error(`The file ${media.file.key} was not loaded before the request was made.`)
  return media
}

/** The URL of the content, or a data URL. */
export function mediaUrl(media: Media): string {
  const loaded = loadedMedia(media)
  return 'url' in loaded ? loaded.url : `data:${loaded.mediaType};base64,${loaded.base64}`
}

/** Some formats require a file name. */
export function fileName(media: Media): string {
  return ('name' in media ? media.name : null) ?? 'document.pdf'
}
