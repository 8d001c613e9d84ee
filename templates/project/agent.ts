import type { Client, CreateAgentInput, TypedDocument } from 'holdpoint/client'

/** The agent as code: change it here and start the server again. Its conversations stay. */
const support: Omit<CreateAgentInput, 'tools'> = {
  name: 'Support',
  // Needs no key and no network. With OPENAI_API_KEY or ANTHROPIC_API_KEY: openai/… or anthropic/…
  model: 'demo/scripted',
  instructions: 'You help the customers of a small shop. Be short and friendly.',
}

const ToolIds = `query { tools(first: 200) { nodes { id name } } }` as TypedDocument<
  { readonly tools: { readonly nodes: readonly { readonly id: string; readonly name: string }[] } },
  Record<string, never>
>

const UpsertAgent = `mutation ($input: UpsertAgentInput!) {
  upsertAgent(input: $input) { agent { id } }
}` as TypedDocument<
  { readonly upsertAgent: { readonly agent: { readonly id: string } } },
  { readonly input: { readonly key: string; readonly agent: CreateAgentInput } }
>

/** Creates the agent or updates it. `key` is the program's own name for it. */
export async function upsertSupportAgent(client: Client, toolNames: readonly string[]): Promise<string> {
  const { nodes } = (await client.request(ToolIds, {})).tools
  const tools = nodes.filter(({ name }) => toolNames.includes(name)).map(({ id }) => ({ toolId: id }))
  const { upsertAgent } = await client.request(UpsertAgent, { input: { key: 'support', agent: { ...support, tools } } })
  return upsertAgent.agent.id
}
