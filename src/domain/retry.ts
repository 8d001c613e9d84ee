import type { Run } from './run.ts'

/** Only the run that held the conversation last, only if it failed, and only if nothing was compacted since. */
export function canRetry(
  run: Pick<Run, 'status' | 'hold' | 'nextPosition'>,
  conversation: { readonly nextHold: number; readonly summaryPosition: number | null },
): boolean {
  const compactedSince =
    run.nextPosition !== null &&
    conversation.summaryPosition !== null &&
    conversation.summaryPosition >= run.nextPosition
  return run.status === 'FAILED' && run.hold === conversation.nextHold - 1 && !compactedSince
}
