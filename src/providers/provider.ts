import type { ModelPart, ModelRequest } from '../domain/model-request.ts'
import type { Model } from '../domain/model.ts'
import type { JsonObject } from '../util/json.ts'

/**
 * A family of models behind one wire format. `stream` never throws once started: a failure is the last part of the
 * stream. Aborting the signal closes the connection and ends the stream without a last part.
 */
export interface Provider {
  /** The part of a handle before the slash. */
  readonly name: string
  /** Those that can be named without asking anybody. */
  models(): readonly Model[]
  /** For a provider that takes other names too: a compatible server has models that nobody here knows. */
  find?(handle: string): Model | undefined
  /** Exactly what `stream` sends. */
  requestBody(request: ModelRequest): JsonObject
  stream(request: ModelRequest, signal: AbortSignal): AsyncIterable<ModelPart>
}
