// Mastra's own server, on Hono, with the agent and its memory.
import { serve } from '@hono/node-server'
import { Mastra } from '@mastra/core'
import { MastraServer } from '@mastra/hono'
import { Hono } from 'hono'

import { agent, storage } from './mastra-agent.mjs'

const app = new Hono()
await new MastraServer({ app, mastra: new Mastra({ agents: { weather: agent }, storage, logger: false }) }).init()
serve({ fetch: app.fetch, port: 0, hostname: '127.0.0.1' }, ({ port }) => console.log(`http://127.0.0.1:${port}`))
process.stdin.on('end', () => process.exit()).resume()
