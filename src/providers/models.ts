import type { ModelCapability } from '../domain/models/model.ts'
import { claudeVersion, plainClaudeName, takesSchemas } from './anthropic/claude-version.ts'
import type { Endpoint } from './endpoint.ts'
import { geminiVersion } from './gemini/gemini-model.ts'
import { isOpenaiModel, isReasoningModel } from './openai/openai-model.ts'
import type { ProviderModel } from './provider.ts'

/**
 * The largest request of each model in tokens: the context window minus the longest answer. Each line has a size and
 * the models that have it. The newest come first.
 */
function windowsOf(sizes: readonly (readonly [tokens: number, ...names: string[]])[]): ReadonlyMap<string, number> {
  return new Map(sizes.flatMap(([tokens, ...names]) => names.map((name) => [name, tokens] as const)))
}

const openaiModels = windowsOf([
  [922_000, 'gpt-6.1-sol', 'gpt-6-astra', 'gpt-6-luna', 'gpt-5.6-sol', 'gpt-5.6-terra', 'gpt-5.6-luna'],
  [922_000, 'gpt-5.5', 'gpt-5.4'],
  [272_000, 'gpt-5.4-mini', 'gpt-5.4-nano', 'gpt-5.2', 'gpt-5.1', 'gpt-5', 'gpt-5-mini', 'gpt-5-nano'],
  [1_047_576, 'gpt-4.1', 'gpt-4.1-mini', 'gpt-4.1-nano'],
  [128_000, 'gpt-4o', 'gpt-4o-mini'],
  [200_000, 'o3', 'o4-mini'],
])

const anthropicModels = windowsOf([
  [1_000_000, 'claude-fable-5-2', 'claude-opus-5-5', 'claude-sonnet-5-5', 'claude-haiku-5-5'],
  [1_000_000, 'claude-opus-5', 'claude-sonnet-5'],
  [1_000_000, 'claude-opus-4-8', 'claude-opus-4-7', 'claude-opus-4-6', 'claude-sonnet-4-6'],
  [200_000, 'claude-opus-4-5', 'claude-sonnet-4-5', 'claude-haiku-4-5'],
])

const geminiModels = windowsOf([
  [1_048_576, 'gemini-3-pro-preview', 'gemini-3-flash-preview'],
  [1_048_576, 'gemini-2.5-pro', 'gemini-2.5-flash', 'gemini-2.5-flash-lite'],
])

/** Models of a provider that are known without asking it. If a window here is wrong, set it on the agent. */
export interface KnownModels {
  readonly list: readonly ProviderModel[]
  /** A model by any name. For an unknown name, the assumed window is too small rather than too large. */
  find(handle: string): ProviderModel | undefined
}

export interface ModelFamily {
  /** Whether models with a known window are listed. */
  readonly lists?: boolean
  readonly windows: ReadonlyMap<string, number>
  readonly fallbackWindow: number
  readonly capabilitiesOf: (name: string) => readonly ModelCapability[]
  /** Whether a name tells nothing about the model. */
  readonly isUnknown?: (name: string) => boolean
}

export const openaiFamily: ModelFamily = {
  windows: openaiModels,
  isUnknown: (name) => !isOpenaiModel(name),
  fallbackWindow: 128_000,
  capabilitiesOf: (name) => {
    if (!isOpenaiModel(name)) return ['TOOLS']
    const features = ['IMAGES', 'DOCUMENTS', 'TOOLS', 'STRUCTURED_OUTPUT'] as const
    return isReasoningModel(name) ? [...features, 'REASONING'] : features
  },
}

export const anthropicFamily: ModelFamily = {
  windows: anthropicModels,
  fallbackWindow: 200_000,
  capabilitiesOf: (name) => [
    'IMAGES',
    'DOCUMENTS',
    'TOOLS',
    ...(takesSchemas(name) ? (['STRUCTURED_OUTPUT'] as const) : []),
    ...(claudeVersion(name) >= 3.7 ? (['REASONING'] as const) : []),
  ],
}

/** Claude at Amazon or Google, where the account decides which models are available. */
export const hostedClaudeFamily: ModelFamily = { ...anthropicFamily, lists: false }

export const geminiFamily: ModelFamily = {
  windows: geminiModels,
  fallbackWindow: 1_048_576,
  capabilitiesOf: (name) => [
    ...(['IMAGES', 'DOCUMENTS', 'TOOLS', 'STRUCTURED_OUTPUT'] as const),
    ...(geminiVersion(name) >= 2.5 ? (['REASONING'] as const) : []),
  ],
}

/** `described` are the models that the owner of an endpoint has described. If there are any, only these are listed. */
export function knownModels(
  provider: string,
  { windows, fallbackWindow, capabilitiesOf, isUnknown = () => false, lists = true }: ModelFamily,
  described: Endpoint['models'] = [],
): KnownModels {
  const own = new Map(described.map(({ name, contextWindow }) => [name, contextWindow]))
  const model = (name: string): ProviderModel => ({
    handle: `${provider}/${name}`,
    provider,
    contextWindow: own.get(name) ?? windows.get(name) ?? windows.get(familyName(name)) ?? fallbackWindow,
    capabilities: capabilitiesOf(name),
    isGuess: isUnknown(name),
  })
  return {
    list: (own.size > 0 ? [...own.keys()] : lists ? [...windows.keys()] : []).map(model),
    find(handle) {
      const name = modelName(handle)
      if (!handle.startsWith(`${provider}/`) || !/^[\w./:@-]{1,200}$/.test(name)) return undefined
      return model(name)
    },
  }
}

/** The name without the date of a snapshot, and without Amazon's prefixes and suffixes of Claude models. */
function familyName(name: string): string {
  return plainClaudeName(name).replace(/[-@]\d{4}-?\d{2}-?\d{2}$/, '')
}

/** The provider's own name for the model: what follows the first slash. */
export function modelName(handle: string): string {
  return handle.slice(handle.indexOf('/') + 1)
}
