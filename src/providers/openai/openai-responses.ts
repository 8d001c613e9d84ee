import type { ResponseStreamEvent } from 'openai/resources/responses/responses'

import type { ModelRequest } from '../../domain/models/model-request.ts'
import { abortable } from '../../util/abort.ts'
import { adapt } from '../adapter.ts'
import { requestOptions } from '../access.ts'
import type { Endpoint } from '../endpoint.ts'
import { openaiFamily } from '../models.ts'
import { EventStream } from './event-stream.ts'
import { lazyOpenAI, listOpenAIModels } from './openai-client.ts'
import { responsesBody } from './openai-responses-request.ts'
import { readResponse } from './openai-responses-stream.ts'
import { embedder } from './openai-embeddings.ts'
import type { Provider } from '../provider.ts'
import { openWithReasoning } from '../reasoning.ts'

/** `openai/…`: the Responses API. Nothing is stored at the provider: the whole exchange is sent each time. */
export function createOpenAIResponses(endpoint: Endpoint): Provider {
  const client = lazyOpenAI(endpoint)

  async function open(request: ModelRequest, signal: AbortSignal) {
    const { responses } = await client()
    const response = await openWithReasoning(request, (asked) => {
      const body = responsesBody(asked)
      asked.exchange?.sent(asked.model, body)
      return abortable(responses.create(body, requestOptions(request, signal)).asResponse(), signal)
    })
    return new EventStream<ResponseStreamEvent>(response)
  }

  return adapt(
    { name: 'openai', ...endpoint },
    {
      family: openaiFamily,
      missing: endpoint.apiKey ? undefined : (endpoint.missingKey ?? 'OPENAI_API_KEY is not set'),
      bodyOf: responsesBody,
      embed: embedder(client),
      stream: (request, signal) => readResponse(() => open(request, signal), request),
      listModels: async (signal) => listOpenAIModels(await client(), endpoint, signal),
    },
  )
}
