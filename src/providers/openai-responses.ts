import type { ModelPart, ModelRequest } from '../domain/models/model-request.ts'
import { abortable } from '../util/abort.ts'
import type { JsonObject } from '../util/json.ts'
import { requestOptions } from './access.ts'
import type { Endpoint } from './endpoint.ts'
import { missingKey } from './errors.ts'
import { guardStream } from './guard-stream.ts'
import { knownModels, openaiFamily } from './models.ts'
import { lazyOpenAI } from './openai-client.ts'
import { listOpenAIModels } from './openai-list.ts'
import { responsesBody } from './openai/openai-responses-request.ts'
import { readResponse } from './openai/openai-responses-stream.ts'
import type { Provider } from './provider.ts'
import { openWithReasoning } from './reasoning.ts'

/** `openai/…`: the Responses API. Nothing is stored at the provider: the whole exchange is sent each time. */
export function createOpenAIResponses(endpoint: Endpoint): Provider {
  const name = endpoint.name ?? 'openai'
  const models = knownModels(name, openaiFamily, endpoint.models)
  const client = lazyOpenAI(endpoint)
  const missing = endpoint.apiKey ? undefined : (endpoint.missingKey ?? 'OPENAI_API_KEY is not set')

  async function* streamResponse(request: ModelRequest, signal: AbortSignal): AsyncGenerator<ModelPart, void> {
    if (missing) return yield missingKey(missing, request.model)
    const { responses } = await client()
    const events = await openWithReasoning(request, (asked) => {
      const body = responsesBody(asked)
      asked.exchange?.sent(asked.model, body)
      return abortable(responses.create(body, requestOptions(request, signal)), signal)
    })
    yield* readResponse(events, request)
  }

  return {
    name,
    missing,
    models: () => models.list,
    listModels: async (signal) => listOpenAIModels(await client(), endpoint, signal),
    find: models.find,
    requestBody: (request) => responsesBody(request) as unknown as JsonObject,
    stream: (request, signal) => guardStream(streamResponse(request, signal), { signal, secret: endpoint.apiKey }),
  }
}
