import type { Labels, MetricFamily } from './metrics.ts'

export const prometheusType = 'text/plain; version=0.0.4; charset=utf-8'

const unitNames: Readonly<Record<string, string>> = { s: '_seconds', By: '_bytes', USD: '_usd' }

/** The name that OpenTelemetry's rules give a metric in Prometheus, so that both ways of reading metrics agree. */
function nameOf({ name, unit, kind }: MetricFamily): string {
  const suffix = `${unitNames[unit] ?? ''}${kind === 'counter' ? '_total' : ''}`
  return `${name.replaceAll(/\W/g, '_')}${suffix}`
}

/** Prometheus' text format. */
export function toPrometheus(families: readonly MetricFamily[]): string {
  const lines = families.flatMap((family) => {
    const name = nameOf(family)
    return [`# HELP ${name} ${escapeHelp(family.help)}`, `# TYPE ${name} ${family.kind}`, ...samplesOf(name, family)]
  })
  return `${lines.join('\n')}\n`
}

function samplesOf(name: string, family: MetricFamily): string[] {
  if (family.kind !== 'histogram')
    return family.points.map(({ labels, value }) => `${name}${textOf(labels)} ${String(value)}`)
  return family.points.flatMap(({ labels, counts, sum, count }) => {
    let below = 0
    const buckets = family.bounds.map((bound, place) => {
      below += counts[place]!
      return `${name}_bucket${textOf({ ...labels, le: String(bound) })} ${below}`
    })
    return [
      ...buckets,
      `${name}_bucket${textOf({ ...labels, le: '+Inf' })} ${count}`,
      `${name}_sum${textOf(labels)} ${sum}`,
      `${name}_count${textOf(labels)} ${count}`,
    ]
  })
}

function textOf(labels: Labels): string {
  const pairs = Object.entries(labels).map(([name, value]) => `${name}="${escapeLabel(value)}"`)
  return pairs.length === 0 ? '' : `{${pairs.join(',')}}`
}

function escapeHelp(text: string): string {
  return text.replaceAll('\\', '\\\\').replaceAll('\n', '\\n')
}

function escapeLabel(text: string): string {
  return escapeHelp(text).replaceAll('"', '\\"')
}
