import { AnswerMeter } from '../domain/models/answer-limits.ts'
import type { Answer, Measured } from '../domain/runs/answer.ts'
import { internalFailure, type RunFailure } from '../domain/context/context-overflow.ts'
import { writeText, type LiveItem, type LiveStep } from '../domain/runs/live-step.ts'
import { describeUnreadable } from '../domain/context/readable-request.ts'
import type { ModelPart, ModelRequest } from '../domain/models/model-request.ts'
import { costOf, noUsage, type TokenCounts } from '../domain/models/usage.ts'
import { weighRequest } from '../domain/context/request-weight.ts'
import type { ToolCallNeed } from '../domain/tools/tool-call.ts'
import { noLongerNeeded, onAbort } from '../util/abort.ts'
import { storableJson, storableText } from '../util/json.ts'
import type { EngineContext } from './engine-context.ts'
import { SilentModelError, withIdleLimit } from './idle-limit.ts'

export type ModelOutcome =
  | { readonly outcome: 'answer'; readonly answer: Answer }
  | ({ readonly outcome: 'failure'; readonly measured: Measured } & RunFailure)
  /** The signal was aborted. `items` holds what the model had said so far. */
  | { readonly outcome: 'aborted'; readonly items: readonly LiveItem[]; readonly measured: Measured }

/** Tells what a call of this tool will wait for. Readers see it while the call is still being written. */
export type NeedOf = (toolName: string) => ToolCallNeed | null

export interface CallOptions {
  readonly signal: AbortSignal
  /** Nothing of the answer is written before this resolves. Defaults to at once. */
  readonly mayBegin?: Promise<void> | undefined
  readonly needOf?: NeedOf
}

/** The end of a response may come a moment after its last event. Its connection can be used again only after that. */
const lingerMs = 1_000

/**
 * Asks the model and writes its answer into the live step as it arrives. Stores nothing. A provider's failure is
 * returned as an outcome, never thrown.
 */
export async function callModel(
  context: EngineContext,
  runId: string,
  request: ModelRequest,
  live: LiveStep,
  { signal, mayBegin, needOf = () => null }: CallOptions,
): Promise<ModelOutcome> {
  const measure = new RequestMeasure(context, request, live)
  // Closes the connection however this ends. A provider that hangs would not notice otherwise.
  const connection = new AbortController()
  let lingers = false
  const stopListening = onAbort(signal, (reason) => connection.abort(reason))
  try {
    const parts = withIdleLimit(openStream(context, request, connection.signal), context.modelIdleMs, signal)
    const writer = new ItemWriter(context, live, needOf)
    const end = await readAnswer(context, runId, parts, { writer, measure, signal, mayBegin })
    if (end?.type === 'finish') {
      lingers = true
      return {
        outcome: 'answer',
        answer: {
          ...measure.taken({ usage: end.usage }),
          items: live.items,
          stopReason: end.reason === 'length' ? 'MAX_TOKENS_EXCEEDED' : 'END_TURN',
        },
      }
    }
    if (end) return { outcome: 'failure', ...end.failure, measured: measure.taken() }
  } catch (error) {
    if (!signal.aborted) return { outcome: 'failure', ...failureOf(context, runId, error), measured: measure.taken() }
  } finally {
    stopListening()
    if (lingers) setTimeout(() => connection.abort(noLongerNeeded), lingerMs).unref()
    else connection.abort(noLongerNeeded)
  }
  return { outcome: 'aborted', items: live.items, measured: measure.taken({ aborted: true }) }
}

type AnswerEnd =
  Extract<ModelPart, { readonly type: 'finish' }> | { readonly type: 'failure'; readonly failure: RunFailure }

/** Returns how the answer ended, or undefined if the signal was aborted. */
async function readAnswer(
  context: EngineContext,
  runId: string,
  parts: AsyncIterable<ModelPart>,
  {
    writer,
    measure,
    signal,
    mayBegin,
  }: { writer: ItemWriter; measure: RequestMeasure } & Pick<CallOptions, 'signal' | 'mayBegin'>,
): Promise<AnswerEnd | undefined> {
  const meter = new AnswerMeter(() => performance.now())
  let hasBegun = mayBegin === undefined
  for await (const part of parts) {
    if (!hasBegun) await mayBegin
    hasBegun = true
    if (signal.aborted) return undefined
    const excess = meter.excessOf(part)
    if (excess) return { type: 'failure', failure: tooLarge(excess) }
    if (part.type === 'alive') continue
    if (part.type === 'usage') {
      measure.reported = part.usage
      continue
    }
    if (part.type === 'failure') {
      return { type: 'failure', failure: { error: part.error, stopReason: part.stopReason ?? 'LLM_API_ERROR' } }
    }
    if (part.type === 'finish') writer.completeAll()
    else {
      measure.begun()
      writer.write(part)
    }
    context.hub.textWritten(runId)
    if (part.type === 'finish') return part
  }
  return signal.aborted ? undefined : { type: 'failure', failure: brokenOff }
}

const brokenOff: RunFailure = {
  stopReason: 'INVALID_LLM_RESPONSE',
  error: {
    type: 'LLM_ERROR',
    message: 'The model stopped in the middle of its answer.',
    detail: 'The stream ended without a finish reason.',
    retryable: true,
  },
}

/** Measures how long one request takes and what it uses. */
class RequestMeasure {
  readonly #context: EngineContext
  readonly #request: ModelRequest
  readonly #live: LiveStep
  readonly #startedAt = performance.now()
  #firstTokenAt: number | null = null
  /** The provider's token counts so far, if it reports them before the end. */
  reported: TokenCounts | undefined

