import type { RunCursor } from '../domain/cursor.ts'
import { hasEnded, type RunStatus } from '../domain/run.ts'
import { findRunProgress } from '../store/runs/runs.ts'
import { deferred } from '../util/deferred.ts'
import type { FollowContext } from './follow-run.ts'
import type { EntryEvent } from './run-tail.ts'

export interface RunWait {
  readonly waitMs: number
  readonly after?: RunCursor | undefined
  /**
   * The run was just stored by this process, so it has neither paused nor ended yet. If another process was faster, the
   * poll notices.
   */
  readonly isNew?: boolean
}

/**
 * Resolves when the run has entries after `after` and is paused or has ended, after `waitMs` (immediately if 0), or
 * when the process stops. If the client leaves, the wait still ends by itself. Costs no query if this process drives
 * the run from its start to its end.
 */
export async function waitForRun(
  { db, hub }: Pick<FollowContext, 'db' | 'hub'>,
  runId: string,
  { waitMs, after, isNew = false }: RunWait,
): Promise<void> {
  if (waitMs <= 0) return
  const lastRead = after?.seq ?? 0
  let woken = deferred()
  let isOver = false as boolean
  let announcements = 0
  const stopListening = hub.listen(runId, (wakeUp) => {
    if (wakeUp !== 'stored') return
    const tail = hub.tail(runId)
    // Entries that this process committed are in the tail, and a pause or an end is the last entry of its checkpoint.
    // Entries from other processes need a query.
    const isAnnounced = tail === undefined || tail.announcements !== announcements
    announcements = tail?.announcements ?? 0
    isOver ||= !isAnnounced && tail.lastSeq > lastRead && isStop(tail.last)
    if (isAnnounced || isOver) woken.resolve()
  })
  const end = () => {
    isOver = true
    woken.resolve()
  }
  const timer = setTimeout(end, waitMs)
  const forgetEnd = hub.onEndOfWaits(end)
  try {
    if (!isNew && (await hasStopped(db, runId, lastRead))) return
    for (;;) {
      await woken.promise
      if (isOver) return
      woken = deferred()
      if (await hasStopped(db, runId, lastRead)) return
    }
  } finally {
    clearTimeout(timer)
    forgetEnd()
    stopListening()
  }
}

function isStop(last: EntryEvent | undefined): boolean {
  return last?.entry.type === 'status' && isAtRest(last.entry.status)
}

function isAtRest(status: RunStatus): boolean {
  return status === 'AWAITING_APPROVAL' || hasEnded(status)
}

/** Also true if the run was deleted. */
async function hasStopped(db: FollowContext['db'], runId: string, lastRead: number): Promise<boolean> {
  const progress = await findRunProgress(db, runId)
  if (!progress) return true
  const { status, nextSeq } = progress
  return nextSeq - 1 > lastRead && isAtRest(status)
}
