import type { AnthropicBedrock } from '@anthropic-ai/bedrock-sdk'

import { abortable } from '../../util/abort.ts'
import { sdkOptions } from '../access.ts'
import { createMessages } from './anthropic.ts'
import { clientOptions, type Endpoint } from '../endpoint.ts'
import { hostedClaudeFamily, modelName } from '../models.ts'
import { loadOptional } from '../../util/optional-package.ts'
import type { Embeddings, Provider } from '../provider.ts'

/**
 * Claude at Amazon Bedrock. Models have Bedrock's names. Without a Bedrock API key, requests are signed with the
 * credentials that the AWS SDK finds.
 */
export function createBedrock(endpoint: Endpoint): Provider {
  let created: Promise<AnthropicBedrock> | undefined
  const client = () => (created ??= createClient(endpoint))
  const missing = endpoint.apiKey === undefined ? endpoint.missingKey : undefined
  return {
    ...createMessages({ name: 'bedrock', ...endpoint }, { client, missing, family: hostedClaudeFamily }),
    embeddings: bedrockEmbeddings(endpoint.name ?? 'bedrock', client),
  }
}

/** Amazon's own models take one text per request, Cohere's at most 96. */
function bedrockEmbeddings(name: string, client: () => Promise<AnthropicBedrock>): Embeddings {
  return {
    has: (handle) => handle.startsWith(`${name}/`) && /titan-embed|cohere\.embed/.test(handle),
    async embed(handle, texts, signal) {
      const api = await client()
      // The SDK would put it into the body, where these models refuse it.
      const headers = { 'anthropic-version': null }
      const isCohere = handle.includes('cohere.')
      const path = `/model/${encodeURIComponent(modelName(handle))}/invoke`
      const vectors: number[][] = []
      while (vectors.length < texts.length) {
        const some = texts.slice(vectors.length, vectors.length + (isCohere ? 96 : 1))
        const body = isCohere ? { texts: some, input_type: 'search_document' } : { inputText: some[0] }
        const asked = api.post<{ embedding?: number[]; embeddings?: number[][] }>(path, { body, signal, headers })
        const { embedding, embeddings = [embedding ?? []] } = await abortable(asked, signal)
        if (embeddings.length !== some.length) return vectors
        vectors.push(...embeddings)
      }
      return vectors
    },
  }
}

async function createClient(endpoint: Endpoint): Promise<AnthropicBedrock> {
  const name = '@anthropic-ai/bedrock-sdk'
  const { AnthropicBedrock } = await loadOptional(name, () => import('@anthropic-ai/bedrock-sdk'))
  const { apiKey, baseUrl, region } = endpoint
  return new AnthropicBedrock({
    ...sdkOptions,
    ...clientOptions(endpoint),
    ...(apiKey !== undefined && { apiKey }),
    ...(baseUrl !== undefined && { baseURL: baseUrl }),
    ...(region !== undefined && { awsRegion: region }),
    openTelemetry: false,
  })
}
