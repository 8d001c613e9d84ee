import type { ChatCompletionChunk } from 'openai/resources/chat/completions/completions'

import type { ModelPart, ModelRequest } from '../../domain/models/model-request.ts'
import { noUsage, type TokenCounts } from '../../domain/models/usage.ts'
import { isJsonObject } from '../../util/json.ts'
import { UnfitPieceError, unusable } from '../errors.ts'
import { readEvents } from '../read-events.ts'
import { writtenArguments } from '../wire.ts'

/** A delta as servers actually send it: compatible servers differ from OpenAI in names and types. */
type Delta = Omit<ChatCompletionChunk.Choice.Delta, 'content'> & {
  readonly content?: string | readonly ContentPart[] | null
  /** The two names that servers use for a model's reasoning. */
  readonly reasoning_content?: string | null
  readonly reasoning?: string | null
}

interface ContentPart {
  readonly type?: string
  readonly text?: string
  readonly thinking?: string | readonly ContentPart[]
}

/** The format has no items, so text, reasoning and calls are told apart here by their order. */
export function readChat(
  open: () => Promise<AsyncIterable<ChatCompletionChunk>>,
  request: Pick<ModelRequest, 'model' | 'exchange'>,
): AsyncGenerator<ModelPart, void> {
  const { model } = request
  const answer = new ChatAnswer(model)
  let finishReason: string | null = null
  let usage: TokenCounts = noUsage

  const read = ({ choices, usage: counted }: ChatCompletionChunk): ModelPart[] => {
    // The counts arrive last, in a separate chunk after the finish reason. Some servers send them with every chunk.
    if (counted) usage = usageOf(counted)
    if (choices && !choices.every(isJsonObject)) throw new UnfitPieceError()
    const [choice] = choices ?? []
    finishReason ??= choice?.finish_reason ?? null
    return [
      ...(counted && finishReason === null ? [{ type: 'usage' as const, usage }] : []),
      ...(choice?.delta ? answer.read(choice.delta) : []),
    ]
  }
  const end = (): ModelPart[] => {
    if (finishReason === null) return []
    if (finishReason === 'content_filter') {
      return [unusable('The model provider withheld the answer.', 'content_filter', { retryable: false })]
    }
    return [...answer.end(), { type: 'finish', reason: finishReason === 'length' ? 'length' : 'end', usage }]
  }
  return readEvents(open, request, read, end)
}

class ChatAnswer {
  readonly #model: string
  readonly #calls = new Map<number, { readonly item: string; readonly givenId: string }>()
  readonly #callItems: string[] = []
  readonly #callIds = new Set<string>()
  #items = 0
  /** The text or reasoning that is being written. */
  #open: { readonly type: 'text' | 'reasoning'; readonly item: string; readonly field: string } | undefined

  constructor(model: string) {
    this.#model = model
  }

  *read(delta: Delta): Generator<ModelPart, void> {
    const field = delta.reasoning_content ? 'reasoning_content' : 'reasoning'
    yield* this.#write('reasoning', delta.reasoning_content || delta.reasoning, field)
    yield* this.#content(delta.content)
    yield* this.#write('text', delta.refusal, 'content')
    for (const call of delta.tool_calls ?? []) yield* this.#call(call)
  }

  /** Some servers send a list of parts instead of text. */
  *#content(content: Delta['content']): Generator<ModelPart, void> {
    if (!Array.isArray(content)) return yield* this.#write('text', content as string | null | undefined, 'content')
    for (const { text, thinking } of content as readonly ContentPart[]) {
      const thought = Array.isArray(thinking) ? thinking.map((part: ContentPart) => part.text ?? '').join('') : thinking
      yield* this.#write('reasoning', thought as string | undefined, 'content')
      yield* this.#write('text', text, 'content')
    }
  }

  /** Calls may be interleaved to the end, so none of them is complete before. */
  *end(): Generator<ModelPart, void> {
    yield* this.#close()
    for (const item of this.#callItems) yield { type: 'done', item }
  }

  *#write(type: 'text' | 'reasoning', text: string | null | undefined, field: string): Generator<ModelPart, void> {
    if (!text) return
    if (this.#open?.type !== type) {
      yield* this.#close()
      this.#open = { type, item: this.#newItem(), field }
    }
    yield { type, item: this.#open.item, text }
  }

  *#close(): Generator<ModelPart, void> {
    if (!this.#open) return
    const { type, item, field } = this.#open
    this.#open = undefined
    yield type === 'reasoning'
      ? { type: 'done', item, provider: { model: this.#model, data: { field } } }
      : { type: 'done', item }
  }

  *#call(piece: ChatCompletionChunk.Choice.Delta.ToolCall): Generator<ModelPart, void> {
    const index = piece.index ?? 0
    const name = piece.function?.name
    let call = this.#calls.get(index)
    // Some servers give every call the same index and distinguish them only by id.
    if (!call || (name && piece.id && piece.id !== call.givenId)) {
      yield* this.#close()
      call = { item: this.#newItem(), givenId: piece.id ?? '' }
      this.#calls.set(index, call)
      this.#callItems.push(call.item)
      yield { type: 'call', item: call.item, callId: this.#newCallId(piece.id), name: name ?? '' }
    }
    const given: unknown = piece.function?.arguments
    // Some servers send the arguments as a complete object.
    const text = isJsonObject(given) ? writtenArguments(given) : (given as string | null | undefined)
    if (text) yield { type: 'arguments', item: call.item, text }
  }

  #newItem(): string {
    return String(this.#items++)
  }

  /** A server may send no id, or the same one twice. */
  #newCallId(given: string | undefined): string {
    const callId = given && !this.#callIds.has(given) ? given : `call_${this.#callIds.size}`
    this.#callIds.add(callId)
    return callId
  }
}

function usageOf(usage: NonNullable<ChatCompletionChunk['usage']>): TokenCounts {
  return {
    inputTokens: usage.prompt_tokens ?? 0,
    outputTokens: usage.completion_tokens ?? 0,
    cachedInputTokens: usage.prompt_tokens_details?.cached_tokens ?? 0,
    reasoningTokens: usage.completion_tokens_details?.reasoning_tokens ?? 0,
  }
}
