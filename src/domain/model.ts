import type { JsonObject } from '../util/json.ts'
import type { Agent } from './agent.ts'
import type { ModelRequest } from './model-request.ts'

export const modelCapabilities = ['IMAGES', 'DOCUMENTS', 'TOOLS', 'STRUCTURED_OUTPUT', 'REASONING'] as const
export type ModelCapability = (typeof modelCapabilities)[number]

/** A model that agents can use, by its handle: provider/name. */
export interface Model {
  readonly handle: string
  readonly provider: string
  readonly contextWindow: number
  readonly capabilities: readonly ModelCapability[]
  /** Whether its provider can be called: the key, or whatever else it needs, is set. */
  readonly isConfigured: boolean
}

/** The models of all providers. */
export interface ModelCatalog {
  /** The models that are known now. Asks nobody. */
  list(): readonly Model[]
  /** The models that the providers list themselves. Asks each of them, at most every few minutes. */
  listFresh(): Promise<readonly Model[]>
  find(handle: string): Model | undefined
  /** What the model reads and does. For a model whose capabilities are a guess, images are among them. */
  capabilitiesOf(handle: string): readonly ModelCapability[]
  /** What has to be set before the model can be called; undefined if nothing has. */
  missingFor(handle: string): string | undefined
  /** What would be sent to the provider; undefined if no provider has the model. */
  requestBody(request: ModelRequest): JsonObject | undefined
}

/** For a model that nobody knows any more: small enough for most. */
const unknownWindow = 32_000

/** The most tokens that an agent's context may hold: what it was told, else what its model takes. */
export function contextWindowOf(agent: Pick<Agent, 'model' | 'modelSettings'>, models: ModelCatalog): number {
  return agent.modelSettings.contextWindow ?? models.find(agent.model)?.contextWindow ?? unknownWindow
}
