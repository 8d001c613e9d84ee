// Mastra: an agent with memory in Postgres. What is in the middle of a turn is lost with the process.
import { Mastra } from '@mastra/core'

import { agent, memoryOf, storage } from './mastra-agent.mjs'
import { serve } from './serve.mjs'

const mastra = new Mastra({ agents: { weather: agent }, storage, logger: false })

serve(async (conversation, text) => {
  const result = await mastra.getAgent('weather').stream(text, memoryOf(conversation))
  await result.consumeStream()
  return result.text
})
