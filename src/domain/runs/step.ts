import type { ModelFailure } from '../models/fallback.ts'
import type { RunError, StopReason, Usage } from '../run.ts'

export const stepStatuses = ['RUNNING', 'PAUSED', 'COMPLETED', 'FAILED', 'CANCELLED'] as const
export type StepStatus = (typeof stepStatuses)[number]

/** One model request and the tool calls in its answer. Its run and index identify it. */
export interface Step {
  readonly runId: string
  readonly index: number
  /** Above 1 if the step was attempted again. */
  readonly attempt: number
  /** The model that answered, or the last one that was asked. */
  readonly model: string
  /** Models that were not available, so that the next one was tried. */
  readonly failedModels: readonly ModelFailure[]
  readonly status: StepStatus
  readonly stopReason: StopReason | null
  readonly usage: Usage
  readonly timeToFirstTokenMs: number | null
  readonly modelMs: number | null
  readonly toolsMs: number | null
  readonly error: RunError | null
  readonly createdAt: Date
  readonly finishedAt: Date | null
}
