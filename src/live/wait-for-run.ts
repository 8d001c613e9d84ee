import type { RunCursor } from '../domain/cursor.ts'
import { hasEnded } from '../domain/run.ts'
import { findRunProgress } from '../store/runs.ts'
import { deferred } from '../util/deferred.ts'
import type { FollowContext } from './follow-run.ts'

/**
 * Resolves when the run has entries after `after` and is paused or has ended, or after `waitMs` (immediately if 0). If
 * the client leaves, the wait still ends by itself.
 */
export async function waitForRun(
  context: Pick<FollowContext, 'db' | 'hub'>,
  runId: string,
  { waitMs, after }: { readonly waitMs: number; readonly after?: RunCursor | undefined },
): Promise<void> {
  if (waitMs <= 0) return
  let woken = deferred()
  let isTimeUp = false as boolean
  let announcements = 0
  const stopListening = context.hub.listen(runId, (wakeUp) => {
    const tail = context.hub.tail(runId)
    // Entries that this process committed are in the tail, and a pause or an end is the last entry of its checkpoint,
    // so any other last entry needs no query. Entries from other processes do.
    const isAnnounced = tail === undefined || tail.announcements !== announcements
    if (wakeUp === 'stored' && (isAnnounced || tail.last?.entry.type === 'status')) woken.resolve()
    announcements = tail?.announcements ?? 0
  })
  const timer = setTimeout(() => {
    isTimeUp = true
    woken.resolve()
  }, waitMs)
  try {
    for (;;) {
      const progress = await findRunProgress(context.db, runId)
      if (!progress || isTimeUp) return
      const hasNewEntries = progress.nextSeq - 1 > (after?.seq ?? 0)
      if (hasNewEntries && (progress.status === 'AWAITING_APPROVAL' || hasEnded(progress.status))) return
      await woken.promise
      woken = deferred()
    }
  } finally {
    clearTimeout(timer)
    stopListening()
  }
}
