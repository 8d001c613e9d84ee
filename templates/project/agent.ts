import { UpsertAgent, type Client, type CreateAgentInput } from 'holdpoint/client'

/** The agent as code: change it here and start the server again. Its conversations stay. */
const support: CreateAgentInput = {
  name: 'Support',
  // Needs no key and no network. With OPENAI_API_KEY or ANTHROPIC_API_KEY: openai/… or anthropic/…
  model: 'demo/scripted',
  instructions: 'You help the customers of a small shop. Be short and friendly.',
  // Tools by their names: those of tools.ts, and any other that the server has.
  tools: [{ toolName: 'refund_order' }],
}

/** The program's own name for the agent. */
export const key = 'support'

/** Creates the agent or updates it. */
export async function upsertSupportAgent(client: Client): Promise<void> {
  await client.request(UpsertAgent, { input: { key, agent: support } })
}
