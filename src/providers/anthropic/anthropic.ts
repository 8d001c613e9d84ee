import type Anthropic from '@anthropic-ai/sdk'

import type { ModelPart, ModelRequest } from '../../domain/models/model-request.ts'
import { abortable } from '../../util/abort.ts'
import { adapt } from '../adapter.ts'
import { requestOptions, sdkOptions } from '../access.ts'
import { anthropicBody, betasOf } from './anthropic-request.ts'
import { readMessage } from './anthropic-stream.ts'
import { clientOptions, type Endpoint } from '../endpoint.ts'
import { anthropicFamily, type ModelFamily } from '../models.ts'
import type { Provider } from '../provider.ts'
import { openWithReasoning } from '../reasoning.ts'

/** `anthropic/…`: the Messages API. */
export function createAnthropic(endpoint: Endpoint): Provider {
  let created: Promise<Anthropic> | undefined
  const client = () => (created ??= createClient(endpoint))
  const missing = endpoint.apiKey ? undefined : (endpoint.missingKey ?? 'ANTHROPIC_API_KEY is not set')
  return {
    ...createMessages({ name: 'anthropic', ...endpoint }, { client, missing, family: anthropicFamily }),
    async listModels(signal) {
      const { data } = await (await client()).models.list({ limit: 1_000 }, { signal, maxRetries: 0 })
      return data.map(({ id }) => id)
    },
  }
}

export interface Messages {
  readonly client: () => Promise<{ readonly messages: Pick<Anthropic['messages'], 'create'> }>
  readonly missing: string | undefined
  readonly family: ModelFamily
}

/** The Messages API through a client of Anthropic's SDK, whoever serves it. */
export function createMessages(
  endpoint: Endpoint & { readonly name: string },
  { client, missing, family }: Messages,
): Provider {
  async function* stream(request: ModelRequest, signal: AbortSignal): AsyncGenerator<ModelPart, void> {
    const { messages } = await client()
    const events = await openWithReasoning(request, (asked) => {
      const body = anthropicBody(asked)
      asked.exchange?.sent(asked.model, body)
      const betas = betasOf(body)
      const headers = betas.length > 0 ? { 'anthropic-beta': betas.join(',') } : {}
      return abortable(messages.create(body, { ...requestOptions(request, signal), headers }), signal)
    })
    yield* readMessage(events, request)
  }
  return adapt(endpoint, { family, missing, bodyOf: anthropicBody, stream })
}

async function createClient(endpoint: Endpoint): Promise<Anthropic> {
  const { Anthropic } = await import('@anthropic-ai/sdk')
  return new Anthropic({
    ...sdkOptions,
    ...clientOptions(endpoint),
    apiKey: endpoint.apiKey ?? 'none',
    baseURL: endpoint.baseUrl ?? null,
    openTelemetry: false,
  })
}
