import type { Provider, ProviderModel } from './provider.ts'

const freshMs = 5 * 60_000
/** A provider that did not answer is asked again sooner. */
const retryMs = 30_000
const timeoutMs = 3_000

interface Listing {
  /** Undefined until the provider has answered once. */
  readonly models: readonly ProviderModel[] | undefined
  readonly askAgainAt: number
}

/** What each provider lists, asked when somebody wants to know and remembered for a while. */
export class ListedModels {
  readonly #listings = new Map<Provider, Listing>()
  readonly #asking = new Map<Provider, Promise<void>>()

  /** Undefined where the provider has not answered yet: then what is known of it without asking is all there is. */
  of(provider: Provider): readonly ProviderModel[] | undefined {
    return this.#listings.get(provider)?.models
  }

  /** Never throws: a provider that does not answer leaves the last answer, or the models that are known. */
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
      const names = await provider.listModels!(AbortSignal.timeout(timeoutMs))
      const models = names.flatMap((name) => provider.find?.(`${provider.name}/${name}`) ?? [])
      this.#listings.set(provider, { models, askAgainAt: Date.now() + freshMs })
    } catch {
      this.#listings.set(provider, { models: this.of(provider), askAgainAt: Date.now() + retryMs })
    } finally {
      this.#asking.delete(provider)
    }
  }
}
