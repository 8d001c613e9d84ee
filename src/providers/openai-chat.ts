import type OpenAI from 'openai'

import type { ModelPart, ModelRequest } from '../domain/models/model-request.ts'
import { abortable } from '../util/abort.ts'
import type { JsonObject } from '../util/json.ts'
import { requestOptions } from './access.ts'
import type { Endpoint } from './endpoint.ts'
import { missingKey } from './errors.ts'
import { guardStream } from './guard-stream.ts'
import { knownModels, openaiFamily } from './models.ts'
import { chatBody } from './openai/openai-chat-request.ts'
import { readChat } from './openai/openai-chat-stream.ts'
import { lazyOpenAI } from './openai-client.ts'
import { isOpenAI, listOpenAIModels } from './openai-list.ts'
import type { Provider } from './provider.ts'

/** `openai-chat/…`: Chat Completions, which many servers support. A server on this machine may need no key. */
export function createOpenAIChat(endpoint: Endpoint): Provider {
  return createChat({ name: 'openai-chat', ...endpoint }, lazyOpenAI(endpoint))
}

export function createChat(endpoint: Endpoint & { readonly name: string }, client: () => Promise<OpenAI>): Provider {
  const { name, apiKey, baseUrl } = endpoint
  // Only another server itself knows its models.
  const family = isOpenAI(endpoint) ? openaiFamily : { ...openaiFamily, windows: {} }
  const models = knownModels(name, family, endpoint.models)
  const missing = missingOf(endpoint)

  async function* streamChat(request: ModelRequest, signal: AbortSignal): AsyncGenerator<ModelPart, void> {
    if (missing) return yield missingKey(missing, request.model)
    const { chat } = await client()
    const body = chatBody(request)
    request.exchange?.sent(request.model, body)
    const chunks = await abortable(chat.completions.create(body, requestOptions(request, signal)), signal)
    yield* readChat(chunks, request)
  }

  return {
    name,
    missing,
    models: () => models.list,
    listModels: async (signal) => listOpenAIModels(await client(), { apiKey, baseUrl }, signal),
    find: models.find,
    requestBody: (request) => chatBody(request) as unknown as JsonObject,
    stream: (request, signal) => guardStream(streamChat(request, signal), { signal, secret: apiKey }),
  }
}

function missingOf({ apiKey, baseUrl, missingKey: needed }: Endpoint): string | undefined {
  if (apiKey !== undefined) return undefined
  return needed ?? (baseUrl === undefined ? 'OPENAI_CHAT_API_KEY (or OPENAI_API_KEY) is not set' : undefined)
}
