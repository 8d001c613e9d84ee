import type { AnthropicBedrock } from '@anthropic-ai/bedrock-sdk'

import { sdkOptions } from './access.ts'
import { createMessages } from './anthropic.ts'
import { clientOptions, type Endpoint } from './endpoint.ts'
import { hostedClaudeFamily } from './models.ts'
import { loadOptional } from '../util/optional-package.ts'
import type { Provider } from './provider.ts'

/**
 * Claude at Amazon Bedrock. Models have Bedrock's names. Without a Bedrock API key, requests are signed with the
 * credentials that the AWS SDK finds.
 */
export function createBedrock(endpoint: Endpoint): Provider {
  let created: Promise<AnthropicBedrock> | undefined
  const client = () => (created ??= createClient(endpoint))
  const missing = endpoint.apiKey === undefined ? endpoint.missingKey : undefined
  return createMessages({ name: 'bedrock', ...endpoint }, { client, missing, family: hostedClaudeFamily })
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
