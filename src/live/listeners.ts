/** Called when a key gets its first listener, and when it loses its last. */
interface KeyHooks {
  readonly onFirst?: (key: string) => void
  readonly onLast?: (key: string) => void
}

/** Listeners by key. A key without listeners takes no memory. */
export class Listeners<Argument = void> {
  readonly #sets = new Map<string, Set<(argument: Argument) => void>>()
  readonly #hooks: KeyHooks

  constructor(hooks: KeyHooks = {}) {
    this.#hooks = hooks
  }

  /** Calls `listener` on every `call` with this key, until the returned function is called. */
  add(key: string, listener: (argument: Argument) => void): () => void {
    const set = this.#sets.get(key) ?? new Set()
    set.add(listener)
    if (!this.#sets.has(key)) {
      this.#sets.set(key, set)
      this.#hooks.onFirst?.(key)
    }
    return () => {
      if (!set.delete(listener) || set.size > 0 || this.#sets.get(key) !== set) return
      this.#sets.delete(key)
      this.#hooks.onLast?.(key)
    }
  }

  call(key: string, argument: Argument): void {
    for (const listener of this.#sets.get(key) ?? []) listener(argument)
  }

  has(key: string): boolean {
    return this.#sets.has(key)
  }

  /** How many listeners there are, of all keys. */
  count(): number {
    return [...this.#sets.values()].reduce((count, set) => count + set.size, 0)
  }

  keys(): string[] {
    return [...this.#sets.keys()]
  }
}
