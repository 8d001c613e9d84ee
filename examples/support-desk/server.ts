import { createClient, UpsertAgent } from '../../client/index.ts' // In your program: 'holdpoint/client'
import { createApp } from '../../src/index.ts' // In your program: 'holdpoint'
import { tools } from './tools.ts'

// The API, workers and an embedded Postgres, in this process.
const app = await createApp({ tools })
// Not `once`: Ctrl-C sends a signal from the terminal and one from npx, and the second must not end the process.
for (const signal of ['SIGINT', 'SIGTERM'] as const) process.on(signal, () => void app.stop())
const { url } = await app.start()

// The agent as code: a changed agent takes effect at the next start, and its conversations stay.
const client = createClient({ url: url! })
const agent = {
  name: 'Support desk',
  model: process.env['MODEL'] ?? 'demo/scripted',
  instructions: 'You help the customers of a small shop. Be short and friendly.',
  tools: tools.map(({ name }) => ({ toolName: name })),
}
await client.request(UpsertAgent, { input: { key: 'support-desk', agent } })
console.log(`ready ${url}`)
