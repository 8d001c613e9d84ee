import type { JsonObject } from '../util/json.ts'
import type { Agent } from './agent.ts'
import type { ModelRequest } from './model-request.ts'

/** A model that this server can reach, by its handle: provider/name. */
export interface Model {
  readonly handle: string
  readonly provider: string
  readonly contextWindow: number
}

/** The models that the configuration can reach. Asking it calls nobody. */
export interface ModelCatalog {
  list(): readonly Model[]
  find(handle: string): Model | undefined
  /** What would be sent to the provider; undefined where nobody speaks for the model any more. */
  requestBody(request: ModelRequest): JsonObject | undefined
}

/** For a model that nobody knows any more: small enough for most. */
const unknownWindow = 32_000

/** The most tokens that an agent's context may hold: what it was told, else what its model takes. */
export function contextWindowOf(agent: Pick<Agent, 'model' | 'modelSettings'>, models: ModelCatalog): number {
  return agent.modelSettings.contextWindow ?? models.find(agent.model)?.contextWindow ?? unknownWindow
}