  constructor(context: EngineContext, request: ModelRequest, live: LiveStep) {
    this.#context = context
    this.#request = request
    this.#live = live
  }

  begun(): void {
    this.#firstTokenAt ??= performance.now()
  }

  taken({ usage, aborted = false }: { readonly usage?: TokenCounts; readonly aborted?: boolean } = {}): Measured {
    const { model } = this.#request
    const { cacheWriteTokens = 0, ...used } = usage ?? this.#estimate(aborted)
    const price = this.#context.catalog.priceOf(model)
    return {
      model,
      failedModels: [],
      requests: 1,
      usage: { ...used, costUsd: costOf({ ...used, cacheWriteTokens }, price) },
      timeToFirstTokenMs: this.#firstTokenAt === null ? null : this.#firstTokenAt - this.#startedAt,
      modelMs: performance.now() - this.#startedAt,
    }
  }

  /**
   * Estimates the usage of an answer that did not finish, because providers report it at the end. A refused request
   * used nothing; an aborted one did.
   */
  #estimate(aborted: boolean): TokenCounts {
    if (this.#firstTokenAt === null && !aborted && !this.reported) return noUsage
    const { countTokens } = this.#context
    const written = this.#live.items.reduce((total, { text }) => total + countTokens(text), 0)
    const reported = this.reported ?? noUsage
    return {
      ...reported,
      inputTokens: reported.inputTokens || weighRequest(this.#request, countTokens).total,
      outputTokens: Math.max(reported.outputTokens, written),
    }
  }
}

function openStream(context: EngineContext, request: ModelRequest, signal: AbortSignal): AsyncIterable<ModelPart> {
  const provider = context.catalog.providerOf(request.model)
  if (!provider)
    throw new UnknownModelError(
      request.model,
      context.catalog.list().map((model) => model.handle),
    )
  return provider.stream(describeUnreadable(request, context.catalog.capabilitiesOf(request.model)), signal)
}

class UnknownModelError extends Error {
  constructor(handle: string, known: readonly string[]) {
    super(`This server cannot reach the model ${handle}. It can reach: ${known.join(', ')}.`)
  }
}

function failureOf(context: EngineContext, runId: string, error: unknown): RunFailure {
  if (error instanceof SilentModelError) {
    return {
      stopReason: 'LLM_API_ERROR',
      error: {
        type: 'LLM_TIMEOUT',
        message: 'The model sent nothing for too long.',
        detail: error.message,
        retryable: true,
      },
    }
  }
  if (error instanceof UnknownModelError) {
    return {
      stopReason: 'LLM_API_ERROR',
      error: { type: 'LLM_BAD_REQUEST', message: error.message, detail: null, retryable: true },
    }
  }
  // A provider must not throw once it has started. This is a bug of ours, but the run must end all the same.
  context.log.error({ err: error, runId }, 'a provider threw an error instead of reporting it')
  return internalFailure('The server failed while asking the model.')
}

/** The model, or the server in front of it, does not stop by itself. Another attempt may succeed. */
function tooLarge(excess: string): RunFailure {
  return {
    stopReason: 'INVALID_LLM_RESPONSE',
    error: {
      type: 'LLM_ERROR',
      message: `The model's answer was stopped because ${excess}.`,
      detail: null,
      retryable: true,
    },
  }
}

/** Adds parts to items, in the order in which each item first appeared. */
class ItemWriter {
  readonly #ids: EngineContext['ids']
  readonly #live: LiveStep
  readonly #needOf: NeedOf
  readonly #items = new Map<string, LiveItem>()

  constructor(context: EngineContext, live: LiveStep, needOf: NeedOf) {
    this.#ids = context.ids
    this.#live = live
    this.#needOf = needOf
  }

  write(part: Extract<ModelPart, { readonly item: string }>): void {
    switch (part.type) {
      case 'text':
      case 'reasoning': {
        const kind = part.type === 'text' ? 'ASSISTANT' : 'REASONING'
        const item = this.#items.get(part.item) ?? this.#open(part.item, { ...textItem, kind, id: this.#ids.next() })
        writeText(item, withoutNul(part.text))
        return
      }
      case 'call': {
        const name = storableText(part.name)
        this.#open(part.item, {
          kind: 'CALL',
          id: this.#ids.next(),
          name,
          providerCallId: storableText(part.callId),
          needs: this.#needOf(name),
          text: '',
          complete: false,
        })
        return
      }
      case 'arguments':
        writeText(this.#items.get(part.item)!, withoutNul(part.text))
        return
      case 'done': {
        const reasoning = part.redacted && !this.#items.has(part.item)
        const item = reasoning
          ? this.#open(part.item, { ...textItem, kind: 'REASONING', id: this.#ids.next() })
          : this.#items.get(part.item)
        if (!item) return
        if (item.kind !== 'CALL') {
          item.redacted = part.redacted ?? false
          item.provider = part.provider ? { ...part.provider, data: storableJson(part.provider.data) } : null
        }
        complete(item)
        return
      }
      default:
        part satisfies never
    }
  }

  completeAll(): void {
    for (const item of this.#live.items) complete(item)
  }

  #open<Item extends LiveItem>(key: string, item: Item): Item {
    this.#items.set(key, item)
    this.#live.items.push(item)
    return item
  }
}

const textItem = { text: '', complete: false, redacted: false, provider: null }

/** Replaces a lone surrogate by U+FFFD, as the JSON that readers received already did. */
function complete(item: LiveItem): void {
  item.text = item.text.toWellFormed()
  item.recent = undefined
  item.complete = true
}

function withoutNul(text: string): string {
  return text.includes('\u0000') ? text.replaceAll('\u0000', '') : text
}
