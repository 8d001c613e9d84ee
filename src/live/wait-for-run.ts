import type { RunCursor } from '../domain/cursor.ts'
import type { Checkpoint } from '../domain/runs/draft.ts'
import { hasEnded, type RunStatus } from '../domain/runs/run.ts'
import { findRunProgress } from '../store/runs/runs.ts'
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
 * the run from its start to its end, and then returns the checkpoint that paused or ended it, if it is known.
 */
export async function waitForRun(
  { db, hub }: Pick<FollowContext, 'db' | 'hub'>,
  runId: string,
  { waitMs, after, isNew = false }: RunWait,
): Promise<Checkpoint | undefined> {
  if (waitMs <= 0) return undefined
  let lastRead = after?.seq ?? 0
  let woken = Promise.withResolvers<void>()
  let isOver = false as boolean
  let announcements = 0
  let stored: Checkpoint | undefined
  /** Entries that were read as well are not news, even if this process announces them only now. */
  const hasStopped = async (): Promise<boolean> => {
    const progress = await findRunProgress(db, runId)
    // A run that was deleted does nothing more.
    if (!progress) return true
    const { status, nextSeq } = progress
    if (nextSeq - 1 > lastRead && isAtRest(status)) return true
    lastRead = Math.max(lastRead, nextSeq - 1)
    return false
  }
  const stopListening = hub.listen(runId, (wakeUp) => {
    if (wakeUp !== 'stored') return
    const tail = hub.tail(runId)
    // Entries that this process committed are in the tail, and a pause or an end is the last entry of its checkpoint.
    // Entries from other processes need a query.
    const isAnnounced = tail === undefined || tail.announcements !== announcements
    announcements = tail?.announcements ?? 0
    if (!isOver && !isAnnounced && tail.lastSeq > lastRead && isStop(tail.last)) {
      isOver = true
      // A reader may have found the end stored before the run's driver did.
      if (tail.lastCheckpoint?.after.nextSeq === tail.lastSeq + 1) stored = tail.lastCheckpoint
    }
    if (isAnnounced || isOver) woken.resolve()
  })
  const end = () => {
    isOver = true
    woken.resolve()
  }
  const timer = setTimeout(end, waitMs)
  const forgetEnd = hub.onEndOfWaits(end)
  try {
    if (!isNew && (await hasStopped())) return undefined
    for (;;) {
      await woken.promise
      if (isOver) return stored
      woken = Promise.withResolvers<void>()
      if (await hasStopped()) return undefined
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
