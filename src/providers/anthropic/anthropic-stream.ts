import type {
  RawContentBlockDeltaEvent,
  RawContentBlockStartEvent,
  RawMessageStreamEvent,
} from '@anthropic-ai/sdk/resources/messages'

import { answerLimits } from '../../domain/models/answer-limits.ts'
import type { ModelPart, ModelRequest } from '../../domain/models/model-request.ts'
import type { TokenCounts } from '../../domain/models/usage.ts'
import { UnfitPieceError, unusable } from '../errors.ts'
import { readEvents } from '../read-events.ts'
import { writtenArguments } from '../wire.ts'
import { ResponseTooLargeError } from '../response-limits.ts'

interface Counts {
  input_tokens?: number | null
  output_tokens?: number | null
  cache_creation_input_tokens?: number | null
  cache_read_input_tokens?: number | null
  output_tokens_details?: { thinking_tokens: number } | null
}

type Block = RawContentBlockStartEvent['content_block']

/** Each block has an index in the message, and events of its own for its start, its deltas and its end. */
export function readMessage(
  events: AsyncIterable<RawMessageStreamEvent>,
  request: Pick<ModelRequest, 'model' | 'exchange'>,
): AsyncGenerator<ModelPart, void> {
  const { model } = request
  const blocks = new Map<number, OpenBlock>()
  let counts: Counts = {}
  let stop: { readonly reason: string; readonly details: string | null } | undefined

  const blockAt = (index: number) => {
    const block = blocks.get(index)
    if (!block) throw new UnfitPieceError()
    return block
  }

  return readEvents(events, request, function* (event): Generator<ModelPart, void> {
    switch (event.type) {
      case 'message_start':
        counts = event.message.usage ?? {}
        yield { type: 'usage', usage: usageOf(counts) }
        break
      case 'content_block_start': {
        const block = new OpenBlock(String(event.index), event.content_block)
        blocks.set(event.index, block)
        yield* block.start()
        break
      }
      case 'content_block_delta':
        yield* blockAt(event.index).write(event.delta)
        break
      case 'content_block_stop':
        yield* blocks.get(event.index)?.stop(model) ?? []
        break
      case 'message_delta':
        // A count that is missing or null stays unchanged. A compatible server may count nothing.
        counts = { ...counts, ...withoutNulls(event.usage ?? {}) }
        if (event.delta.stop_reason) stop = { reason: event.delta.stop_reason, details: detailsOf(event.delta) }
        break
      case 'message_stop':
        if (stop) yield endOf(stop, counts)
        break
      default:
        event satisfies never
    }
  })
}

class OpenBlock {
  readonly #item: string
  readonly #block: Block
  #signature = ''
  #written = false

  constructor(item: string, block: Block) {
    this.#item = item
    this.#block = block
  }

  *start(): Generator<ModelPart, void> {
    const block = this.#block
    const item = this.#item
    if (block.type === 'tool_use') yield { type: 'call', item, callId: block.id, name: block.name }
    else if (block.type === 'text' && block.text) yield* this.#say('text', block.text)
    else if (block.type === 'thinking' && block.thinking) yield* this.#say('reasoning', block.thinking)
    if (block.type === 'thinking') this.#signature = block.signature ?? ''
  }

  *write(delta: RawContentBlockDeltaEvent['delta']): Generator<ModelPart, void> {
    if (delta.type === 'text_delta') yield* this.#say('text', delta.text)
    else if (delta.type === 'thinking_delta') yield* this.#say('reasoning', delta.thinking)
    else if (delta.type === 'input_json_delta') yield* this.#say('arguments', delta.partial_json)
    else if (delta.type === 'signature_delta') this.#sign(delta.signature)
  }

  *stop(model: string): Generator<ModelPart, void> {
    const block = this.#block
    const item = this.#item
    if (block.type === 'redacted_thinking') {
      yield { type: 'done', item, redacted: true, provider: { model, data: { redacted: block.data } } }
    } else if (block.type === 'thinking') {
      const provider = this.#signature && { provider: { model, data: { signature: this.#signature } } }
      yield { type: 'done', item, redacted: !this.#written, ...provider }
    } else {
      // A compatible server may send the whole input with the start.
      if (block.type === 'tool_use' && !this.#written && hasKeys(block.input)) {
        yield { type: 'arguments', item, text: writtenArguments(block.input) }
      }
      yield { type: 'done', item }
    }
  }

  /** Signatures are not shown to anyone, so an endless one would go unnoticed without this limit. */
  #sign(piece: string): void {
    this.#signature += piece
    if (this.#signature.length > answerLimits.providerDataCharacters)
      throw new ResponseTooLargeError(`A signature has more than ${answerLimits.providerDataCharacters} characters.`)
  }

  *#say(type: 'text' | 'reasoning' | 'arguments', text: string): Generator<ModelPart, void> {
    if (text === '') return
    this.#written = true
    yield { type, item: this.#item, text }
  }
}

function hasKeys(input: unknown): boolean {
  return typeof input === 'object' && input !== null && Object.keys(input).length > 0
}

function withoutNulls<T extends object>(counts: T): Partial<T> {
  return Object.fromEntries(Object.entries(counts).filter(([, value]) => value !== null)) as Partial<T>
}

function detailsOf(delta: { readonly stop_details?: unknown }): string | null {
  const details = delta.stop_details as { category?: string | null; explanation?: string | null } | null | undefined
  return [details?.category, details?.explanation].filter(Boolean).join(': ') || null
}

function endOf({ reason, details }: { reason: string; details: string | null }, counts: Counts): ModelPart {
  // Refused content must leave the context, so this does not count as an answer.
  if (reason === 'refusal') return unusable('The model refused to answer.', details, { retryable: false })
  const cut = reason === 'max_tokens' || reason === 'model_context_window_exceeded'
  return { type: 'finish', reason: cut ? 'length' : 'end', usage: usageOf(counts) }
}

function usageOf(counts: Counts): TokenCounts {
  const cached = counts.cache_read_input_tokens ?? 0
  return {
    inputTokens: (counts.input_tokens ?? 0) + (counts.cache_creation_input_tokens ?? 0) + cached,
    outputTokens: counts.output_tokens ?? 0,
    cachedInputTokens: cached,
    cacheWriteTokens: counts.cache_creation_input_tokens ?? 0,
    reasoningTokens: counts.output_tokens_details?.thinking_tokens ?? 0,
  }
}
