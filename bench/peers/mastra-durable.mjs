// Mastra's durable agent with recovery on: the loop is a workflow whose running steps are stored.
import { Mastra } from '@mastra/core'
import { createDurableAgent } from '@mastra/core/agent/durable'

import { agent, memoryOf, storage } from './mastra-agent.mjs'
import { serve } from './serve.mjs'

const durable = createDurableAgent({ agent })
new Mastra({ agents: { weather: durable }, storage, recovery: { durableAgents: 'auto' }, logger: false })

serve(async (conversation, text) => {
  const { output, cleanup } = await durable.stream(text, memoryOf(conversation))
  try {
    return await output.text
  } finally {
    cleanup()
  }
})
