import type { ExecutionResult } from 'graphql'

import type { Outlet } from './outlet.ts'
import type { SharedStream } from './shared-execution.ts'

/**
 * A subscription for graphql-ws that sends its results itself, as text that subscribers share: the library would check
 * and serialise each result again for every subscriber. It yields nothing. When the stream ends, it ends too, and the
 * library sends `complete`. When the client has sent `complete` first, it never ends: the library would send `complete`
 * with an id that another subscription may use by then.
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
      // Most texts are ready, and awaiting them would cost a microtask each.
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
        // The library does not release a stream that failed.
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

/**
 * A promise that never settles, for answers that the library must not send. It is collected with whatever awaits it.
 */
export function neverAnswered(): Promise<never> {
  return new Promise(() => {})
}
