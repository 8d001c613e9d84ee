import type { Ticks } from '../util/ticks.ts'

/**
 * Reads of the database that many readers want at the same moment, because the same change woke all of them. They share
 * one read for each key. A read that has begun is not shared, because it may miss the change that woke a later reader:
 * those who ask meanwhile share the next one, which begins when it is over. So a key has at most one read at a time,
 * however many readers there are.
 */
export class SharedReads {
  readonly #ticks: Ticks
  readonly #current = new Map<string, Promise<unknown>>()
  readonly #next = new Map<string, Promise<unknown>>()

  constructor(ticks: Ticks) {
    this.#ticks = ticks
  }

  /** Everyone who asks with the same key must ask for the same thing. */
  read<Result>(key: string, load: () => Promise<Result>): Promise<Result> {
    const next = this.#next.get(key) ?? this.#begin(key, load)
    this.#next.set(key, next)
    return next as Promise<Result>
  }

  async #begin<Result>(key: string, load: () => Promise<Result>): Promise<Result> {
    // Readers that the same change woke ask within one tick of the event loop.
    await this.#ticks.passed()
    await this.#current.get(key)?.catch(() => undefined)
    this.#next.delete(key)
    const reading = load()
    this.#current.set(key, reading)
    try {
      return await reading
    } finally {
      if (this.#current.get(key) === reading) this.#current.delete(key)
    }
  }
}
