/**
 * An iterator that looks for its next value whenever it is asked for one, and parks where there is none until it is
 * woken. It is no generator, because one that is parked on a promise cannot be returned from: here `return()` answers
 * at once, and everything is released, whatever `next()` is waiting for. A thousand readers may be woken for every
 * word of a model, so between the waking and the reader's hands lies one promise.
 */
export abstract class PulledIterator<Value extends object> implements AsyncIterableIterator<Value> {
  /** Who asked and waits to be woken. */
  #parked: Asker<Value> | undefined
  #closed = false

  /** A value; or what must happen before there can be one. */
  protected abstract take(): Value | 'wait' | 'end' | Promise<void>

  /** Called once. */
  protected abstract release(): void

  /** Nothing is to be opened any more. */
  protected get closed(): boolean {
    return this.#closed
  }

  /** Looks again, where someone waits for it. What it is woken for must be there by now. */
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
    this.#close()
    asker.reject(error)
  }

  #close(): void {
    if (this.#closed) return
    this.#closed = true
    this.release()
    this.wake()
  }
}

interface Asker<Value> {
  resolve(result: IteratorResult<Value, undefined>): void
  reject(error: unknown): void
}
