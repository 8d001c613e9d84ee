import { onAbort } from './abort.ts'

interface Waiting {
  readonly owner: string
  readonly begin: () => void
  readonly giveUp: (reason: Error) => void
}

/**
 * Lets a limited number of jobs run at a time, in all and per owner. Owners who wait take turns, so that one who has
 * many jobs does not delay the others.
 */
export class Turns {
  readonly #max: number
  readonly #maxPerOwner: number
  /** The owner of each job that is running. */
  readonly #running: string[] = []
  #waiting: Waiting[] = []

  constructor({ max, maxPerOwner = max }: { readonly max: number; readonly maxPerOwner?: number }) {
    this.#max = max
    this.#maxPerOwner = maxPerOwner
  }

  /** Does the work when it is its turn, at once if nobody has to wait. Rejects if `signal` is aborted before. */
  async run<Result>(owner: string, work: () => Promise<Result>, signal?: AbortSignal): Promise<Result> {
    const end = this.#hasRoom(owner) ? this.#begin(owner) : await this.take(owner, signal)
    try {
      return await work()
    } finally {
      end()
    }
  }

  /** The same for work that is no function. Call the returned function once, when the work is over. */
  async take(owner: string, signal = new AbortController().signal): Promise<() => void> {
    signal.throwIfAborted()
    if (this.#hasRoom(owner)) return this.#begin(owner)
    const { promise, resolve, reject: giveUp } = Promise.withResolvers<() => void>()
    const job = { owner, giveUp, begin: () => resolve(this.#begin(owner)) }
    this.#waiting.push(job)
    const stopListening = onAbort(signal, (reason) => {
      this.#waiting = this.#waiting.filter((other) => other !== job)
      giveUp(reason)
    })
    return promise.finally(stopListening)
  }

  /** Rejects all jobs that wait. */
  clear(reason: Error): void {
    for (const { giveUp } of this.#waiting.splice(0)) giveUp(reason)
  }

  #hasRoom(owner: string): boolean {
    const own = this.#running.filter((other) => other === owner).length
    return this.#running.length < this.#max && own < this.#maxPerOwner
  }

  /** Returns the function that ends the job and lets the next one begin. */
  #begin(owner: string): () => void {
    this.#running.push(owner)
    return () => {
      this.#running.splice(this.#running.indexOf(owner), 1)
      const next = this.#waiting.find((job) => this.#hasRoom(job.owner))
      if (!next) return
      // The owner's other jobs come after those of all others.
      const others = this.#waiting.filter((job) => job !== next)
      const byOwner = Object.groupBy(others, (job) => (job.owner === next.owner ? 'own' : 'foreign'))
      this.#waiting = [...(byOwner.foreign ?? []), ...(byOwner.own ?? [])]
      next.begin()
    }
  }
}
