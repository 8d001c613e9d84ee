import type { ModelPart, ModelRequest } from '../domain/model-request.ts'
import type { JsonObject } from '../util/json.ts'
import { abortable } from '../util/abort.ts'
import type { Access } from './access.ts'
import { missingKey } from './errors.ts'
import { guardStream } from './guard-stream.ts'
import { knownModels, openaiWindows } from './models.ts'
import { chatBody } from './openai-chat-request.ts'
import { readChat } from './openai-chat-stream.ts'
import { lazyOpenAI } from './openai-client.ts'
import type { Provider } from './provider.ts'

/** `openai-chat/…`: Chat Completions, which many servers speak. One on this machine may want no key. */
export function createOpenAIChat(access: Access): Provider {
  const models = knownModels('openai-chat', openaiWindows)
  const client = lazyOpenAI(access)
  const reachable = access.apiKey !== undefined || access.baseUrl !== undefined

  async function* streamChat(request: ModelRequest, signal: AbortSignal): AsyncGenerator<ModelPart, void> {
    if (!reachable) return yield missingKey('OPENAI_CHAT_API_KEY (or OPENAI_API_KEY)', request.model)
    const { chat } = await client()
    const chunks = await abortable(chat.completions.create(chatBody(request), { signal }), signal)
    yield* readChat(chunks, request.model)
  }

  return {
    name: 'openai-chat',
    // What another server has, it alone knows.
    models: () => (access.apiKey !== undefined && isOpenAI(access.baseUrl) ? models.list : []),
    find: models.find,
    requestBody: (request) => chatBody(request) as unknown as JsonObject,
    stream: (request, signal) => guardStream(streamChat(request, signal), { signal, secret: access.apiKey }),
  }
}

function isOpenAI(baseUrl: string | undefined): boolean {
  return baseUrl === undefined || new URL(baseUrl).hostname === 'api.openai.com'
}
