import type { Model, ModelCatalog } from '../domain/model.ts'
import type { Provider } from './provider.ts'

/** The models of all providers, and which provider speaks for a handle. */
export interface ProviderCatalog extends ModelCatalog {
  providerOf(handle: string): Provider | undefined
}

export function createCatalog(providers: readonly Provider[]): ProviderCatalog {
  const byHandle = new Map<string, { readonly model: Model; readonly provider: Provider }>()
  for (const provider of providers) {
    for (const model of provider.models()) byHandle.set(model.handle, { model, provider })
  }
  return {
    list: () => [...byHandle.values()].map(({ model }) => model),
    find: (handle) => byHandle.get(handle)?.model,
    providerOf: (handle) => byHandle.get(handle)?.provider,
  }
}
