import type { RunEventFields } from '../../client/documents.ts'
import type { StepRow } from './documents.ts'
import { duration } from './format.ts'

/** What a period of time was spent on. */
export type BarKind = 'queue' | 'first' | 'model' | 'people' | 'client' | 'tools'
export type StatusChange = Extract<RunEventFields, { __typename: 'RunStatusChanged' }>

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

type Timed = Pick<
  StepRow['toolCalls'][number],
  'name' | 'needs' | 'createdAt' | 'startedAt' | 'finishedAt' | 'decision'
>

export function callBars(call: Timed, now: number): Bar[] {
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

/** The times when the run as a whole waited: for its turn, for a larger budget, or for someone to try it again. */
export function waitsOf(changes: readonly StatusChange[], end: number): Bar[] {
  return changes.flatMap(({ status, stopReason, at }, index): Bar[] => {
    const next = changes[index + 1]
    const times = { from: Date.parse(at), to: next ? Date.parse(next.at) : end }
    if (status === 'QUEUED') return [{ kind: 'queue', label: 'waiting for its turn', ...times }]
    if (status === 'FAILED') return [{ kind: 'people', label: 'failed, until someone tried again', ...times }]
    if (status !== 'AWAITING_APPROVAL' || stopReason !== 'BUDGET_EXCEEDED') return []
    return [{ kind: 'people', label: 'waiting for a larger budget', ...times }]
  })
}

/** How long something of these kinds went on. Overlapping bars count once. */
export function timeOf(bars: readonly Bar[], ...kinds: readonly BarKind[]): number {
  let sum = 0
  let reached = -Infinity
  for (const { from, to } of bars.filter(({ kind }) => kinds.includes(kind)).toSorted((a, b) => a.from - b.from)) {
    sum += Math.max(0, to - Math.max(from, reached))
    reached = Math.max(reached, to)
  }
  return sum
}

type Period = Pick<Bar, 'from' | 'to'>

/** A time axis on which long pauses are drawn short, because they would hide the work beside them. */
export interface Axis {
  /** Where a moment is, in percent of the width. */
  readonly place: (time: number) => number
  /** Round times without the short-drawn pauses. */
  readonly marks: readonly { readonly at: number; readonly label: string }[]
  readonly cuts: readonly Period[]
}

export function axisOf(bars: readonly Bar[], { from: start, to: end }: Period): Axis {
  const cuts = longPauses(bars, start, end)
  const share = Math.min(12, 50 / cuts.length)
  const shown = cuts.reduce((left, { from, to }) => left - (to - from), end - start)
  const scale = (100 - share * cuts.length) / shown
  const place = (time: number): number =>
    cuts.reduce(
      (at, { from, to }) => at + Math.max(0, Math.min(time, to) - from) * (share / (to - from) - scale),
      (time - start) * scale,
    )
  const step = roundTimes.find((one) => one >= shown / 5) ?? roundTimes.at(-1)!
  const marks = Array.from({ length: Math.floor(shown / step) + 1 }, (_, index) => {
    const time = cuts.reduce((at, { from, to }) => (at < from ? at : at + to - from), start + index * step)
    const room = Math.min(100, ...cuts.filter(({ from }) => from > time).map(({ from }) => place(from))) - place(time)
    return room < 12 ? [] : [{ at: place(time), label: index === 0 ? '0' : duration(index * step) }]
  })
  return { place, cuts, marks: marks.flat() }
}

/** Pauses of more than two seconds that took longer than all work of the run. */
function longPauses(bars: readonly Bar[], start: number, end: number): Period[] {
  const kinds: readonly BarKind[] = ['first', 'model', 'tools']
  const worked = timeOf(bars, ...kinds)
  const work = bars.filter(({ kind }) => kinds.includes(kind)).toSorted((a, b) => a.from - b.from)
  let reached = start
  const pauses = [...work, { from: end, to: end }].map(({ from, to }) => {
    const pause = { from: reached, to: from }
    reached = Math.max(reached, to)
    return pause
  })
  return pauses.filter(({ from, to }) => worked > 0 && to - from > Math.max(worked, 2_000))
}

const roundTimes = [
  ...[1, 2, 5, 10, 20, 50, 100, 200, 500],
  ...[1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 900, 1_800].map((seconds) => 1_000 * seconds),
  ...[1, 2, 3, 6, 12, 24, 48, 120, 240, 720].map((hours) => 3_600_000 * hours),
]
