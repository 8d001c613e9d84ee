import type OpenAI from 'openai'

import { sdkOptions } from '../access.ts'
import { clientOptions, type Endpoint } from '../endpoint.ts'
import { createChat } from './openai-chat.ts'

/** Models deployed at Azure, through Chat Completions. The model's name is the name of the deployment. */
export function createAzureOpenAI(endpoint: Endpoint) {
  const { apiKey, baseUrl = '', apiVersion = '' } = endpoint
  let client: Promise<OpenAI> | undefined
  const create = async () => {
    const { AzureOpenAI } = await import('openai')
    return new AzureOpenAI({
      ...sdkOptions,
      ...clientOptions(endpoint),
      apiKey: apiKey ?? 'none',
      baseURL: `${baseUrl.replace(/\/+$/, '')}/openai`,
      apiVersion,
    })
  }
  return createChat({ name: 'azure-openai', ...endpoint }, () => (client ??= create()))
}
