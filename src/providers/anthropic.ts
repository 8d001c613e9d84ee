import type Anthropic from '@anthropic-ai/sdk'

import type { ModelPart, ModelRequest } from '../domain/model-request.ts'
import type { JsonObject } from '../util/json.ts'
import { abortable } from '../util/abort.ts'
import { sdkOptions, type Access } from './access.ts'
import { anthropicBody, betasOf } from './anthropic-request.ts'
import { readMessage } from './anthropic-stream.ts'
import { missingKey } from './errors.ts'
import { guardStream } from './guard-stream.ts'
import { anthropicWindows, knownModels } from './models.ts'
import type { Provider } from './provider.ts'
import { openWithReasoning } from './reasoning.ts'

/** `anthropic/…`: the Messages API. */
export function createAnthropic(access: Access): Provider {
  const models = knownModels('anthropic', anthropicWindows)
  let client: Promise<Anthropic> | undefined

  async function createClient(apiKey: string): Promise<Anthropic> {
    const { Anthropic } = await import('@anthropic-ai/sdk')
    return new Anthropic({ ...sdkOptions, apiKey, baseURL: access.baseUrl ?? null, openTelemetry: false })
  }

  async function* streamMessage(request: ModelRequest, signal: AbortSignal): AsyncGenerator<ModelPart, void> {
    if (!access.apiKey) return yield missingKey('ANTHROPIC_API_KEY', request.model)
    const { messages } = await (client ??= createClient(access.apiKey))
    const events = await openWithReasoning(request, (asked) => {
      const body = anthropicBody(asked)
      const betas = betasOf(body)
      const headers = betas.length > 0 ? { 'anthropic-beta': betas.join(',') } : {}
      return abortable(messages.create(body, { signal, headers }), signal)
    })
    yield* readMessage(events, request.model)
  }

  return {
    name: 'anthropic',
    models: () => (access.apiKey ? models.list : []),
    find: models.find,
    requestBody: (request) => anthropicBody(request) as unknown as JsonObject,
    stream: (request, signal) => guardStream(streamMessage(request, signal), { signal, secret: access.apiKey }),
  }
}
