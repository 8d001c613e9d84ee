import type { ModelPart, ModelRequest } from '../domain/models/model-request.ts'
import { abortable } from '../util/abort.ts'
import type { Provider } from './provider.ts'

/** Limits how many requests a provider handles at a time. Other requests wait in order of arrival. */
export function limitConcurrency(provider: Provider, most: number): Provider {
  let running = 0
  const waiting: (() => void)[] = []

  const next = () => {
    const start = running < most ? waiting.shift() : undefined
    if (!start) return
    running += 1
    start()
  }

  async function* stream(request: ModelRequest, signal: AbortSignal): AsyncGenerator<ModelPart, void> {
    const { promise, resolve } = Promise.withResolvers<void>()
    let started = false
    const start = () => {
      started = true
      resolve()
    }
    waiting.push(start)
    next()
    try {
      await abortable(promise, signal)
      yield* provider.stream(request, signal)
    } catch (error) {
      if (!signal.aborted) throw error
    } finally {
      if (started) running -= 1
      else waiting.splice(waiting.indexOf(start), 1)
      next()
    }
  }

  return { ...provider, stream }
}
