import type { AnthropicVertex } from '@anthropic-ai/vertex-sdk'

import { sdkOptions } from '../access.ts'
import { createMessages } from './anthropic.ts'
import { clientOptions, type Endpoint } from '../endpoint.ts'
import { hostedClaudeFamily } from '../models.ts'
import { loadOptional } from '../../util/optional-package.ts'
import type { Provider } from '../provider.ts'

/**
 * Claude at Google's Vertex AI. Requests carry the endpoint's access token, or one that Google's library gets from the
 * machine's credentials.
 */
export function createVertex(endpoint: Endpoint): Provider {
  let created: Promise<AnthropicVertex> | undefined
  const client = () => (created ??= createClient(endpoint))
  const missing = endpoint.apiKey === undefined ? endpoint.missingKey : undefined
  return createMessages({ name: 'vertex', ...endpoint }, { client, missing, family: hostedClaudeFamily })
}

async function createClient(endpoint: Endpoint): Promise<AnthropicVertex> {
  const name = '@anthropic-ai/vertex-sdk'
  const { AnthropicVertex } = await loadOptional(name, () => import('@anthropic-ai/vertex-sdk'))
  const { apiKey, baseUrl, region, project } = endpoint
  return new AnthropicVertex({
    ...sdkOptions,
    ...clientOptions(endpoint),
    ...(baseUrl !== undefined && { baseURL: baseUrl }),
    ...(region !== undefined && { region }),
    ...(project !== undefined && { projectId: project }),
    ...(apiKey !== undefined && { authClient: withToken(apiKey) }),
    openTelemetry: false,
  })
}

type AuthClient = NonNullable<NonNullable<ConstructorParameters<typeof AnthropicVertex>[0]>['authClient']>

/** The SDK uses its client of Google's library only for these headers. */
function withToken(accessToken: string): AuthClient {
  const headers = async () => new Headers({ authorization: `Bearer ${accessToken}` })
  return { getRequestHeaders: headers } as unknown as AuthClient
}
