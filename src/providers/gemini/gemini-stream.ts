import type { Candidate, GenerateContentResponse, GenerateContentResponseUsageMetadata, Part } from '@google/genai'

import type { ModelPart, ModelRequest } from '../../domain/models/model-request.ts'
import type { TokenCounts } from '../../domain/models/usage.ts'
import type { JsonObject } from '../../util/json.ts'
import { unusable } from '../errors.ts'
import { readEvents } from '../read-events.ts'
import { writtenArguments } from '../wire.ts'

/**
 * Parts have no ids: text continues the previous text of the same kind until something else comes. A call arrives
 * complete. The signature of a call is kept with the thought or the text before it, because calls have no place for
 * provider data.
 */
export function readContent(
  events: AsyncIterable<GenerateContentResponse>,
  request: Pick<ModelRequest, 'model' | 'exchange'>,
): AsyncGenerator<ModelPart, void> {
  const reader = new ContentReader(request.model)
  const counts: GenerateContentResponseUsageMetadata = {}
  let stop: Candidate | undefined
  const read = function* (event: GenerateContentResponse): Generator<ModelPart, void> {
    Object.assign(counts, event.usageMetadata)
    if (event.promptFeedback?.blockReason) {
      yield withheld(event.promptFeedback.blockReason)
      return
    }
    const candidate = event.candidates?.[0]
    for (const part of candidate?.content?.parts ?? []) yield* reader.read(part)
    if (event.usageMetadata) yield { type: 'usage', usage: usageOf(counts) }
    if (candidate?.finishReason) stop = candidate
  }
  const end = (): ModelPart[] => (stop ? [...reader.close(), endOf(stop, counts)] : [])
  return readEvents(withoutTransport(events), request, read, end)
}

/** The SDK adds the headers of the response to every event. */
async function* withoutTransport(events: AsyncIterable<GenerateContentResponse>) {
  for await (const event of events) {
    const { sdkHttpResponse: _headers, ...rest } = event
    yield rest as GenerateContentResponse
  }
}

class ContentReader {
  readonly #model: string
  #items = 0
  #calls = 0
  #open: { readonly type: 'text' | 'reasoning'; readonly item: string; signature?: string } | undefined

  constructor(model: string) {
    this.#model = model
  }

  *read(part: Part): Generator<ModelPart, void> {
    const { functionCall, thoughtSignature: signature } = part
    if (functionCall) return yield* this.#readCall(functionCall, signature)
    if (part.text === undefined) return
    const type = part.thought ? 'reasoning' : 'text'
    // A signature may come alone, after the text that it belongs to.
    if (part.text !== '' && this.#open?.type !== type) {
      yield* this.close()
      this.#open = { type, item: this.#nextItem() }
    }
    if (part.text !== '' && this.#open) yield { type, item: this.#open.item, text: part.text }
    if (signature !== undefined && this.#open) this.#open.signature = signature
  }

  *close(): Generator<ModelPart, void> {
    if (!this.#open) return
    const { item, signature } = this.#open
    this.#open = undefined
    yield { type: 'done', item, ...(signature !== undefined && this.#data({ signature })) }
  }

  *#readCall(call: NonNullable<Part['functionCall']>, signature: string | undefined): Generator<ModelPart, void> {
    const place = this.#calls++
    if (signature === undefined) yield* this.close()
    else {
      const before = this.#open
      this.#open = undefined
      const own = before?.signature !== undefined && { signature: before.signature }
      const data = { ...own, call: place, callSignature: signature }
      yield { type: 'done', item: before?.item ?? this.#nextItem(), redacted: !before, ...this.#data(data) }
    }
    const item = this.#nextItem()
    yield { type: 'call', item, callId: call.id ?? `call_${place}`, name: call.name as string }
    yield { type: 'arguments', item, text: writtenArguments(call.args) }
    yield { type: 'done', item }
  }

  #nextItem(): string {
    return String(this.#items++)
  }

  #data(data: JsonObject) {
    return { provider: { model: this.#model, data } }
  }
}

function endOf({ finishReason, finishMessage }: Candidate, counts: GenerateContentResponseUsageMetadata): ModelPart {
  const reason = String(finishReason)
  if (reason === 'STOP') return { type: 'finish', reason: 'end', usage: usageOf(counts) }
  if (reason === 'MAX_TOKENS') return { type: 'finish', reason: 'length', usage: usageOf(counts) }
  const detail = [reason, finishMessage].filter(Boolean).join(': ')
  if (/FUNCTION_CALL|TOOL_CALL|OTHER|UNSPECIFIED/.test(reason)) {
    return unusable('The model did not finish its answer.', detail)
  }
  return withheld(detail)
}

function withheld(detail: string): ModelPart {
  return unusable('The model provider withheld the answer.', detail, { retryable: false })
}

function usageOf(counts: GenerateContentResponseUsageMetadata): TokenCounts {
  const reasoningTokens = counts.thoughtsTokenCount ?? 0
  return {
    inputTokens: (counts.promptTokenCount ?? 0) + (counts.toolUsePromptTokenCount ?? 0),
    outputTokens: (counts.candidatesTokenCount ?? 0) + reasoningTokens,
    cachedInputTokens: counts.cachedContentTokenCount ?? 0,
    reasoningTokens,
  }
}
