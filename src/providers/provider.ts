import type { ModelPart, ModelRequest } from '../domain/model-request.ts'
import type { Model } from '../domain/model.ts'

/**
 * A family of models behind one wire format. `stream` never throws once started: a failure is the last part of the
 * stream. Aborting the signal closes the connection and ends the stream without a last part.
 */
export interface Provider {
  /** The part of a handle before the slash. */
  readonly name: string
  models(): readonly Model[]
  stream(request: ModelRequest, signal: AbortSignal): AsyncIterable<ModelPart>
}
