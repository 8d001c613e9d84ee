import type { Model, ModelCatalog } from '../domain/models/model.ts'
import type { ModelPrice } from '../domain/price.ts'
import { ListedModels } from './listed-models.ts'
import type { Provider, ProviderModel } from './provider.ts'

/** The models of all providers, and which provider a handle belongs to. */
export interface ProviderCatalog extends ModelCatalog {
  providerOf(handle: string): Provider | undefined
  /** Undefined if the price of the model is not configured. */
  priceOf(handle: string): ModelPrice | undefined
}

export function createCatalog(providers: readonly Provider[]): ProviderCatalog {
  const byName = new Map(providers.map((provider) => [provider.name, provider]))
  const listed = new ListedModels()
  const named = (handle: string) => byName.get(handle.slice(0, Math.max(0, handle.indexOf('/'))))
  const shown = ({ isGuess: _isGuess, ...model }: ProviderModel): Model => ({
    capabilities: [],
    ...model,
    isConfigured: byName.get(model.provider)?.missing === undefined,
  })
  const modelsOf = (provider: Provider) => (listed.of(provider) ?? provider.models()).map(shown)
  const findModel = (handle: string) => {
    const provider = named(handle)
    return provider?.models().find((one) => one.handle === handle) ?? provider?.find?.(handle)
  }
  const find = (handle: string) => {
    const model = findModel(handle)
    return model && shown(model)
  }
  const providerOf = (handle: string) => (find(handle) ? named(handle) : undefined)
  const list = () => providers.flatMap(modelsOf)
  return {
    list,
    async listFresh() {
      await listed.refresh(providers)
      return list()
    },
    find,
    // Many open models can read images, and one that cannot says so.
    capabilitiesOf: (handle) => {
      const { capabilities = [], isGuess = false } = findModel(handle) ?? {}
      return isGuess ? [...capabilities, 'IMAGES'] : capabilities
    },
    missingFor: (handle) => named(handle)?.missing,
    providerOf,
    priceOf: (handle) => named(handle)?.priceOf?.(handle),
    requestBody: (request) => providerOf(request.model)?.requestBody(request),
  }
}
