import type { ModelPart, ModelRequest } from '../domain/models/model-request.ts'
import type { Model } from '../domain/models/model.ts'
import type { ModelPrice } from '../domain/models/usage.ts'
import type { JsonObject } from '../util/json.ts'

/** A model as its provider describes it. What it can do may be unknown. */
export type ProviderModel = Pick<Model, 'handle' | 'provider' | 'contextWindow'> &
  Partial<Pick<Model, 'capabilities'>> & {
    /** The server has no information about the model. */
    readonly isGuess?: boolean
  }

/** Models that turn texts into vectors. */
export interface Embeddings {
  /** Whether the handle may name such a model. */
  has(handle: string): boolean
  /** One vector for each text, of any length. Throws what its SDK throws. */
  embed(handle: string, texts: readonly string[], signal: AbortSignal): Promise<readonly ArrayLike<number>[]>
}

/**
 * Models behind one wire format at one address. `stream` never throws once started: a failure is the last part of the
 * stream. Aborting the signal closes the connection and ends the stream without a last part.
 */
export interface Provider {
  /** The part of a handle before the slash. */
  readonly name: string
  /**
   * What has to be set before the provider can be called, as the beginning of a sentence. Undefined if nothing is
   * missing.
   */
  readonly missing?: string | undefined
  /** The models that are known without asking the provider. */
  models(): readonly ProviderModel[]
  /** The names of the models that the provider itself lists. */
  listModels?(signal: AbortSignal): Promise<readonly string[]>
  /** Describes a model by a name that is not listed: compatible servers have models that are not known here. */
  find?(handle: string): ProviderModel | undefined
  /** Undefined if the price of the model is not configured. */
  priceOf?(handle: string): ModelPrice | undefined
  /** The text without the provider's key. */
  redact?(text: string): string
  /** Exactly what `stream` sends. Some SDKs put the model and the API version elsewhere. */
  requestBody(request: ModelRequest): JsonObject
  stream(request: ModelRequest, signal: AbortSignal): AsyncIterable<ModelPart>
  /** Undefined if its API cannot embed. */
  readonly embeddings?: Embeddings
}
