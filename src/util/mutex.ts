import { deferred } from './deferred.ts'

/** Lets one in at a time, in the order of asking. */
export class Mutex {
  #last: Promise<unknown> = Promise.resolve()

  /** Resolves with what lets the next one in, and may be called twice. Rejects once the signal is aborted. */
  async enter(signal: AbortSignal): Promise<() => void> {
    const before = this.#last
    const left = deferred()
    this.#last = before.then(() => left.promise)
    const given = deferred<never>()
    const giveUp = () => given.reject(signal.reason)
    signal.addEventListener('abort', giveUp, { once: true })
    if (signal.aborted) giveUp()
    try {
      await Promise.race([before, given.promise])
    } catch (error) {
      left.resolve()
      throw error
    } finally {
      signal.removeEventListener('abort', giveUp)
    }
    return left.resolve
  }
}
