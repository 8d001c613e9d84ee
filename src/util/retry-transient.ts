import { setTimeout as delay } from 'node:timers/promises'

export interface RetryOptions {
  /** Whether the same work may succeed later. Any other failure is thrown immediately. */
  readonly isTransient: (error: unknown) => boolean
  /** How long to keep retrying after the first failure. Defaults to as long as it takes. */
  readonly patienceMs?: number
  /** Aborting it ends the wait between two attempts. The last failure is then thrown. */
  readonly signal: AbortSignal
}

const delayMs = { first: 50, most: 1_000 } as const

/** Repeats `work` with exponential backoff until it succeeds. Throws the last failure when `patienceMs` is over. */
export async function retryTransient<Result>(work: () => Promise<Result>, options: RetryOptions): Promise<Result> {
  const { isTransient, patienceMs = Infinity, signal } = options
  let failedAt: number | undefined
  for (let waitMs: number = delayMs.first; ; waitMs = Math.min(waitMs * 2, delayMs.most)) {
    try {
      return await work()
    } catch (error) {
      const now = performance.now()
      failedAt ??= now
      if (!isTransient(error) || now + waitMs > failedAt + patienceMs) throw error
      await delay(waitMs, undefined, { signal }).catch(() => {})
      if (signal.aborted) throw error
    }
  }
}
