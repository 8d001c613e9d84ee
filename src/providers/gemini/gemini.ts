import type { GoogleGenAI } from '@google/genai'

import type { ModelPart, ModelRequest } from '../../domain/models/model-request.ts'
import { abortable } from '../../util/abort.ts'
import { isJsonObject, type JsonObject } from '../../util/json.ts'
import { retryingFetch } from '../access.ts'
import type { Endpoint } from '../endpoint.ts'
import { missingKey } from '../errors.ts'
import { geminiBody } from './gemini-request.ts'
import { readContent } from './gemini-stream.ts'
import { guardStream } from '../guard-stream.ts'
import { geminiFamily, knownModels, modelName } from '../models.ts'
import { loadOptional } from '../../util/optional-package.ts'
import type { Provider } from '../provider.ts'
import { openWithReasoning } from '../reasoning.ts'

/** The Gemini API of Google, through its own SDK. */
export function createGemini(endpoint: Endpoint): Provider {
  const name = endpoint.name ?? 'gemini'
  const models = knownModels(name, geminiFamily, endpoint.models)
  const missing = endpoint.apiKey ? undefined : (endpoint.missingKey ?? 'GEMINI_API_KEY is not set')
  let created: Promise<GoogleGenAI> | undefined
  const client = () => (created ??= createClient(endpoint))

  async function* streamContent(request: ModelRequest, signal: AbortSignal): AsyncGenerator<ModelPart, void> {
    if (missing) return yield missingKey(missing, request.model)
    const { models: api } = await client()
    const events = await openWithReasoning(request, async (asked) => {
      const { contents, generationConfig, ...rest } = geminiBody(asked)
      asked.exchange?.sent(asked.model, { contents, ...rest, generationConfig })
      const fetch = retryingFetch({ attempts: request.hasFallback ? 1 : 3, signal })
      const options = { abortSignal: signal, httpOptions: { fetch }, automaticFunctionCalling: { disable: true } }
      const config: object = { ...generationConfig, ...rest, ...options }
      const model = modelName(asked.model)
      const opening = api.generateContentStream({ model, contents, config })
      return abortable(opening, signal).catch((error: unknown) => {
        throw readable(error)
      })
    })
    yield* readableErrors(readContent(events, request))
  }

  return {
    name,
    missing,
    models: () => models.list,
    async listModels(signal) {
      const { models: api } = await client()
      const pager = await api.list({ config: { pageSize: 1_000, abortSignal: signal } })
      return pager.page.flatMap(({ name: listed, supportedActions }) =>
        listed && supportedActions?.includes('generateContent') ? [listed.replace(/^models\//, '')] : [],
      )
    },
    find: models.find,
    requestBody: (request) => geminiBody(request) as unknown as JsonObject,
    stream: (request, signal) => guardStream(streamContent(request, signal), { signal, secret: endpoint.apiKey }),
  }
}

async function createClient({ apiKey, baseUrl, headers, timeoutMs }: Endpoint): Promise<GoogleGenAI> {
  const { GoogleGenAI } = await loadOptional('@google/genai', () => import('@google/genai'))
  return new GoogleGenAI({
    apiKey: apiKey!,
    vertexai: false,
    httpOptions: {
      ...(baseUrl !== undefined && { baseUrl }),
      ...(headers && { headers: { ...headers } }),
      ...(timeoutMs !== undefined && { timeout: timeoutMs }),
      fetch: retryingFetch({ attempts: 1 }),
    },
  })
}

async function* readableErrors(parts: AsyncIterable<ModelPart>): AsyncGenerator<ModelPart, void> {
  try {
    yield* parts
  } catch (error) {
    throw readable(error)
  }
}

/** The SDK's errors contain the body of the response as JSON in their message. */
function readable(thrown: unknown): unknown {
  if (!(thrown instanceof Error) || !('status' in thrown)) return thrown
  const body = parsed(thrown.message.slice(thrown.message.indexOf('{')))
  const error = isJsonObject(body) && isJsonObject(body['error']) ? body['error'] : undefined
  if (!error) return thrown
  const invalidKey = JSON.stringify(error['details'] ?? '').includes('API_KEY_INVALID')
  const { message, status } = error
  const code = invalidKey ? 'invalid_api_key' : typeof status === 'string' ? status.toLowerCase() : ''
  return Object.assign(new Error(typeof message === 'string' ? message : ''), { status: thrown.status, code })
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}
