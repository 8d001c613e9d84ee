// What both Mastra servers share: the agent, its memory and its storage.
import { createOpenAICompatible } from '@ai-sdk/openai-compatible'
import { Agent } from '@mastra/core/agent'
import { createTool } from '@mastra/core/tools'
import { Memory } from '@mastra/memory'
import { PostgresStore } from '@mastra/pg'
import { z } from 'zod'

import { databaseUrl, instructions, lookUp, modelUrl, toolDescription } from './serve.mjs'

export const storage = new PostgresStore({ id: 'storage', connectionString: databaseUrl, max: 20 })
await storage.init()

export const agent = new Agent({
  id: 'weather',
  name: 'weather',
  instructions,
  model: createOpenAICompatible({ name: 'fake', baseURL: modelUrl, apiKey: 'none' })('fake'),
  memory: new Memory({ storage }),
  tools: {
    look_up: createTool({
      id: 'look_up',
      description: toolDescription,
      inputSchema: z.object({ place: z.string() }),
      execute: async () => lookUp(),
    }),
  },
})

/** The conversation is a thread of one user. */
export const memoryOf = (conversation) => ({ memory: { thread: conversation, resource: 'user' } })
