import { abortable } from './abort.ts'
import { deferred } from './deferred.ts'

/** Lets one caller in at a time, in the order in which they asked. */
export class Mutex {
  #last: Promise<unknown> = Promise.resolve()

  /** Resolves with a function that lets the next caller in and may be called twice. Rejects if the signal is aborted first. */
  async enter(signal: AbortSignal): Promise<() => void> {
    const before = this.#last
    const left = deferred()
    this.#last = before.then(() => left.promise)
    try {
      await abortable(before, signal)
    } catch (error) {
      left.resolve()
      throw error
    }
    return left.resolve
  }
}
