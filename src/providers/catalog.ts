import type { Model, ModelCatalog } from '../domain/model.ts'
import type { Provider } from './provider.ts'

/** The models of all providers, and which provider speaks for a handle. */
export interface ProviderCatalog extends ModelCatalog {
  providerOf(handle: string): Provider | undefined
}

export function createCatalog(providers: readonly Provider[]): ProviderCatalog {
  const listed = new Map<string, Model>()
  for (const provider of providers) {
    for (const model of provider.models()) listed.set(model.handle, model)
  }
  const byName = new Map(providers.map((provider) => [provider.name, provider]))
  const named = (handle: string) => byName.get(handle.slice(0, Math.max(0, handle.indexOf('/'))))
  const find = (handle: string) => listed.get(handle) ?? named(handle)?.find?.(handle)
  const providerOf = (handle: string) => (find(handle) ? named(handle) : undefined)
  return {
    list: () => [...listed.values()],
    find,
    providerOf,
    requestBody: (request) => providerOf(request.model)?.requestBody(request),
  }
}
