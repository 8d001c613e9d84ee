import { readConfigFile } from './config-file.ts'
import type { ModelPrice } from './domain/price.ts'
import { isJsonObject, type Json, type JsonObject } from './util/json.ts'
import { StartError } from './util/start-error.ts'

/** The wire formats that an endpoint may speak. */
export const adapters = ['openai', 'openai-chat', 'anthropic', 'azure-openai', 'bedrock', 'vertex', 'gemini'] as const
export type Adapter = (typeof adapters)[number]

/** A model of the endpoint, as its owner describes it. */
export interface DescribedModel {
  readonly name: string
  readonly contextWindow: number | undefined
}

/** One named endpoint, as the providers file describes it. */
export interface EndpointConfig {
  /** The part of a handle before the slash. */
  readonly name: string
  readonly adapter: Adapter
  readonly baseUrl: string | undefined
  readonly apiKey: string | undefined
  /** What to do about a missing key, for error messages. Undefined if the endpoint needs none. */
  readonly missingKey: string | undefined
  readonly headers: Readonly<Record<string, string>>
  /** How long the endpoint may take to begin its answer. Undefined means the SDK's default. */
  readonly timeoutMs: number | undefined
  /** How many requests this process makes at a time. Undefined means any number. */
  readonly maxConcurrency: number | undefined
  /** azure-openai: the version of its API. */
  readonly apiVersion: string | undefined
  /** bedrock, vertex: the region. Undefined means what the SDK finds in the environment. */
  readonly region: string | undefined
  /** vertex: the project. Undefined means what the SDK finds. */
  readonly project: string | undefined
  readonly models: readonly DescribedModel[]
  readonly prices: Prices
}

/** By the model's name. `*` applies to models without an entry of their own. */
export type Prices = Readonly<Record<string, ModelPrice>>

