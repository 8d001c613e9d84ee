import { setTimeout as sleep } from 'node:timers/promises'

import { isTransientFailure } from '../store/database/transient-failure.ts'

const pauseMs = { first: 50, longest: 2_000 }

/**
 * Repeats the database work of a run that this worker drives after every transient failure. A full disk, a timeout or a
 * broken connection then costs time, but not the answer or the tool results in memory. Stops when `letGo` is aborted:
 * from then on the run no longer belongs to this worker.
 */
export async function whileDriving<Result>(letGo: AbortSignal, work: () => Promise<Result>): Promise<Result> {
  for (let ms = pauseMs.first; ; ms = Math.min(ms * 2, pauseMs.longest)) {
    try {
      return await work()
    } catch (error) {
      if (letGo.aborted || !isTransientFailure(error)) throw error
      await sleep(ms, undefined, { signal: letGo }).catch(() => undefined)
    }
  }
}
