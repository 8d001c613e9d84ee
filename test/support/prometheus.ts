/** A strict parser of Prometheus' text format. Throws on anything that a scraper might not accept. */
export interface Sample {
  readonly name: string
  readonly labels: Readonly<Record<string, string>>
  readonly value: number
}

export interface Family {
  readonly type: string
  readonly help: string
  readonly samples: Sample[]
}

const samplePattern = /^([a-zA-Z_:][\w:]*)(?:\{((?:[a-zA-Z_]\w*="(?:[^"\\\n]|\\[\\"n])*",?)*)\})? (\S+)$/
const labelPattern = /([a-zA-Z_]\w*)="((?:[^"\\\n]|\\[\\"n])*)"/g

export function parsePrometheus(text: string): Map<string, Family> {
  if (!text.endsWith('\n')) throw new Error('The last line must end with a line feed.')
  const families = new Map<string, Family>()
  const seen = new Set<string>()
  let current: (Family & { readonly name: string }) | undefined
  let help: string | undefined
  for (const line of text.slice(0, -1).split('\n')) {
    const [, keyword, name, rest] = /^# (HELP|TYPE) (\S+) (.*)$/.exec(line) ?? []
    if (keyword === 'HELP') help = rest
    else if (keyword === 'TYPE') {
      if (!/^(counter|gauge|histogram)$/.test(rest!)) throw new Error(`Bad type: ${line}`)
      if (families.has(name!) || help === undefined) throw new Error(`Twice, or without help: ${line}`)
      current = { name: name!, type: rest!, help, samples: [] }
      families.set(name!, current)
      help = undefined
    } else {
      const sample = parseSample(line)
      const key = line.slice(0, line.lastIndexOf(' '))
      if (seen.has(key)) throw new Error(`A series occurs twice: ${line}`)
      seen.add(key)
      const suffix = current && sample.name.startsWith(current.name) ? sample.name.slice(current.name.length) : 'other'
      const suffixes = current?.type === 'histogram' ? ['_bucket', '_sum', '_count'] : ['']
      if (!suffixes.includes(suffix)) throw new Error(`A sample outside of its family: ${line}`)
      current!.samples.push(sample)
    }
  }
  for (const [name, family] of families) if (family.type === 'histogram') checkHistogram(name, family)
  return families
}

function parseSample(line: string): Sample {
  const [, name, labels = '', value] = samplePattern.exec(line) ?? []
  if (name === undefined || !Number.isFinite(Number(value))) throw new Error(`Not a sample: ${line}`)
  const pairs = [...labels.matchAll(labelPattern)].map(([, label, text]) => [
    label!,
    text!.replaceAll(/\\([\\"n])/g, (_, escaped: string) => (escaped === 'n' ? '\n' : escaped)),
  ])
  return { name, labels: Object.fromEntries(pairs), value: Number(value) }
}

/** Buckets increase, end with +Inf, and the last one equals the count. */
function checkHistogram(name: string, { samples }: Family): void {
  const groups = Map.groupBy(samples, ({ labels: { le: _le, ...labels } }) => JSON.stringify(labels))
  for (const group of groups.values()) {
    const buckets = group.filter((sample) => sample.name === `${name}_bucket`)
    const values = buckets.map(({ value }) => value)
    const count = group.find((sample) => sample.name === `${name}_count`)?.value
    const bounds = buckets.map(({ labels: { le } }) => (le === '+Inf' ? Infinity : Number(le)))
    const grows = (list: readonly number[]) => list.every((value, place) => place === 0 || value >= list[place - 1]!)
    if (!grows(values) || !grows(bounds) || bounds.at(-1) !== Infinity || values.at(-1) !== count)
      throw new Error(`The histogram ${name} is inconsistent.`)
  }
}
