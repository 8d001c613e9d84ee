import type { AssistantPart, ModelMessage, ModelRequest } from '../domain/models/model-request.ts'
import { isJsonObject, type JsonObject } from '../util/json.ts'

/** The provider data of a part, if the model that is asked now is the one that produced it. */
export function ownData(part: AssistantPart, request: Pick<ModelRequest, 'model'>): JsonObject | undefined {
  if (part.type === 'call' || part.provider?.model !== request.model) return undefined
  return isJsonObject(part.provider.data) ? part.provider.data : undefined
}

/**
 * Opens a stream. If the provider refuses the model's earlier reasoning (a key of another account, an expired
 * signature), opens it once more without that reasoning, because every later request would be refused too.
 */
export async function openWithReasoning<T>(request: ModelRequest, open: (request: ModelRequest) => Promise<T>) {
  try {
    return await open(request)
  } catch (error) {
    if (!refusesReasoning(error) || !request.messages.some(hasReasoning)) throw error
    return open({ ...request, messages: request.messages.map(withoutReasoning) })
  }
}

function refusesReasoning(error: unknown): boolean {
  const { status, message } = error as { readonly status?: unknown; readonly message?: unknown }
  return status === 400 && /encrypted.content|signature|thinking.block|reasoning.item/i.test(String(message))
}

function hasReasoning(message: ModelMessage): boolean {
  return message.role === 'assistant' && message.parts.some(({ type }) => type === 'reasoning')
}

function withoutReasoning(message: ModelMessage): ModelMessage {
  if (message.role !== 'assistant') return message
  return { ...message, parts: message.parts.filter(({ type }) => type !== 'reasoning') }
}
