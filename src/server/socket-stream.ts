import type { ExecutionResult } from 'graphql'

import type { Outlet } from './outlet.ts'
import type { SharedStream } from './shared-execution.ts'

/**
 * A subscription for graphql-ws that sends its results itself, as text that others may share: the library would take
 * each result apart, check it and write it as JSON once more for every subscriber. It yields nothing and ends when the
 * stream does, and the library then says `complete`. Where the client said so first, it does not end but falls silent:
 * the library would say it under an id that may be another subscription's by then.
 */
export function sendResults(
  stream: SharedStream,
  source: AsyncIterableIterator<ExecutionResult>,
  { outlet, id }: { readonly outlet: Outlet; readonly id: string },
): AsyncIterableIterator<never> {
  const before = `{"id":${JSON.stringify(id)},"type":"next","payload":`
  let over = false as boolean
  const isOver = () => over
  const end = async (): Promise<IteratorReturnResult<undefined>> => {
    over = true
    await source.return?.()
    return { done: true, value: undefined }
  }

  async function sendAll(): Promise<void> {
    while (!over) {
      const { done, value } = await stream.nextEvent()
      if (done) return
      const shared = stream.textOf(value)
      // Most texts are there: no turn of the queue is lost on them.
      const text = typeof shared === 'string' ? shared : await shared
      if (isOver() || !outlet.open) return
      const waiting = outlet.write(`${before}${text}}`)
      if (waiting) await waiting
    }
  }

  return {
    async next() {
      try {
        await sendAll()
        return over ? await neverAnswered() : await end()
      } catch (error) {
        if (over) return neverAnswered()
        // Nobody else does: the library forgets a stream that has failed.
        await end()
        throw error
      }
    },
    return: end,
    async throw(error) {
      await end()
      throw error
    },
    [Symbol.asyncIterator]() {
      return this
    },
  }
}

/** For what the library waits for and must not hear of. Nothing holds it, so it goes with whatever waits. */
export function neverAnswered(): Promise<never> {
  return new Promise(() => {})
}
