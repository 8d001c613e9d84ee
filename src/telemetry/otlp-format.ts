import type { AttributeValue, Span } from './span.ts'
import type { MetricFamily } from './metrics.ts'

/** Attributes in the JSON form of OTLP. */
function toOtlpAttributes(attributes: Readonly<Record<string, AttributeValue | undefined>>) {
  return Object.entries(attributes).flatMap(([key, value]) =>
    value === undefined ? [] : [{ key, value: toOtlpValue(value) }],
  )
}

function toOtlpValue(value: AttributeValue) {
  if (typeof value === 'string') return { stringValue: value.toWellFormed() }
  if (typeof value === 'boolean') return { boolValue: value }
  if (typeof value === 'number') return Number.isInteger(value) ? { intValue: String(value) } : { doubleValue: value }
  return { arrayValue: { values: value.map((text) => ({ stringValue: text.toWellFormed() })) } }
}

function toNanoseconds(time: Date): string {
  return `${time.getTime()}000000`
}

/** The origin of spans and metrics. */
const scope = { name: 'holdpoint' }

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

const cumulative = 2

interface MetricsOptions {
  readonly startedAt: Date
  readonly resource: Readonly<Record<string, string>>
}

export function toOtlpMetrics(families: readonly MetricFamily[], { startedAt, resource }: MetricsOptions) {
  const times = { startTimeUnixNano: toNanoseconds(startedAt), timeUnixNano: toNanoseconds(new Date()) }
  const metrics = families.filter(({ points }) => points.length > 0).map((family) => toOtlpMetric(family, times))
  return {
    resourceMetrics: [{ resource: { attributes: toOtlpAttributes(resource) }, scopeMetrics: [{ scope, metrics }] }],
  }
}

function toOtlpMetric(family: MetricFamily, times: object) {
  const about = { name: family.name, unit: family.unit, description: family.help }
  if (family.kind === 'histogram') {
    const dataPoints = family.points.map(({ labels, counts, sum, count }) => ({
      attributes: toOtlpAttributes(labels),
      ...times,
      count: String(count),
      sum,
      bucketCounts: counts.map(String),
      explicitBounds: family.bounds,
    }))
    return { ...about, histogram: { aggregationTemporality: cumulative, dataPoints } }
  }
  const dataPoints = family.points.map(({ labels, value }) => ({
    attributes: toOtlpAttributes(labels),
    ...times,
    asDouble: value,
  }))
  if (family.kind === 'gauge') return { ...about, gauge: { dataPoints } }
  return { ...about, sum: { aggregationTemporality: cumulative, isMonotonic: true, dataPoints } }
}
