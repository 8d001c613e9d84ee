import type { ModelPrice } from '../domain/models/usage.ts'
import { createAnthropic } from './anthropic/anthropic.ts'
import { createAzureOpenAI } from './openai/azure-openai.ts'
import { createBedrock } from './anthropic/bedrock.ts'
import { createVertex } from './anthropic/vertex.ts'
import type { Endpoint } from './endpoint.ts'
import { createGemini } from './gemini/gemini.ts'
import { modelName } from './models.ts'
import { createOpenAIChat } from './openai/openai-chat.ts'
import { createOpenAIResponses } from './openai/openai-responses.ts'
import type { Provider } from './provider.ts'
import type { ModelPart, ModelRequest } from '../domain/models/model-request.ts'
import { Turns } from '../util/turns.ts'

/** One function per wire format. A new format is added here, and to the adapters of the providers file. */
const create = {
  openai: createOpenAIResponses,
  'openai-chat': createOpenAIChat,
  anthropic: createAnthropic,
  'azure-openai': createAzureOpenAI,
  bedrock: createBedrock,
  vertex: createVertex,
  gemini: createGemini,
} as const satisfies Record<string, (endpoint: Endpoint) => Provider>

export type NamedEndpoint = Endpoint & {
  readonly name: string
  readonly adapter: keyof typeof create
  readonly maxConcurrency?: number | undefined
  /** By the model's name. `*` applies to models without an entry of their own. */
  readonly prices: Readonly<Record<string, ModelPrice>>
}

export function createProvider(endpoint: NamedEndpoint): Provider {
  const adapt: (endpoint: Endpoint) => Provider = create[endpoint.adapter]
  const { listModels, ...adapted } = adapt(endpoint)
  const priceOf = (handle: string) => endpoint.prices[modelName(handle)] ?? endpoint.prices['*']
  const secrets = [endpoint.apiKey, ...Object.values(endpoint.headers ?? {})].filter((secret) => secret !== undefined)
  const redact = (text: string) => secrets.reduce((left, secret) => left.replaceAll(secret, '***'), text)
  const provider = { ...adapted, priceOf, redact }
  // If the owner describes models of an endpoint, these are all that it has.
  const created = endpoint.models?.length || !listModels ? provider : { ...provider, listModels }
  return endpoint.maxConcurrency === undefined ? created : limitConcurrency(created, endpoint.maxConcurrency)
}

/** Limits how many requests a provider handles at a time. Other requests wait in order of arrival. */
function limitConcurrency(provider: Provider, max: number): Provider {
  const turns = new Turns({ max })
  async function* stream(request: ModelRequest, signal: AbortSignal): AsyncGenerator<ModelPart, void> {
    const end = await turns.take(provider.name, signal).catch(() => undefined)
    // Aborted while it waited.
    if (!end) return
    try {
      yield* provider.stream(request, signal)
    } finally {
      end()
    }
  }
  return { ...provider, stream }
}
