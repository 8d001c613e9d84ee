import type { JsonObject } from '../../util/json.ts'
import type { Agent } from '../agents/agent.ts'
import type { ModelRequest } from './model-request.ts'

export type ModelCapability = 'IMAGES' | 'DOCUMENTS' | 'TOOLS' | 'STRUCTURED_OUTPUT' | 'REASONING'

/** A model that agents can use, by its handle: provider/name. */
export interface Model {
  readonly handle: string
  readonly provider: string
  readonly contextWindow: number
  readonly capabilities: readonly ModelCapability[]
  /** Whether its provider can be called: its key, and whatever else it needs, is set. */
  readonly isConfigured: boolean
}

/** The models of all providers. */
export interface ModelCatalog {
  /** The models that are known now. Sends no request. */
  list(): readonly Model[]
  /** The models that the providers list themselves. Sends each of them a request, at most every few minutes. */
  listFresh(): Promise<readonly Model[]>
  find(handle: string): Model | undefined
  /** What the model can read and do. If that is a guess, it includes images. */
  capabilitiesOf(handle: string): readonly ModelCapability[]
  /** What has to be set before the model can be called. Undefined if nothing is missing. */
  missingFor(handle: string): string | undefined
  /** The body that would be sent to the provider. Undefined if no provider has the model. */
  requestBody(request: ModelRequest): JsonObject | undefined
  /** Whether the handle names a model that turns texts into vectors. */
  embeds(handle: string): boolean
  /** One vector of length 1 for each text, all with as many dimensions. Throws an EmbeddingError. */
  embed(handle: string, texts: readonly string[], signal: AbortSignal): Promise<readonly Float32Array[]>
  /** The vector of what someone searches for. Undefined if the model does not answer within seconds. */
  embedQuery(handle: string, query: string): Promise<Float32Array | undefined>
}

/** Why texts were not embedded. */
export class EmbeddingError extends Error {
  /** The provider refuses one of the texts. Otherwise the same texts may be embedded later. */
  readonly isRefusal: boolean

  constructor(message: string, { isRefusal }: { readonly isRefusal: boolean }) {
    super(message)
    this.name = 'EmbeddingError'
    this.isRefusal = isRefusal
  }
}

/** For a model that is no longer known: small enough for most models. */
const unknownWindow = 32_000

/** The largest context of an agent in tokens: its own setting, otherwise the model's window. */
export function contextWindowOf(agent: Pick<Agent, 'model' | 'modelSettings'>, models: ModelCatalog): number {
  return agent.modelSettings.contextWindow ?? models.find(agent.model)?.contextWindow ?? unknownWindow
}
