import type { Provider, ProviderModel } from './provider.ts'

const freshMs = 5 * 60_000
/** How soon a provider that did not answer is asked again. */
const retryMs = 30_000
const timeoutMs = 3_000

interface Listing {
  /** Undefined until the provider has answered once. */
  readonly models: readonly ProviderModel[] | undefined
  readonly askAgainAt: number
}

/**
 * The models that each provider lists. A provider is asked when somebody wants to know, and its answer is cached for a
 * while.
 */
export class ListedModels {
  readonly #listings = new Map<Provider, Listing>()
  readonly #asking = new Map<Provider, Promise<void>>()

  /** Undefined if the provider has not answered yet. Then only the models known without asking are available. */
  of(provider: Provider): readonly ProviderModel[] | undefined {
    return this.#listings.get(provider)?.models
  }

  /** Never throws. If a provider does not answer, its last answer, or else the known models, are used. */
  async refresh(providers: readonly Provider[]): Promise<void> {
    const now = Date.now()
    const due = providers.filter(
      (provider) => provider.listModels && !provider.missing && (this.#listings.get(provider)?.askAgainAt ?? 0) <= now,
    )
    await Promise.all(due.map((provider) => this.#ask(provider)))
  }

  #ask(provider: Provider): Promise<void> {
    const asking = this.#asking.get(provider) ?? this.#askOnce(provider)
    this.#asking.set(provider, asking)
    return asking
  }

  async #askOnce(provider: Provider): Promise<void> {
    try {
      const names = (await provider.listModels?.(AbortSignal.timeout(timeoutMs))) ?? []
      const models = names.flatMap((name) => provider.find?.(`${provider.name}/${name}`) ?? [])
      this.#listings.set(provider, { models, askAgainAt: Date.now() + freshMs })
    } catch {
      this.#listings.set(provider, { models: this.of(provider), askAgainAt: Date.now() + retryMs })
    } finally {
      this.#asking.delete(provider)
    }
  }
}
