import { scope, toNanoseconds, toOtlpAttributes } from './otlp-attributes.ts'
import type { Span } from './span.ts'

const kinds = { INTERNAL: 1, SERVER: 2, CLIENT: 3 } as const
const failedCode = 2

export function toOtlpSpans(spans: readonly Span[], resource: Readonly<Record<string, string>>) {
  return {
    resourceSpans: [
      { resource: { attributes: toOtlpAttributes(resource) }, scopeSpans: [{ scope, spans: spans.map(toOtlpSpan) }] },
    ],
  }
}

function toOtlpSpan({ traceId, spanId, parentSpanId, name, kind, start, end, attributes, error }: Span) {
  return {
    traceId,
    spanId,
    ...(parentSpanId !== null && { parentSpanId }),
    name: name.toWellFormed(),
    kind: kinds[kind],
    startTimeUnixNano: toNanoseconds(start),
    endTimeUnixNano: toNanoseconds(end < start ? start : end),
    attributes: toOtlpAttributes(attributes),
    status: error === null ? {} : { code: failedCode, message: error.toWellFormed() },
  }
}
