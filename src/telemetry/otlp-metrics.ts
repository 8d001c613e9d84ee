import type { MetricFamily } from './metrics.ts'
import { scope, toNanoseconds, toOtlpAttributes } from './otlp-attributes.ts'

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
