import type { StepRow } from './documents.ts'

/** What a period of time was spent on. */
export type BarKind = 'queue' | 'first' | 'model' | 'people' | 'client' | 'tools'

/** A period of time in a run. */
export interface Bar {
  readonly kind: BarKind
  readonly label: string
  readonly from: number
  readonly to: number
}

export interface Lane {
  readonly step: StepRow
  readonly bars: readonly Bar[]
}

/**
 * How the time of each step was spent: waiting for the first token, the model writing, people deciding, tools running.
 */
export function lanesOf(steps: readonly StepRow[], now: number): Lane[] {
  return steps.map((step) => ({
    step,
    bars: [...modelBars(step, now), ...step.toolCalls.flatMap((c) => callBars(c, now))],
  }))
}

function modelBars(step: StepRow, now: number): Bar[] {
  const { timeToFirstTokenMs, modelMs } = step.metrics
  const from = Date.parse(step.createdAt)
  const first = from + (timeToFirstTokenMs ?? 0)
  const end = modelMs === null ? (step.finishedAt ? Date.parse(step.finishedAt) : now) : from + modelMs
  return [
    ...(first > from ? [{ kind: 'first' as const, label: 'waiting for the first token', from, to: first }] : []),
    { kind: 'model', label: 'the model writing', from: first, to: Math.max(first, end) },
  ]
}

function callBars(call: StepRow['toolCalls'][number], now: number): Bar[] {
  const bars: Bar[] = []
  const ended = call.finishedAt ? Date.parse(call.finishedAt) : now
  if (call.needs !== 'NOTHING') {
    const decided = call.decision?.decidedAt
    bars.push({
      kind: call.needs === 'CLIENT_EXECUTION' ? 'client' : 'people',
      label: `${call.name} waiting for ${call.needs === 'CLIENT_EXECUTION' ? 'a client' : 'a person'}`,
      from: Date.parse(call.createdAt),
      to: decided ? Date.parse(decided) : ended,
    })
  }
  if (call.startedAt)
    bars.push({ kind: 'tools', label: `${call.name} running`, from: Date.parse(call.startedAt), to: ended })
  return bars
}

/** How long something of this kind went on. Overlapping bars count once. */
export function timeOf(kind: BarKind, bars: readonly Bar[]): number {
  let sum = 0
  let reached = -Infinity
  for (const { from, to } of bars.filter((bar) => bar.kind === kind).toSorted((a, b) => a.from - b.from)) {
    sum += Math.max(0, to - Math.max(from, reached))
    reached = Math.max(reached, to)
  }
  return sum
}

/** Round distances for the marks of an axis, about five of them. The last leaves room for its label. */
export function marksOf(length: number): number[] {
  const rough = length / 5
  const power = 10 ** Math.floor(Math.log10(Math.max(rough, 1)))
  const step = [1, 2, 5, 10].map((factor) => factor * power).find((one) => one >= rough) ?? power
  return Array.from({ length: Math.floor((0.85 * length) / step) + 1 }, (_, index) => index * step)
}
