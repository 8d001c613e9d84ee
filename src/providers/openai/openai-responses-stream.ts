import type {
  ResponseError,
  Response as ModelResponse,
  ResponseOutputItem,
  ResponseReasoningItem,
  ResponseStreamEvent,
} from 'openai/resources/responses/responses'

import type { ModelPart, ModelRequest } from '../../domain/models/model-request.ts'
import type { TokenCounts } from '../../domain/models/usage.ts'
import { unusable } from '../errors.ts'
import { readEvents } from '../read-events.ts'

/** Items of an answer are identified by their index. Each has events for its start, its deltas and its end. */
export function readResponse(
  open: () => Promise<AsyncIterable<ResponseStreamEvent>>,
  request: Pick<ModelRequest, 'model' | 'exchange'>,
): AsyncGenerator<ModelPart, void> {
  const { model } = request
  const begun = new Set<string>()
  /**
   * Calls whose arguments were streamed. A compatible server may send the arguments, or the whole call, only at the
   * end.
   */
  const written = new Set<string>()
  /** The summary of one reasoning item comes in several texts, which are joined by blank lines. */
  const summaries = new Map<string, number>()

  return readEvents(open, request, function* (event): Generator<ModelPart, void> {
    switch (event.type) {
      case 'response.output_item.added':
        if (event.item.type === 'function_call') {
          const { call_id: callId, name } = event.item
          yield { type: 'call', item: String(event.output_index), callId, name }
          begun.add(String(event.output_index))
        }
        break
      case 'response.output_text.delta':
      case 'response.refusal.delta':
      case 'response.reasoning_text.delta':
      case 'response.reasoning_summary_text.delta': {
        const item = String(event.output_index)
        if (event.delta === '') break
        const type = event.type.startsWith('response.reasoning') ? 'reasoning' : 'text'
        const place = 'summary_index' in event ? event.summary_index : event.content_index
        const newPiece = type === 'reasoning' && begun.has(item) && summaries.get(item) !== place
        summaries.set(item, place)
        begun.add(item)
        yield { type, item, text: newPiece ? `\n\n${event.delta}` : event.delta }
        break
      }
      case 'response.function_call_arguments.delta':
        written.add(String(event.output_index))
        yield { type: 'arguments', item: String(event.output_index), text: event.delta }
        break
      case 'response.output_item.done':
        yield* done(event.item, String(event.output_index), { model, begun, written })
        break
      case 'response.completed':
      case 'response.incomplete':
      case 'response.failed':
        yield endOf(event.response, event.type)
        break
      default:
    }
  })
}

function* done(
  item: ResponseOutputItem,
  key: string,
  { model, begun, written }: { model: string; begun: ReadonlySet<string>; written: ReadonlySet<string> },
): Generator<ModelPart, void> {
  if (item.type === 'reasoning') {
    const redacted = !begun.has(key)
    // Neither readable nor useful to the provider, so the item is dropped.
    if (redacted && !item.encrypted_content) return
    yield { type: 'done', item: key, redacted, provider: { model, data: reasoningData(item) } }
  } else if (item.type === 'message' && item.phase) {
    yield { type: 'done', item: key, provider: { model, data: { phase: item.phase } } }
  } else {
    if (item.type === 'function_call' && !begun.has(key)) {
      yield { type: 'call', item: key, callId: item.call_id, name: item.name }
    }
    if (item.type === 'function_call' && !written.has(key)) yield { type: 'arguments', item: key, text: item.arguments }
    yield { type: 'done', item: key }
  }
}

function reasoningData({ id, summary, encrypted_content }: ResponseReasoningItem) {
  return { id, summary: summary.map(({ text }) => text), encrypted_content: encrypted_content ?? null }
}

/** Compatible servers may end with "completed" although the response says that it is not. */
function endOf(response: ModelResponse, type: 'response.completed' | 'response.incomplete' | 'response.failed') {
  if (type === 'response.failed' || response.status === 'failed') {
    throw failureOf(response)
  }
  if (type === 'response.incomplete' || response.status === 'incomplete') return incomplete(response)
  return { type: 'finish', reason: 'end', usage: usageOf(response) } as const
}

function incomplete(response: ModelResponse): ModelPart {
  const reason = response.incomplete_details?.reason
  if (reason === 'content_filter') {
    return unusable('The model provider withheld the answer.', 'content_filter', { retryable: false })
  }
  return { type: 'finish', reason: 'length', usage: usageOf(response) }
}

function usageOf({ usage }: ModelResponse): TokenCounts {
  return {
    inputTokens: usage?.input_tokens ?? 0,
    outputTokens: usage?.output_tokens ?? 0,
    cachedInputTokens: usage?.input_tokens_details?.cached_tokens ?? 0,
    reasoningTokens: usage?.output_tokens_details?.reasoning_tokens ?? 0,
  }
}

/** Includes the provider's code, which classifies the failure. */
function failureOf({ error }: { readonly error: ResponseError | null }): Error {
  return error
    ? Object.assign(new Error(error.message), { code: error.code })
    : new Error('The provider gave no reason.')
}
