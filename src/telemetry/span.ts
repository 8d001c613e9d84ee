/** Something that took time, as OpenTelemetry describes it. */
export interface Span {
  readonly traceId: string
  readonly spanId: string
  readonly parentSpanId: string | null
  readonly name: string
  readonly kind: 'INTERNAL' | 'SERVER' | 'CLIENT'
  readonly start: Date
  readonly end: Date
  /** Undefined values are omitted. */
  readonly attributes: Readonly<Record<string, AttributeValue | undefined>>
  /** Why it failed. Null if it did not. */
  readonly error: string | null
}

export type AttributeValue = string | number | boolean | readonly string[]

export type EmitSpan = (span: Span) => void
