import type OpenAI from 'openai'
import type { ChatCompletionChunk } from 'openai/resources/chat/completions/completions'

import type { ModelRequest } from '../../domain/models/model-request.ts'
import { abortable } from '../../util/abort.ts'
import { adapt } from '../adapter.ts'
import { requestOptions } from '../access.ts'
import type { Endpoint } from '../endpoint.ts'
import { openaiFamily } from '../models.ts'
import { EventStream } from './event-stream.ts'
import { chatBody } from './openai-chat-request.ts'
import { readChat } from './openai-chat-stream.ts'
import { lazyOpenAI, isOpenAI, listOpenAIModels } from './openai-client.ts'
import { embedder } from './openai-embeddings.ts'
import type { Provider } from '../provider.ts'

/** `openai-chat/…`: Chat Completions, which many servers support. A server on this machine may need no key. */
export function createOpenAIChat(endpoint: Endpoint): Provider {
  return createChat({ name: 'openai-chat', ...endpoint }, lazyOpenAI(endpoint))
}

export function createChat(endpoint: Endpoint & { readonly name: string }, client: () => Promise<OpenAI>): Provider {
  async function open(request: ModelRequest, signal: AbortSignal) {
    const { chat } = await client()
    const body = chatBody(request)
    request.exchange?.sent(request.model, body)
    const asked = chat.completions.create(body, requestOptions(request, signal))
    return new EventStream<ChatCompletionChunk>(await abortable(asked.asResponse(), signal))
  }

  return adapt(endpoint, {
    // Only another server itself knows its models.
    family: isOpenAI(endpoint) ? openaiFamily : { ...openaiFamily, windows: new Map() },
    missing: missingOf(endpoint),
    bodyOf: chatBody,
    embed: embedder(client),
    stream: (request, signal) => readChat(() => open(request, signal), request),
    listModels: async (signal) => listOpenAIModels(await client(), endpoint, signal),
  })
}

function missingOf({ apiKey, baseUrl, missingKey: needed }: Endpoint): string | undefined {
  if (apiKey !== undefined) return undefined
  return needed ?? (baseUrl === undefined ? 'OPENAI_CHAT_API_KEY (or OPENAI_API_KEY) is not set' : undefined)
}
