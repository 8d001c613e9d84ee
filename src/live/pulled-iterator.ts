import { isTransientFailure } from '../store/transient-failure.ts'
import { retryTransient } from '../util/retry.ts'

/** How long a stream waits for a database that is unavailable. Then the stream ends with an error. */
const patienceMs = 30_000

/**
 * An iterator that looks for its next value when it is asked for one, and waits to be woken when there is none. It is
 * not a generator, because `return()` of a generator waits for the promise that its body awaits: here `return()`
 * answers at once and releases everything, whatever `next()` is waiting for. A single word of a model may wake a
 * thousand readers, so there is only one promise between `wake()` and the reader.
 */
export abstract class PulledIterator<Value extends object> implements AsyncIterableIterator<Value> {
  /** A call of `next()` that waits to be woken. */
  #parked: Asker<Value> | undefined
  #closed = false
  #closing: AbortController | undefined

  /**
   * The next value if there is one; 'wait' until `wake()` is called; 'end'; or a promise after which to call `take()`
   * again. A failure ends the iterator.
   */
  protected abstract take(): Value | 'wait' | 'end' | Promise<void>

  /** Closes what the iterator has open. Called once. */
  protected abstract release(): void

  /** True after the end, a failure or `return()`: nothing may be opened any more. */
  protected get closed(): boolean {
    return this.#closed
  }

  /** Reads from the database. A database that is unavailable delays the stream instead of ending it. */
  protected read<Result>(load: () => Promise<Result>): Promise<Result> {
    this.#closing ??= new AbortController()
    return retryTransient(load, { isTransient: isTransientFailure, patienceMs, signal: this.#closing.signal })
  }

  /** Looks for a value again if `next()` is waiting. The value must be there before this is called. */
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
    // A reader that left is not interested in why the read that was under way failed.
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
