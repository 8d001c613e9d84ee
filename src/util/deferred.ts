/** A promise that is settled from outside. Tests use it as a gate, iterators as a wake-up. */
export interface Deferred<T> {
  readonly promise: Promise<T>
  resolve(value: T): void
  reject(reason: unknown): void
}

export function deferred<T = void>(): Deferred<T> {
  return Promise.withResolvers<T>()
}
