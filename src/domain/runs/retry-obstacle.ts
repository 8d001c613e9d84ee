import type { Run } from './run.ts'

export interface RetryConversation {
  /** The place of the last run on the current branch. */
  readonly tipHold: number
  readonly nextPosition: number
  readonly summaryPosition: number | null
  readonly activeRunId: string | null
}

export type RetryObstacle =
  { readonly type: 'busy'; readonly activeRunId: string } | { readonly type: 'refused'; readonly message: string }

type RetriedRun = Pick<Run, 'status' | 'hold' | 'nextPosition'>

/**
 * Why a run cannot be retried. Undefined if it can. Only the last run of the current branch can be retried, only if it
 * failed, and only if the conversation was not compacted since.
 */
export function retryObstacle(
  run: RetriedRun,
  conversation: Omit<RetryConversation, 'nextPosition'>,
): RetryObstacle | undefined {
  const { tipHold, summaryPosition, activeRunId } = conversation
  if (run.status !== 'FAILED') {
    return { type: 'refused', message: `Only a run that is FAILED can be retried, and this one is ${run.status}.` }
  }
  if (activeRunId !== null) return { type: 'busy', activeRunId }
  if (run.hold !== tipHold) {
    return {
      type: 'refused',
      message:
        'Only the last run of the current branch can be retried. Send a new message, or select the branch of the run.',
    }
  }
  if (run.nextPosition !== null && summaryPosition !== null && summaryPosition >= run.nextPosition) {
    return { type: 'refused', message: 'The conversation was compacted since the run failed. Send a new message.' }
  }
  return undefined
}
