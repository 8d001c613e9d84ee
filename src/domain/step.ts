import type { RunError, StopReason, Usage } from './run.ts'

export const stepStatuses = ['RUNNING', 'PAUSED', 'COMPLETED', 'FAILED', 'CANCELLED'] as const
export type StepStatus = (typeof stepStatuses)[number]

/** One model request and the tool calls that came of it. Its id is its run and index. */
export interface Step {
  readonly runId: string
  readonly index: number
  /** Above 1 where the step was made again. */
  readonly attempt: number
  readonly model: string
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
