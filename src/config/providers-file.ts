import type { ModelPrice } from '../domain/models/usage.ts'
import {
  amount,
  count,
  entries,
  filledText,
  list,
  object,
  oneOf,
  optional,
  text,
  webAddress,
  type ObjectOf,
  type Shape,
} from './file.ts'

/** The wire formats that an endpoint may speak. */
const adapters = ['openai', 'openai-chat', 'anthropic', 'azure-openai', 'bedrock', 'vertex', 'gemini'] as const
type Adapter = (typeof adapters)[number]
/** A local server may need no key, and cloud providers have credentials of their own. */
const keyless: readonly Adapter[] = ['openai-chat', 'bedrock', 'vertex']
const builtinNames = ['openai', 'openai-chat', 'anthropic'] as const
type BuiltinName = (typeof builtinNames)[number]

const dollars = amount('US dollars per million tokens')

const price: Shape<ModelPrice> = (place) => {
  const given = object({
    input: dollars,
    output: dollars,
    cachedInput: optional(dollars),
    cacheWrite: optional(dollars),
  })(place)
  return { cachedInput: given.input, cacheWrite: given.input, ...given }
}

/** A model of the endpoint, as its owner describes it. */
const model: Shape<{ readonly name: string; readonly contextWindow?: number }> = (place) =>
  typeof place.value === 'string'
    ? { name: filledText(place) }
    : object({ name: filledText, contextWindow: optional(count(Number.MAX_SAFE_INTEGER)) })(place)

/** What an entry may contain for a built-in provider, whose key and address come from the environment. */
const builtinFields = {
  headers: optional(entries(text)),
  /** How long the endpoint may take to begin its answer. Defaults to what the SDK does. */
  timeoutMs: optional(count(3_600_000)),
  /** How many requests this process makes at a time. Defaults to any number. */
  maxConcurrency: optional(count(10_000)),
  models: optional(list(model)),
  /** By the model's name. `*` applies to models without an entry of their own. */
  prices: optional(entries(price)),
}
const fields = {
  preset: optional(filledText),
  adapter: optional(oneOf(adapters)),
  baseUrl: optional(webAddress),
  apiKey: optional(filledText),
  apiKeyVariable: optional(filledText),
  /** azure-openai: the version of its API. */
  apiVersion: optional(filledText),
  /** bedrock, vertex: the region. Defaults to what the SDK finds in the environment. */
  region: optional(filledText),
  /** vertex: the project. Defaults to what the SDK finds. */
  project: optional(filledText),
  ...builtinFields,
}

/** One named endpoint, with what the providers file says about it. */
export type EndpointConfig = Omit<
  ObjectOf<typeof fields>,
  'preset' | 'adapter' | 'baseUrl' | 'apiKey' | 'apiKeyVariable' | 'prices'
> & {
  /** The part of a handle before the slash. */
  readonly name: string
  readonly adapter: Adapter
  readonly baseUrl: string | undefined
  readonly apiKey: string | undefined
  /** What to do about a missing key, for error messages. Undefined if the endpoint needs none. */
  readonly missingKey: string | undefined
  readonly prices: Readonly<Record<string, ModelPrice>>
}

interface Preset {
  readonly adapter: Adapter
  /** Undefined means the SDK's default. */
  readonly baseUrl?: string
  readonly apiKeyVariable?: string
}

/** Servers that many people use. Those on this machine need no key. */
export const presets: Readonly<Record<string, Preset>> = {
  ollama: { adapter: 'openai-chat', baseUrl: 'http://127.0.0.1:11434/v1' },
  vllm: { adapter: 'openai-chat', baseUrl: 'http://127.0.0.1:8000/v1' },
  'lm-studio': { adapter: 'openai-chat', baseUrl: 'http://127.0.0.1:1234/v1' },
  'llama.cpp': { adapter: 'openai-chat', baseUrl: 'http://127.0.0.1:8080/v1' },
  openrouter: {
    adapter: 'openai-chat',
    baseUrl: 'https://openrouter.ai/api/v1',
    apiKeyVariable: 'OPENROUTER_API_KEY',
  },
  groq: { adapter: 'openai-chat', baseUrl: 'https://api.groq.com/openai/v1', apiKeyVariable: 'GROQ_API_KEY' },
  mistral: { adapter: 'openai-chat', baseUrl: 'https://api.mistral.ai/v1', apiKeyVariable: 'MISTRAL_API_KEY' },
  gemini: { adapter: 'gemini', apiKeyVariable: 'GEMINI_API_KEY' },
  bedrock: { adapter: 'bedrock' },
  vertex: { adapter: 'vertex' },
  deepseek: { adapter: 'openai-chat', baseUrl: 'https://api.deepseek.com/v1', apiKeyVariable: 'DEEPSEEK_API_KEY' },
}

const endpoint: Shape<EndpointConfig> = (place) => {
  const { key: name, environment } = place
  if (!/^[a-z0-9][a-z0-9._-]{0,63}$/.test(name) || name === 'demo')
    throw place.wrong('must have a name of 1 to 64 of a–z, 0–9, ".", "_" and "-", and not demo')
  const builtin = builtinNames.find((one) => one === name)
  if (builtin !== undefined) return { ...plainEndpoint(builtin), ...object(builtinFields)(place) }

  const { preset: given, apiKeyVariable, prices = {}, ...described } = object(fields)(place)
  const presetName = given ?? (described.adapter === undefined ? name : undefined)
  const preset = presetName === undefined ? undefined : presets[presetName]
  const adapter = described.adapter ?? preset?.adapter
  if (adapter === undefined || (presetName !== undefined && !preset))
    throw place.wrong(`needs an "adapter" or a "preset". Presets: ${Object.keys(presets).join(', ')}`)
  const { baseUrl = preset?.baseUrl, apiVersion, region } = described
  if (adapter === 'azure-openai' && (!baseUrl || !apiVersion))
    throw place.wrong('is an endpoint of Azure, which needs its "baseUrl" and "apiVersion"')
  if (adapter === 'vertex' && !region) throw place.wrong('is an endpoint of Vertex AI, which needs its "region"')
  const variable = apiKeyVariable ?? preset?.apiKeyVariable
  const apiKey = described.apiKey ?? (variable === undefined ? undefined : environment[variable] || undefined)
  const needsKey = variable !== undefined || (!keyless.includes(adapter) && preset === undefined)
  const missing = variable === undefined ? `The provider ${name} has no apiKey` : `${variable} is not set`
  return { ...described, name, adapter, baseUrl, apiKey, missingKey: needsKey ? missing : undefined, prices }
}

/** The file HOLDPOINT_PROVIDERS. */
export const providersFile: Shape<readonly EndpointConfig[]> = (place) =>
  Object.values(object({ providers: entries(endpoint) })(place).providers)

/** A built-in provider without options. The adapter names the variable of a missing key. */
function plainEndpoint(name: BuiltinName): EndpointConfig {
  return { name, adapter: name, baseUrl: undefined, apiKey: undefined, missingKey: undefined, prices: {} }
}

interface Address {
  readonly apiKey: string | undefined
  readonly baseUrl: string | undefined
}

/** The built-in providers, with the options that the file adds to them, and then those of the file. */
export function endpointsOf(
  builtin: Readonly<Record<BuiltinName, Address>>,
  described: readonly EndpointConfig[],
): EndpointConfig[] {
  return [
    ...builtinNames.map((name) => ({
      ...(described.find((one) => one.name === name) ?? plainEndpoint(name)),
      ...builtin[name],
    })),
    ...described.filter(({ name }) => !builtinNames.some((one) => one === name)),
  ]
}
