import type { ModelFailure } from '../models/fallback.ts'
import type { RunError, StopReason } from './run.ts'
import type { Usage } from '../models/usage.ts'

export type StepStatus = 'RUNNING' | 'PAUSED' | 'COMPLETED' | 'FAILED' | 'CANCELLED'

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
