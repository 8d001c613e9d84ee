import type { ModelPart } from '../domain/model-request.ts'
import { failureOf, unusable } from './errors.ts'

/** Holds what the port promises: one end, no exception, silence after an abort. */
export async function* guardStream(
  parts: AsyncIterable<ModelPart>,
  { signal, secret }: { readonly signal: AbortSignal; readonly secret: string | undefined },
): AsyncGenerator<ModelPart, void> {
  try {
    for await (const part of parts) {
      if (signal.aborted) return
      yield part
      if (part.type === 'finish' || part.type === 'failure') return
    }
  } catch (error) {
    if (!signal.aborted) yield failureOf(error, { secret })
    return
  }
  // An SDK ends its loop quietly where the body ends early, and where the signal was aborted.
  if (signal.aborted) return
  yield unusable('The model stopped in the middle of its answer.', 'The stream ended without saying why.')
}
