import { setTimeout as sleep } from 'node:timers/promises'

import { isTransientFailure } from '../store/transient-failure.ts'

const pauseMs = { first: 50, longest: 2_000 }

/**
 * Repeats database work of a run that this worker holds after every transient failure, so that a full disk, a timeout
 * or a broken connection costs time and not the answer or the tool results in hand. Aborting `release` ends it: from
 * then on the run is not this worker's any more.
 */
export async function whileHeld<Result>(release: AbortSignal, work: () => Promise<Result>): Promise<Result> {
  for (let ms = pauseMs.first; ; ms = Math.min(ms * 2, pauseMs.longest)) {
    try {
      return await work()
    } catch (error) {
      if (release.aborted || !isTransientFailure(error)) throw error
      await sleep(ms, undefined, { signal: release }).catch(() => undefined)
    }
  }
}
