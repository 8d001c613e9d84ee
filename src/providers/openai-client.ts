import type OpenAI from 'openai'

import { sdkOptions } from './access.ts'
import { clientOptions, type Endpoint } from './endpoint.ts'

/**
 * Makes the client when it is first needed: loading the SDK takes a quarter of a second, which would delay the start.
 */
export function lazyOpenAI(endpoint: Endpoint): () => Promise<OpenAI> {
  let client: Promise<OpenAI> | undefined
  const create = async () => {
    const { OpenAI } = await import('openai')
    // Null, not undefined, so that the SDK does not look for an address itself.
    return new OpenAI({
      ...sdkOptions,
      ...clientOptions(endpoint),
      apiKey: endpoint.apiKey ?? 'none',
      baseURL: endpoint.baseUrl ?? null,
    })
  }
  return () => (client ??= create())
}
