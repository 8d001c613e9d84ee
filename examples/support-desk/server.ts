import { createClient, type CreateAgentInput, type TypedDocument } from '../../client/index.ts' // 'holdpoint/client'
import { createApp } from '../../src/index.ts' // In your program: 'holdpoint'
import { tools } from './tools.ts'

const Tools = 'query { tools(first: 200) { nodes { id name } } }' as TypedDocument<
  { readonly tools: { readonly nodes: readonly { readonly id: string; readonly name: string }[] } },
  Record<string, never>
>

const UpsertAgent = `mutation ($input: UpsertAgentInput!) {
  upsertAgent(input: $input) { agent { id } }
}` as TypedDocument<unknown, { readonly input: { readonly key: string; readonly agent: CreateAgentInput } }>

// The API, workers and an embedded Postgres, in this process.
const app = await createApp({ tools })
for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => void app.stop())
const { url } = await app.start()

// The agent as code: a changed agent takes effect at the next start, and its conversations stay.
const client = createClient({ url: url! })
const known = (await client.request(Tools, {})).tools.nodes
const agent = {
  name: 'Support desk',
  model: process.env['MODEL'] ?? 'demo/scripted',
  instructions: 'You help the customers of a small shop. Be short and friendly.',
  tools: tools.map(({ name }) => ({ toolId: known.find((tool) => tool.name === name)!.id })),
}
await client.request(UpsertAgent, { input: { key: 'support-desk', agent } })
console.log(`ready ${url}`)
