import { saysNothing } from '../domain/models/answer-limits.ts'
import type { ModelPart } from '../domain/models/model-request.ts'
import { onAbort } from '../util/abort.ts'

/** The model sent nothing, or only empty chunks, for too long. */
export class SilentModelError extends Error {}

/** A stream of chunks without content may last this many times as long as complete silence. */
const emptyFactor = 3

/**
 * Throws if nothing arrives for `idleMs`, which an SDK's timeout does not cover once a body has started, or if only
 * empty chunks arrive for three times as long. Returns as soon as the signal is aborted, even if the source is waiting.
 * Two timers and one listener serve the whole stream, because chunks arrive by the thousand.
 */
export async function* withIdleLimit(
  source: AsyncIterable<ModelPart>,
  idleMs: number,
  signal: AbortSignal,
): AsyncGenerator<ModelPart, void> {
  const iterator = source[Symbol.asyncIterator]()
  let waiting: PromiseWithResolvers<IteratorResult<ModelPart> | undefined> | undefined
  const giveUp = (said: string) => waiting?.reject(new SilentModelError(said))
  const silence = setTimeout(() => giveUp(`Nothing arrived for ${idleMs} ms.`), idleMs)
  const emptiness = setTimeout(
    () => giveUp(`Only chunks without content arrived for ${emptyFactor * idleMs} ms.`),
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
    // Not awaited: a stuck source would block this generator too.
    iterator.return?.(undefined).catch(() => undefined)
  }
}
