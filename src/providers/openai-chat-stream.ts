import type { ChatCompletionChunk } from 'openai/resources/chat/completions/completions'

import type { ModelPart } from '../domain/model-request.ts'
import { noUsage, type Usage } from '../domain/run.ts'
import { unusable } from './errors.ts'

type Delta = ChatCompletionChunk.Choice.Delta & {
  /** Not OpenAI's: two names under which compatible servers send what a model thinks. */
  readonly reasoning_content?: string | null
  readonly reasoning?: string | null
}

/** The format has no items: text, reasoning and calls are told apart here by what follows what. */
export async function* readChat(
  chunks: AsyncIterable<ChatCompletionChunk>,
  model: string,
): AsyncGenerator<ModelPart, void> {
  const answer = new ChatAnswer(model)
  let finishReason: string | null = null
  let usage: Usage = noUsage

  for await (const { choices, usage: counted } of chunks) {
    // The counts come last, in a chunk of their own, after the finish reason.
    if (counted) usage = usageOf(counted)
    const [choice] = choices ?? []
    const parts = choice?.delta ? [...answer.read(choice.delta)] : []
    yield* parts.length > 0 ? parts : [{ type: 'alive' as const }]
    finishReason ??= choice?.finish_reason ?? null
  }
  if (finishReason === null) return
  if (finishReason === 'content_filter') {
    return yield unusable('The model provider withheld the answer.', 'content_filter', { retryable: false })
  }
  yield* answer.end()
  yield { type: 'finish', reason: finishReason === 'length' ? 'length' : 'end', usage }
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
    yield* this.#write('text', delta.content, 'content')
    yield* this.#write('text', delta.refusal, 'content')
    for (const call of delta.tool_calls ?? []) yield* this.#call(call)
  }

  /** Calls may be interleaved to the last, so none of them is done before. */
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
    // Some servers give every call the same index and tell them apart by id alone.
    if (!call || (name && piece.id && piece.id !== call.givenId)) {
      yield* this.#close()
      call = { item: this.#newItem(), givenId: piece.id ?? '' }
      this.#calls.set(index, call)
      this.#callItems.push(call.item)
      yield { type: 'call', item: call.item, callId: this.#newCallId(piece.id), name: name ?? '' }
    }
    const text = piece.function?.arguments
    if (text) yield { type: 'arguments', item: call.item, text }
  }

  #newItem(): string {
    return String(this.#items++)
  }

  /** A server may send none, or the same one twice. */
  #newCallId(given: string | undefined): string {
    const callId = given && !this.#callIds.has(given) ? given : `call_${this.#callIds.size}`
    this.#callIds.add(callId)
    return callId
  }
}

function usageOf(usage: NonNullable<ChatCompletionChunk['usage']>): Usage {
  return {
    inputTokens: usage.prompt_tokens ?? 0,
    outputTokens: usage.completion_tokens ?? 0,
    cachedInputTokens: usage.prompt_tokens_details?.cached_tokens ?? 0,
    reasoningTokens: usage.completion_tokens_details?.reasoning_tokens ?? 0,
  }
}