/** The defaults of an endpoint. */
export function plainEndpoint(name: Adapter): EndpointConfig {
  const place = { baseUrl: undefined, apiVersion: undefined, region: undefined, project: undefined }
  const nothing = { ...place, apiKey: undefined, missingKey: undefined }
  const limits = { timeoutMs: undefined, maxConcurrency: undefined }
  return { name, adapter: name, ...nothing, ...limits, headers: {}, models: [], prices: {} }
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

const fields = [
  ...['preset', 'adapter', 'baseUrl', 'apiKey', 'apiKeyVariable', 'headers', 'timeoutMs', 'maxConcurrency'],
  ...['apiVersion', 'region', 'project', 'models', 'prices'],
]
/** What an entry may contain for a built-in provider, whose key and address come from the environment. */
const builtinFields = ['headers', 'timeoutMs', 'maxConcurrency', 'models', 'prices']
/** A local server may need no key, and cloud providers have credentials of their own. */
const keyless: readonly Adapter[] = ['openai-chat', 'bedrock', 'vertex']
const builtinNames = ['openai', 'openai-chat', 'anthropic']

/**
 * The endpoints in a providers file: JSON or YAML, an object with one entry per name under `providers`. `variables` is
 * the environment, for keys that the file names but does not contain.
 */
export function readProvidersFile(
  path: string,
  variables: Readonly<Record<string, string | undefined>>,
): EndpointConfig[] {
  const file = readConfigFile('HOLDPOINT_PROVIDERS', path)
  const entries = isJsonObject(file) ? file['providers'] : undefined
  if (!isJsonObject(entries)) {
    throw new StartError(`${path} must be an object with the key "providers": an object with one entry per name.`)
  }
  return Object.entries(entries).map(([name, entry]) => {
    const wrong = (message: string) => new StartError(`The provider ${JSON.stringify(name)} in ${path}: ${message}`)
    if (!/^[a-z0-9][a-z0-9._-]{0,63}$/.test(name) || name === 'demo') {
      throw wrong('the name must be 1 to 64 of a–z, 0–9, ".", "_" and "-", and not demo.')
    }
    if (!isJsonObject(entry)) throw wrong('it must be an object.')
    return readEndpoint(name, entry, { variables, wrong })
  })
}

interface Reading {
  readonly variables: Readonly<Record<string, string | undefined>>
  readonly wrong: (message: string) => StartError
}

function readEndpoint(name: string, entry: JsonObject, { variables, wrong }: Reading): EndpointConfig {
  const builtin = builtinNames.includes(name)
  const known = builtin ? builtinFields : fields
  const unknown = Object.keys(entry).find((field) => !known.includes(field))
  if (unknown !== undefined) {
    throw wrong(`there is no field "${unknown}"${builtin ? ' for a built-in provider' : ''}. Use: ${known.join(', ')}.`)
  }
  const field = <Value extends Json>(key: string, fits: (value: Json) => value is Value, expected: string) => {
    const value = entry[key] ?? undefined
    if (value === undefined || fits(value)) return value
    throw wrong(`"${key}" must be ${expected}.`)
  }
  const text = (key: string) => field(key, isText, 'a text')
  const count = (key: string, most: number) =>
    field(key, (value): value is number => isCount(value) && value <= most, `1 to ${most}`)

  const presetName = builtin ? undefined : (text('preset') ?? (entry['adapter'] === undefined ? name : undefined))
  const preset = presetName === undefined ? undefined : presets[presetName]
  if (presetName !== undefined && !preset) {
    throw wrong(`it needs an "adapter" or a "preset". Presets: ${Object.keys(presets).join(', ')}.`)
  }
  const adapter = field('adapter', isAdapter, `one of ${adapters.join(', ')}`) ?? preset?.adapter ?? (name as Adapter)
  const baseUrl = field('baseUrl', isWebAddress, 'an address that begins with http:// or https://')
  const apiVersion = text('apiVersion')
  if (adapter === 'azure-openai' && (!baseUrl || !apiVersion)) {
    throw wrong('an endpoint of Azure needs its "baseUrl" and "apiVersion".')
  }
  const region = text('region')
  if (adapter === 'vertex' && !region) throw wrong('an endpoint of Vertex AI needs its "region".')
  const variable = text('apiKeyVariable') ?? preset?.apiKeyVariable
  const needsKey = variable !== undefined || (!keyless.includes(adapter) && preset === undefined)
  return {
    name,
    adapter,
    baseUrl: baseUrl ?? preset?.baseUrl,
    apiKey: text('apiKey') ?? (variable === undefined ? undefined : variables[variable] || undefined),
    missingKey: needsKey
      ? variable === undefined
        ? `The provider ${name} has no apiKey`
        : `${variable} is not set`
      : undefined,
    headers: field('headers', isTextObject, 'an object of texts') ?? {},
    timeoutMs: count('timeoutMs', 3_600_000),
    maxConcurrency: count('maxConcurrency', 10_000),
    apiVersion,
    region,
    project: text('project'),
    models: readModels(field('models', isList, 'a list') ?? [], wrong),
    prices: readPrices(field('prices', isJsonObject, 'an object with one entry per model') ?? {}, wrong),
  }
}

function readPrices(prices: JsonObject, wrong: Reading['wrong']): Prices {
  const expected = '"input" and "output", and may have "cachedInput" and "cacheWrite": US dollars per million tokens'
  return Object.fromEntries(
    Object.entries(prices).map(([model, given]) => {
      const price = isJsonObject(given) ? given : {}
      const isWrong =
        !('input' in price && 'output' in price) ||
        Object.entries(price).some(([key, value]) => !priceFields.includes(key) || !isAmount(value))
      if (isWrong) throw wrong(`the price of ${JSON.stringify(model)} needs ${expected}.`)
      const { input, ...rest } = price as unknown as Pick<ModelPrice, 'input' | 'output'> & Partial<ModelPrice>
      return [model, { cachedInput: input, cacheWrite: input, input, ...rest }]
    }),
  )
}

const priceFields = ['input', 'output', 'cachedInput', 'cacheWrite']

function isAmount(value: Json): value is number {
  return typeof value === 'number' && Number.isFinite(value) && value >= 0
}

function readModels(models: readonly Json[], wrong: Reading['wrong']): DescribedModel[] {
  return models.map((model) => {
    if (typeof model === 'string') return { name: model, contextWindow: undefined }
    const described = isJsonObject(model) ? model : {}
    const window = described['contextWindow']
    if (typeof described['name'] !== 'string' || !(window === undefined || isCount(window)))
      throw wrong('each of "models" must be a name, or an object with "name" and "contextWindow".')
    return { name: described['name'], contextWindow: window }
  })
}

function isText(value: Json): value is string {
  return typeof value === 'string' && value !== ''
}

function isCount(value: Json): value is number {
  return Number.isInteger(value) && Number(value) > 0
}

function isList(value: Json): value is readonly Json[] {
  return Array.isArray(value)
}

function isAdapter(value: Json): value is Adapter {
  return adapters.some((adapter) => adapter === value)
}

function isWebAddress(value: Json): value is string {
  return typeof value === 'string' && URL.canParse(value) && /^https?:$/.test(new URL(value).protocol)
}

function isTextObject(value: Json): value is Readonly<Record<string, string>> {
  return isJsonObject(value) && Object.values(value).every((entry) => typeof entry === 'string')
}
