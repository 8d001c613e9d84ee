import type { Model } from '../domain/model.ts'

/** The most tokens that a request to each may hold, newest first: what is left of the window beside the answer. */
const openaiModels: Readonly<Record<string, number>> = {
  'gpt-6.1-sol': 922_000,
  'gpt-6-astra': 922_000,
  'gpt-6-luna': 922_000,
  'gpt-5.6-sol': 922_000,
  'gpt-5.6-terra': 922_000,
  'gpt-5.6-luna': 922_000,
  'gpt-5.5': 922_000,
  'gpt-5.4': 922_000,
  'gpt-5.4-mini': 272_000,
  'gpt-5.4-nano': 272_000,
  'gpt-5.2': 272_000,
  'gpt-5.1': 272_000,
  'gpt-5': 272_000,
  'gpt-5-mini': 272_000,
  'gpt-5-nano': 272_000,
  'gpt-4.1': 1_047_576,
  'gpt-4.1-mini': 1_047_576,
  'gpt-4.1-nano': 1_047_576,
  'gpt-4o': 128_000,
  'gpt-4o-mini': 128_000,
  o3: 200_000,
  'o4-mini': 200_000,
}

const anthropicModels: Readonly<Record<string, number>> = {
  'claude-fable-5-2': 1_000_000,
  'claude-opus-5-5': 1_000_000,
  'claude-sonnet-5-5': 1_000_000,
  'claude-haiku-5-5': 1_000_000,
  'claude-opus-5': 1_000_000,
  'claude-sonnet-5': 1_000_000,
  'claude-opus-4-8': 1_000_000,
  'claude-opus-4-7': 1_000_000,
  'claude-opus-4-6': 1_000_000,
  'claude-sonnet-4-6': 1_000_000,
  'claude-opus-4-5': 200_000,
  'claude-sonnet-4-5': 200_000,
  'claude-haiku-4-5': 200_000,
}

/** What is known of a provider's models without asking it. Windows that are wrong can be set on the agent. */
export interface KnownModels {
  readonly list: readonly Model[]
  /** A model by any name; one that is not known has a window that is rather too small than too large. */
  find(handle: string): Model | undefined
}

export const openaiWindows = { known: openaiModels, fallback: 128_000 }
export const anthropicWindows = { known: anthropicModels, fallback: 200_000 }

export function knownModels(
  provider: string,
  { known, fallback }: { readonly known: Readonly<Record<string, number>>; readonly fallback: number },
): KnownModels {
  const model = (name: string, contextWindow: number): Model => ({
    handle: `${provider}/${name}`,
    provider,
    contextWindow,
  })
  return {
    list: Object.entries(known).map(([name, window]) => model(name, window)),
    find(handle) {
      const name = modelName(handle)
      if (!handle.startsWith(`${provider}/`) || !/^[\w./:@-]{1,200}$/.test(name)) return undefined
      // A dated snapshot has the window of the model that it is one of.
      return model(name, known[name] ?? known[name.replace(/-\d{4}-?\d{2}-?\d{2}$/, '')] ?? fallback)
    },
  }
}

/** The name that the provider itself uses: what follows the first slash. */
export function modelName(handle: string): string {
  return handle.slice(handle.indexOf('/') + 1)
}
