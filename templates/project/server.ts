import { createApp } from 'holdpoint'
import { createClient } from 'holdpoint/client'

import { upsertSupportAgent } from './agent.ts'
import { tools } from './tools.ts'

// API, workers, console and an embedded Postgres, in this process. The settings are environment variables, such as PORT.
const starting = createApp({ tools })
// Not `once`: Ctrl-C sends a signal from the terminal and one from npm, and the second must not end the process.
for (const signal of ['SIGINT', 'SIGTERM'] as const) process.on(signal, () => void starting.then((app) => app.stop()))

const app = await starting
try {
  const { url } = await app.start()
  const client = createClient({ url: url!, key: process.env['HOLDPOINT_API_KEY'] })
  await upsertSupportAgent(client)
  console.log(`ready ${url}`)
  console.log(`Talk to the agent: npm run chat. Watch it: ${new URL('/', url!)}`)
} catch (error) {
  // The embedded Postgres would run on.
  await app.stop()
  throw error
}
