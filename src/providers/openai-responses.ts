import type { ModelPart, ModelRequest } from '../domain/model-request.ts'
import type { JsonObject } from '../util/json.ts'
import { abortable } from '../util/abort.ts'
import type { Access } from './access.ts'
import { missingKey } from './errors.ts'
import { guardStream } from './guard-stream.ts'
import { knownModels, openaiWindows } from './models.ts'
import { lazyOpenAI } from './openai-client.ts'
import { responsesBody } from './openai-responses-request.ts'
import { readResponse } from './openai-responses-stream.ts'
import type { Provider } from './provider.ts'
import { openWithReasoning } from './reasoning.ts'

/** `openai/…`: the Responses API. Nothing is kept at the provider: the exchange is sent whole each time. */
export function createOpenAIResponses(access: Access): Provider {
  const models = knownModels('openai', openaiWindows)
  const client = lazyOpenAI(access)

  async function* streamResponse(request: ModelRequest, signal: AbortSignal): AsyncGenerator<ModelPart, void> {
    if (!access.apiKey) return yield missingKey('OPENAI_API_KEY', request.model)
    const { responses } = await client()
    const events = await openWithReasoning(request, (asked) =>
      abortable(responses.create(responsesBody(asked), { signal }), signal),
    )
    yield* readResponse(events, request.model)
  }

  return {
    name: 'openai',
    models: () => (access.apiKey ? models.list : []),
    find: models.find,
    requestBody: (request) => responsesBody(request) as unknown as JsonObject,
    stream: (request, signal) => guardStream(streamResponse(request, signal), { signal, secret: access.apiKey }),
  }
}
