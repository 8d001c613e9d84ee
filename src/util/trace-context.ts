import { AsyncLocalStorage } from 'node:async_hooks'
import { createHash, randomBytes } from 'node:crypto'

/** A span that others refer to, in the form of the `traceparent` header (W3C Trace Context). */
export interface TraceContext {
  /** 32 hex digits. */
  readonly traceId: string
  /** 16 hex digits. */
  readonly spanId: string
  /** Whether spans of this trace are recorded. */
  readonly sampled: boolean
}

/** A query or mutation that was executed. */
export interface ObservedOperation {
  readonly type: string
  /** The name that the client gave. Undefined if there is none. */
  readonly name: string | undefined
  readonly trace: TraceContext
  readonly parent: TraceContext | undefined
  readonly start: Date
  readonly end: Date
  readonly errors: readonly string[]
}

/** Undefined for anything that is not a traceparent. A new trace begins then. */
export function parseTraceparent(text: unknown): TraceContext | undefined {
  if (typeof text !== 'string') return undefined
  const [, version = 'ff', traceId = '', spanId = '', flags = '', rest] =
    /^([0-9a-f]{2})-([0-9a-f]{32})-([0-9a-f]{16})-([0-9a-f]{2})(-.*)?$/.exec(text.trim()) ?? []
  if (version === 'ff' || (version === '00' && rest !== undefined)) return undefined
  if (/^0+$/.test(traceId) || /^0+$/.test(spanId)) return undefined
  return { traceId, spanId, sampled: (Number.parseInt(flags, 16) & 1) === 1 }
}

export function formatTraceparent({ traceId, spanId, sampled }: TraceContext): string {
  return `00-${traceId}-${spanId}-${sampled ? '01' : '00'}`
}

/** The next span of a trace, or the first of a new one. */
export function newTrace(parent: TraceContext | undefined): TraceContext {
  const spanId = randomBytes(8).toString('hex')
  return parent ? { ...parent, spanId } : { traceId: randomBytes(16).toString('hex'), spanId, sampled: true }
}

/** A span id that every process derives in the same way from what is stored. */
export function derivedSpanId(...parts: readonly (string | number)[]): string {
  return createHash('sha256').update(parts.join(' ')).digest('hex').slice(0, 16)
}

const storage = new AsyncLocalStorage<TraceContext | undefined>()

/** Everything requested during the work belongs to this span. */
export function withTrace<Result>(trace: TraceContext | undefined, work: () => Result): Result {
  return storage.run(trace, work)
}

export function currentTrace(): TraceContext | undefined {
  return storage.getStore()
}
