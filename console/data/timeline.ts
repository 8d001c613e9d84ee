import type { StepRow } from './documents.ts'

/** A stretch of time in a run, and who it was spent on. */
export interface Bar {
  readonly kind: 'queue' | 'first' | 'model' | 'tools' | 'people'
  readonly label: string
  readonly from: number
  readonly to: number
}

export interface Lane {
  readonly step: StepRow
  readonly bars: readonly Bar[]
}

/** Where the time of each step went: waiting for the first token, the model writing, people deciding, tools running. */
export function lanesOf(steps: readonly StepRow[], now: number): Lane[] {
  return steps.map((step) => {
    const from = Date.parse(step.createdAt)
    const firstMs = step.metrics.timeToFirstTokenMs ?? 0
    const modelEnd =
      step.metrics.modelMs === null
        ? step.finishedAt
          ? Date.parse(step.finishedAt)
          : now
        : from + step.metrics.modelMs
    const bars: Bar[] = []
    if (firstMs > 0) bars.push({ kind: 'first', label: 'waiting for the first token', from, to: from + firstMs })
    bars.push({
      kind: 'model',
      label: 'the model writing',
      from: from + firstMs,
      to: Math.max(modelEnd, from + firstMs),
    })
    for (const call of step.toolCalls) {
      if (call.needs !== 'NOTHING') {
        const decided = call.decision?.decidedAt ?? call.finishedAt
        const kind = 'people'
        bars.push({
          kind,
          label: `${call.name} waiting for a person`,
          from: Date.parse(call.createdAt),
          to: decided ? Date.parse(decided) : now,
        })
      }
      if (call.startedAt) {
        const to = call.finishedAt ? Date.parse(call.finishedAt) : now
        bars.push({ kind: 'tools', label: `${call.name} running`, from: Date.parse(call.startedAt), to })
      }
    }
    return { step, bars }
  })
}
