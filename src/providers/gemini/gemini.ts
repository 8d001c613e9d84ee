import type { GoogleGenAI } from '@google/genai'

import type { ModelPart, ModelRequest } from '../../domain/models/model-request.ts'
import { abortable } from '../../util/abort.ts'
import { isJsonObject } from '../../util/json.ts'
import { adapt } from '../adapter.ts'
import { retryingFetch } from '../access.ts'
import type { Endpoint } from '../endpoint.ts'
import { geminiBody } from './gemini-request.ts'
import { readContent } from './gemini-stream.ts'
import { geminiFamily, modelName } from '../models.ts'
import { loadOptional } from '../../util/optional-package.ts'
import type { Provider } from '../provider.ts'
import { openWithReasoning } from '../reasoning.ts'

/** The Gemini API of Google, through its own SDK. */
export function createGemini(endpoint: Endpoint): Provider {
  let created: Promise<GoogleGenAI> | undefined
  const client = () => (created ??= createClient(endpoint))

  async function* streamContent(request: ModelRequest, signal: AbortSignal): AsyncGenerator<ModelPart, void> {
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

  async function embed(handle: string, texts: readonly string[], signal: AbortSignal) {
    const { models: api } = await client()
    const config = { abortSignal: signal, httpOptions: { fetch: retryingFetch({ attempts: 3, signal }) } }
    const asked = api.embedContent({ model: modelName(handle), contents: [...texts], config })
    const { embeddings = [] } = await abortable(asked, signal).catch((error: unknown) => {
      throw readable(error)
    })
    return embeddings.map(({ values }) => values ?? [])
  }

  return adapt(
    { name: 'gemini', ...endpoint },
    {
      family: geminiFamily,
      missing: endpoint.apiKey ? undefined : (endpoint.missingKey ?? 'GEMINI_API_KEY is not set'),
      bodyOf: geminiBody,
      stream: streamContent,
      embed,
      async listModels(signal) {
        const { models: api } = await client()
        const pager = await api.list({ config: { pageSize: 1_000, abortSignal: signal } })
        return pager.page.flatMap(({ name, supportedActions }) =>
          name && supportedActions?.includes('generateContent') ? [name.replace(/^models\//, '')] : [],
        )
      },
    },
  )
}

async function createClient({ apiKey, baseUrl, headers, timeoutMs }: Endpoint): Promise<GoogleGenAI> {
  const { GoogleGenAI } = await loadOptional('@google/genai', () => import('@google/genai'))
  return new GoogleGenAI({
    apiKey: apiKey ?? 'none',
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
