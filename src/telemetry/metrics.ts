export type Labels = Readonly<Record<string, string>>

/**
 * A metric's description. The name follows OpenTelemetry: words with dots, without the unit. Units are `s`, `By`,
 * `USD`, or what is counted in braces, such as `{run}`.
 */
export interface MetricAbout {
  readonly name: string
  readonly unit: string
  readonly help: string
}

export interface NumberPoint {
  readonly labels: Labels
  readonly value: number
}

export interface HistogramPoint {
  readonly labels: Labels
  /** One count per bound, and one for values above the last. Not cumulative. */
  readonly counts: readonly number[]
  readonly sum: number
  readonly count: number
}

export type MetricFamily = MetricAbout &
  (
    | { readonly kind: 'counter' | 'gauge'; readonly points: readonly NumberPoint[] }
    | { readonly kind: 'histogram'; readonly bounds: readonly number[]; readonly points: readonly HistogramPoint[] }
  )

/** Reads the current values. An empty list means that they are not known now. */
type Read = () => number | readonly NumberPoint[]

/**
 * Names of models and tools are labels, and clients choose them. If a metric has more label values than this, further
 * ones are counted together, so that no client can fill the memory.
 */
const seriesPerMetric = 1_000
const otherLabel = 'other'

/**
 * The metrics of one process. Values only grow, or are read when they are collected, so there can be any number of
 * collectors.
 */
export class Metrics {
  readonly startedAt = new Date()
  readonly #families: (() => MetricFamily)[] = []
  readonly #preparations: (() => Promise<void>)[] = []

  counter(about: MetricAbout): (value: number, labels?: Labels) => void {
    const series = new Series(() => ({ value: 0 }))
    this.#families.push(() => ({
      ...about,
      kind: 'counter',
      points: series.list().map(({ labels, state }) => ({ labels, value: state.value })),
    }))
    return (value, labels = {}) => {
      series.of(labels).value += value
    }
  }

  histogram(about: MetricAbout & { readonly bounds: readonly number[] }): (value: number, labels?: Labels) => void {
    const { bounds } = about
    const series = new Series(() => ({ counts: Array.from({ length: bounds.length + 1 }, () => 0), sum: 0, count: 0 }))
    this.#families.push(() => ({
      ...about,
      kind: 'histogram',
      points: series.list().map(({ labels, state }) => ({ labels, ...state, counts: [...state.counts] })),
    }))
    return (value, labels = {}) => {
      const state = series.of(labels)
      const found = bounds.findIndex((bound) => value <= bound)
      state.counts[found < 0 ? bounds.length : found]! += 1
      state.sum += value
      state.count += 1
    }
  }

  /** A value that is read when the metrics are collected. */
  read(about: MetricAbout & { readonly kind: 'counter' | 'gauge' }, read: Read): void {
    this.#families.push(() => {
      const value = read()
      return { ...about, points: typeof value === 'number' ? [{ labels: {}, value }] : value }
    })
  }

  /** Is awaited before the values are read. Must not reject. */
  prepare(preparation: () => Promise<void>): void {
    this.#preparations.push(preparation)
  }

  async collect(): Promise<MetricFamily[]> {
    await Promise.all(this.#preparations.map((prepare) => prepare()))
    return this.#families.map((read) => read())
  }
}

class Series<State> {
  readonly #create: () => State
  readonly #byKey = new Map<string, { readonly labels: Labels; readonly state: State }>()

  constructor(create: () => State) {
    this.#create = create
  }

  of(labels: Labels): State {
    const known = this.#byKey.get(keyOf(labels))
    if (known) return known.state
    const isFull = this.#byKey.size >= seriesPerMetric
    const kept = isFull ? Object.fromEntries(Object.keys(labels).map((name) => [name, otherLabel])) : labels
    const other = isFull ? this.#byKey.get(keyOf(kept)) : undefined
    if (other) return other.state
    const added = { labels: kept, state: this.#create() }
    this.#byKey.set(keyOf(kept), added)
    return added.state
  }

  list() {
    return [...this.#byKey.values()]
  }
}

function keyOf(labels: Labels): string {
  return JSON.stringify(Object.values(labels))
}
