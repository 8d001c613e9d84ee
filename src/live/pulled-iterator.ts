import { isTransientFailure } from '../store/database/transient-failure.ts'
import { retryTransient } from '../util/retry-transient.ts'

/** How long a stream waits for an unavailable database before it ends with an error. */
const patienceMs = 30_000

/**
 * An iterator that looks for its next value when asked, and waits to be woken if there is none. It is not a generator,
 * because `return()` of a generator waits for whatever its body awaits. Here `return()` resolves immediately and
 * releases everything. One word from a model may wake a thousand readers, so only one promise lies between `wake()` and
 * the reader.
 */
export abstract class PulledIterator<Value extends object> implements AsyncIterableIterator<Value> {
  /** A pending call of `next()` that waits to be woken. */
  #parked: Asker<Value> | undefined
  #closed = false
  #closing: AbortController | undefined

  /**
   * Returns the next value; or 'wait' to be called again after `wake()`; or 'end'; or a promise after which it is
   * called again. A rejection ends the iterator.
   */
  protected abstract take(): Value | 'wait' | 'end' | Promise<void>

  /** Closes what the iterator has open. Called once. */
  protected abstract release(): void

  /** True after the end, a failure or `return()`. Nothing may be opened after that. */
  protected get closed(): boolean {
    return this.#closed
  }

  /** Reads from the database. An unavailable database delays the stream instead of ending it. */
  protected read<Result>(load: () => Promise<Result>): Promise<Result> {
    this.#closing ??= new AbortController()
    return retryTransient(load, { isTransient: isTransientFailure, patienceMs, signal: this.#closing.signal })
  }

  /** Looks for a value again if `next()` is waiting. The value must exist before this is called. */
  protected wake(): void {
    const asker = this.#parked
    this.#parked = undefined
    if (asker) this.#answer(asker)
  }

  next(): Promise<IteratorResult<Value, undefined>> {
    return new Promise((resolve, reject) => this.#answer({ resolve, reject }))
  }

  async return(): Promise<IteratorResult<Value, undefined>> {
    this.#close()
    return { done: true, value: undefined }
  }

  async throw(error: unknown): Promise<IteratorResult<Value, undefined>> {
    this.#close()
    throw error
  }

  [Symbol.asyncIterator](): this {
    return this
  }

  #answer(asker: Asker<Value>): void {
    try {
      const taken = this.#closed ? 'end' : this.take()
      if (taken === 'wait') this.#parked = asker
      else if (taken === 'end') {
        this.#close()
        asker.resolve({ done: true, value: undefined })
      } else if (taken instanceof Promise) {
        taken.then(
          () => this.#answer(asker),
          (error: unknown) => this.#fail(asker, error),
        )
      } else asker.resolve({ done: false, value: taken })
    } catch (error) {
      this.#fail(asker, error)
    }
  }

  #fail(asker: Asker<Value>, error: unknown): void {
    // A reader that has left does not care why its last read failed.
    if (this.#closed) return asker.resolve({ done: true, value: undefined })
    this.#close()
    asker.reject(error)
  }

  #close(): void {
    if (this.#closed) return
    this.#closed = true
    this.#closing?.abort()
    this.release()
    this.wake()
  }
}

interface Asker<Value> {
  resolve(result: IteratorResult<Value, undefined>): void
  reject(error: unknown): void
}
