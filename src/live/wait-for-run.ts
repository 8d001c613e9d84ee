import type { RunCursor } from '../domain/cursor.ts'
import { hasEnded } from '../domain/run.ts'
import { findRunProgress } from '../store/runs.ts'
import { deferred } from '../util/deferred.ts'
import type { FollowContext } from './follow-run.ts'

/**
 * Resolves once the run has moved past `after` and is paused or has ended, or after `waitMs`; at once for 0. A client
 * that goes away changes nothing: the wait ends by itself.
 */
export async function waitForRun(
  context: Pick<FollowContext, 'db' | 'hub'>,
  runId: string,
  { waitMs, after }: { readonly waitMs: number; readonly after?: RunCursor | undefined },
): Promise<void> {
  if (waitMs <= 0) return
  let poked = deferred()
  let over = false as boolean
  let heard = 0
  const stopListening = context.hub.listen(runId, (what) => {
    const tail = context.hub.tail(runId)
    // What was committed here is in the tail, and a pause or an end is the last entry of its checkpoint: after any
    // other there is nothing to look for. What others committed has to be looked at.
    const isElsewhere = tail === undefined || tail.news !== heard
    if (what === 'stored' && (isElsewhere || tail.last?.entry.type === 'status')) poked.resolve()
    heard = tail?.news ?? 0
  })
  const timer = setTimeout(() => {
    over = true
    poked.resolve()
  }, waitMs)
  try {
    for (;;) {
      const progress = await findRunProgress(context.db, runId)
      if (!progress || over) return
      const moved = progress.nextSeq - 1 > (after?.seq ?? 0)
      if (moved && (progress.status === 'AWAITING_APPROVAL' || hasEnded(progress.status))) return
      await poked.promise
      poked = deferred()
    }
  } finally {
    clearTimeout(timer)
    stopListening()
  }
}
