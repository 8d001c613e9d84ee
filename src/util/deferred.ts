/** A promise that is settled from outside: a gate in tests, a wake-up in iterators. */
export interface Deferred<T> {
  readonly promise: Promise<T>
  resolve(value: T): void
  reject(reason: unknown): void
}

export function deferred<T = void>(): Deferred<T> {
  return Promise.withResolvers<T>()
}
