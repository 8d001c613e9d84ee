import type { ModelFailure } from './fallback.ts'
import type { RunError, StopReason, Usage } from './run.ts'

export const stepStatuses = ['RUNNING', 'PAUSED', 'COMPLETED', 'FAILED', 'CANCELLED'] as const
export type StepStatus = (typeof stepStatuses)[number]

/** One model request and the tool calls that came of it. Its id is its run and index. */
export interface Step {
  readonly runId: string
  readonly index: number
  /** Above 1 where the step was made again. */
  readonly attempt: number
  /** The model that answered, or the last one that was asked. */
  readonly model: string
  /** Models that were not available, so that the next one was asked. */
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
