import type { Run } from './run.ts'

export interface RetryConversation {
  readonly nextHold: number
  readonly summaryPosition: number | null
  readonly activeRunId: string | null
}

export type RetryObstacle =
  { readonly type: 'busy'; readonly activeRunId: string } | { readonly type: 'refused'; readonly message: string }

type RetriedRun = Pick<Run, 'status' | 'hold' | 'nextPosition'>

/**
 * What keeps a run from being retried; undefined if nothing does. Only the run that held the conversation last can be
 * retried, only if it failed, and only if the conversation was not compacted since.
 */
export function retryObstacle(run: RetriedRun, conversation: RetryConversation): RetryObstacle | undefined {
  const { nextHold, summaryPosition, activeRunId } = conversation
  if (run.status !== 'FAILED') {
    return { type: 'refused', message: `Only a run that is FAILED can be retried, and this one is ${run.status}.` }
  }
  if (activeRunId !== null) return { type: 'busy', activeRunId }
  if (run.hold !== nextHold - 1) {
    return { type: 'refused', message: 'Only the latest run of a conversation can be retried. Send a new message.' }
  }
  if (run.nextPosition !== null && summaryPosition !== null && summaryPosition >= run.nextPosition) {
    return { type: 'refused', message: 'The conversation was compacted since the run failed. Send a new message.' }
  }
  return undefined
}
