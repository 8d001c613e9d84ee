import type { Run } from './run.ts'

/** Only the conversation's latest run, only if it failed, and only if nothing was compacted since. */
export function canRetry(
  run: Pick<Run, 'status' | 'number' | 'nextPosition'>,
  conversation: { readonly nextRunNumber: number; readonly summaryPosition: number | null },
): boolean {
  const compactedSince =
    run.nextPosition !== null &&
    conversation.summaryPosition !== null &&
    conversation.summaryPosition >= run.nextPosition
  return run.status === 'FAILED' && run.number === conversation.nextRunNumber - 1 && !compactedSince
}
