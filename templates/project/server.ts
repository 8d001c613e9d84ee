import { createApp } from 'holdpoint'
import { createClient } from 'holdpoint/client'

import { upsertSupportAgent } from './agent.ts'
import { tools } from './tools.ts'

// API, workers, console and an embedded Postgres, in this process. The settings are environment variables, such as PORT.
const app = await createApp({ tools })
for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => void app.stop())

const { url } = await app.start()
const client = createClient({ url: url!, key: process.env['HOLDPOINT_API_KEY'] })
await upsertSupportAgent(
  client,
  tools.map(({ name }) => name),
)
console.log(`ready ${url}`)
console.log(`Talk to the agent: npm run chat. Watch it: ${new URL('/', url!)}`)
