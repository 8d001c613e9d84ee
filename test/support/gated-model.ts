import type { ModelPart, ModelRequest } from '../../src/domain/models/model-request.ts'
import type { RunError } from '../../src/domain/runs/run.ts'
import { noUsage, type TokenCounts } from '../../src/domain/models/usage.ts'
import type { Provider } from '../../src/providers/provider.ts'

/** A model that a test controls word by word: nothing happens until the test says so. */
export interface GatedModel {
  /** Pass it to `startTestApp`. Agents use the handle `test/gated`. */
  readonly provider: Provider
  /** Waits for the next request of a run. Every request must be taken. */
  nextCall(): Promise<ModelCall>
  /** The requests that were not taken, for tests that do not know when one is made. */
  takeCalls(): ModelCall[]
  /** How many requests were made so far. */
  readonly requests: readonly ModelRequest[]
  /** How many requests wait to be taken. */
  untaken(): number
  /** Throws if there is a request that no test took. */
  assertAllTaken(): void
}

export interface ModelCall {
  readonly request: ModelRequest
  /** Aborted when the engine abandons the request. */
  readonly signal: AbortSignal
  readonly aborted: Promise<void>
  think(text: string): void
  say(text: string): void
  call(name: string, args: unknown, options?: { readonly callId?: string }): void
  part(part: ModelPart): void
  finish(options?: { readonly reason?: 'end' | 'length'; readonly usage?: Partial<TokenCounts> }): void
  fail(error?: Partial<RunError>): void
  /** Ends the stream without a finish reason. */
  breakOff(): void
}

export const gatedHandle = 'test/gated'

export function createGatedModel(): GatedModel {
  const requests: ModelRequest[] = []
  const made: ModelCall[] = []
  let waiting: PromiseWithResolvers<void> | undefined

  const provider: Provider = {
    name: 'test',
    models: () => [{ handle: gatedHandle, provider: 'test', contextWindow: 100_000 }],
    requestBody: ({ model, systemPrompt, messages }) => ({ model, systemPrompt, messages: messages as never }),
    stream(request, signal) {
      const { call, parts } = openCall(request, signal)
      requests.push(request)
      made.push(call)
      waiting?.resolve()
      return parts
    },
  }
  return {
    provider,
    requests,
    async nextCall() {
      while (made.length === 0) {
        waiting = Promise.withResolvers<void>()
        await waiting.promise
      }
      return made.shift()!
    },
    untaken: () => made.length,
    takeCalls: () => made.splice(0),
    assertAllTaken() {
      if (made.length > 0) throw new Error(`${made.length} model requests were made that no test took`)
    },
  }
}

function openCall(request: ModelRequest, signal: AbortSignal) {
  const queue: (ModelPart | 'end')[] = []
  let changed: PromiseWithResolvers<void> = Promise.withResolvers<void>()
  let calls = 0
  const push = (part: ModelPart | 'end') => {
    queue.push(part)
    changed.resolve()
  }
  const aborted = Promise.withResolvers<void>()
  signal.addEventListener('abort', () => {
    aborted.resolve()
    changed.resolve()
  })

  async function* parts(): AsyncGenerator<ModelPart, void> {
    for (;;) {
      const part = queue.shift()
      if (signal.aborted || part === 'end') return
      if (part) {
        yield part
        if (part.type === 'finish' || part.type === 'failure') return
      } else {
        changed = Promise.withResolvers<void>()
        await changed.promise
      }
    }
  }

  const call: ModelCall = {
    request,
    signal,
    aborted: aborted.promise,
    part: push,
    think: (text) => push({ type: 'reasoning', item: 'reasoning', text }),
    say: (text) => push({ type: 'text', item: 'text', text }),
    call(name, args, { callId = `call_${calls}` } = {}) {
      const item = `call ${calls++}`
      push({ type: 'call', item, callId, name })
      push({ type: 'arguments', item, text: typeof args === 'string' ? args : JSON.stringify(args) })
      push({ type: 'done', item })
    },
    finish({ reason = 'end', usage = {} } = {}) {
      push({ type: 'finish', reason, usage: { ...noUsage, inputTokens: 10, outputTokens: 5, ...usage } })
    },
    fail(error = {}) {
      push({
        type: 'failure',
        error: { type: 'LLM_ERROR', message: 'The model failed.', detail: null, retryable: true, ...error },
      })
    },
    breakOff: () => push('end'),
  }
  return { call, parts: parts() }
}
