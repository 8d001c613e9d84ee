import type OpenAI from 'openai'

import { sdkOptions } from '../access.ts'
import { clientOptions, type Endpoint } from '../endpoint.ts'

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

const maxListed = 1_000

/** The names that the endpoint lists. OpenAI also lists models that are not for chat; these are left out. */
export async function listOpenAIModels(client: OpenAI, endpoint: Endpoint, signal: AbortSignal): Promise<string[]> {
  const { data } = await client.models.list({ signal, maxRetries: 0 })
  const names = data.map(({ id }) => id).filter((id) => typeof id === 'string')
  return (isOpenAI(endpoint) ? names.filter(chats) : names).slice(0, maxListed)
}

export function isOpenAI({ baseUrl }: Pick<Endpoint, 'baseUrl'>): boolean {
  return baseUrl === undefined || new URL(baseUrl).hostname === 'api.openai.com'
}

function chats(name: string): boolean {
  const otherwise = /audio|realtime|image|tts|transcribe|embedding|search|instruct|moderation|sora|whisper|dall-e/
  return /^(gpt-|o\d|chatgpt-|codex)/.test(name) && !otherwise.test(name)
}
