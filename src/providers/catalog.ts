import { EmbeddingError, type Model, type ModelCatalog } from '../domain/models/model.ts'
import type { ModelPrice } from '../domain/models/usage.ts'
import { currentLog } from '../util/log-context.ts'
import { failureOf } from './errors.ts'
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
    embeds: (handle) => named(handle)?.embeddings?.has(handle) ?? false,
    embed: (handle, texts, signal) => embed(named(handle), handle, texts, signal),
    async embedQuery(handle, query) {
      const signal = AbortSignal.timeout(queryTimeoutMs)
      try {
        return (await embed(named(handle), handle, [query], signal))[0]
      } catch (error) {
        currentLog()?.warn({ err: error, model: handle }, 'a search could not be embedded; it goes by words alone')
        return undefined
      }
    },
  }
}

/** How long a search waits for its embedding model. */
const queryTimeoutMs = 3_000

/** Far above every model, and few enough for the index of vectors. */
const mostDimensions = 8_192

async function embed(
  provider: Provider | undefined,
  handle: string,
  texts: readonly string[],
  signal: AbortSignal,
): Promise<readonly Float32Array[]> {
  const failed = (message: string, isRefusal = false) => new EmbeddingError(message, { isRefusal })
  if (!provider?.embeddings) throw failed(`No provider here can embed with ${handle}.`)
  if (provider.missing !== undefined) throw failed(`${provider.missing}, so ${handle} cannot be called.`)
  const vectors = await provider.embeddings.embed(handle, texts, signal).catch((error: unknown) => {
    const { type, message, detail } = failureOf(error, { secret: undefined }).error
    const said = [message, detail].filter(Boolean).join(' ')
    // A model that the provider does not know refuses every text.
    const isRefusal = (type === 'LLM_BAD_REQUEST' && !detail?.startsWith('404')) || type === 'LLM_CONTEXT_WINDOW'
    throw failed(provider.redact?.(said) ?? said, isRefusal && !signal.aborted)
  })
  const dimensions = vectors[0]?.length ?? 0
  const fits = vectors.length === texts.length && vectors.every(({ length }) => length === dimensions)
  if (!fits || dimensions === 0 || dimensions > mostDimensions)
    throw failed(`${handle} did not answer with one vector of at most ${mostDimensions} dimensions for each text.`)
  return vectors.map((vector) => {
    const length = Math.sqrt(Array.from(vector).reduce((sum, value) => sum + value * value, 0))
    if (!(length > 0 && length < Infinity)) throw failed(`${handle} answered with a vector without a direction.`, true)
    return Float32Array.from(vector, (value) => value / length)
  })
}
