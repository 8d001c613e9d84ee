import { saysNothing } from '../domain/answer-limits.ts'
import type { ModelPart } from '../domain/model-request.ts'
import { onAbort } from '../util/abort.ts'

/** The model sent nothing for too long, or nothing but signs of life. */
export class SilentModelError extends Error {}

/** How many times longer than complete silence a stream may last that sends chunks without content. */
const emptyFactor = 3

/**
 * Ends with an error where nothing comes for `idleMs` (an SDK's timeout does not cover a body that stalls), or nothing
 * but empty chunks for three times as long. Ends quietly once the signal is aborted, whatever the source waits for.
 * Two timers and one listener serve the whole stream: chunks come by the thousand.
 */
export async function* withIdleLimit(
  source: AsyncIterable<ModelPart>,
  idleMs: number,
  signal: AbortSignal,
): AsyncGenerator<ModelPart, void> {
  const iterator = source[Symbol.asyncIterator]()
  let waiting: PromiseWithResolvers<IteratorResult<ModelPart> | undefined> | undefined
  const giveUp = (said: string) => waiting?.reject(new SilentModelError(said))
  const silence = setTimeout(() => giveUp(`Nothing came for ${idleMs} ms.`), idleMs)
  const emptiness = setTimeout(
    () => giveUp(`Only chunks without content came for ${emptyFactor * idleMs} ms.`),
    emptyFactor * idleMs,
  )
  const stopListening = onAbort(signal, () => waiting?.resolve(undefined))
  try {
    while (!signal.aborted) {
      silence.refresh()
      waiting = Promise.withResolvers()
      iterator.next().then(waiting.resolve, waiting.reject)
      const result = await waiting.promise
      if (!result || result.done) return
      if (!saysNothing(result.value)) emptiness.refresh()
      yield result.value
    }
  } finally {
    clearTimeout(silence)
    clearTimeout(emptiness)
    stopListening()
    // Not awaited: a source that is stuck would hold us too.
    iterator.return?.(undefined).catch(() => undefined)
  }
}
