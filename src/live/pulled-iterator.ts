import { deferred, type Deferred } from '../util/deferred.ts'

/**
 * An iterator that looks for its next value whenever it is asked for one, and parks where there is none until it is
 * woken. It is no generator, because one that is parked on a promise cannot be returned from: here `return()` answers
 * at once, and everything is released, whatever `next()` is waiting for.
 */
export abstract class PulledIterator<Value extends object> implements AsyncIterableIterator<Value> {
  #parked: Deferred<void> | undefined
  #closed = false

  /** A value; or what must happen before there can be one. */
  protected abstract take(): Value | 'wait' | 'end' | Promise<void>

  /** Called once. */
  protected abstract release(): void

  /** Nothing is to be opened any more. */
  protected get closed(): boolean {
    return this.#closed
  }

  protected wake(): void {
    this.#parked?.resolve()
  }

  async next(): Promise<IteratorResult<Value, undefined>> {
    try {
      while (!this.#closed) {
        const taken = this.take()
        if (taken === 'end') break
        if (taken === 'wait') {
          this.#parked = deferred()
          await this.#parked.promise
          this.#parked = undefined
        } else if (taken instanceof Promise) await taken
        else return { done: false, value: taken }
      }
    } catch (error) {
      this.#close()
      throw error
    }
    this.#close()
    return { done: true, value: undefined }
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

  #close(): void {
    if (this.#closed) return
    this.#closed = true
    this.release()
    this.#parked?.resolve()
  }
}
