import { Readable } from 'node:stream'
import { text } from 'node:stream/consumers'

import react from '@vitejs/plugin-react'
import { defineConfig, type Plugin } from 'vite'

import { createAgUiHandler } from '../../adapters/ag-ui.ts' // In your app: 'holdpoint/ag-ui'
import { createClient } from '../../client/index.ts' // In your app: 'holdpoint/client'

const target = process.env['HOLDPOINT_URL'] ?? 'http://127.0.0.1:4000'
const client = createClient({ url: `${target}/graphql` })
const handlers = new Map<string, ReturnType<typeof createAgUiHandler>>()

/** The AG-UI endpoint of the page with CopilotKit. Your HTTP server has it instead. */
const agUi: Plugin = {
  name: 'ag-ui',
  configureServer({ middlewares }) {
    middlewares.use('/ag-ui', (request, response) => {
      void (async () => {
        const agentId = new URL(request.url!, 'http://localhost').searchParams.get('agent')!
        const handle = handlers.get(agentId) ?? createAgUiHandler(client, { agentId, cancelOnDisconnect: true })
        handlers.set(agentId, handle)
        const { status, headers, body } = await handle(
          new Request('http://localhost/', { method: 'POST', body: await text(request) }),
        )
        response.writeHead(status, Object.fromEntries(headers))
        const events = Readable.fromWeb(body as never)
        response.on('close', () => events.destroy())
        events.on('error', () => {}).pipe(response)
      })()
    })
  },
}

export default defineConfig({
  plugins: [react(), agUi],
  server: { proxy: { '/graphql': { target, ws: true, changeOrigin: true, rewriteWsOrigin: true } } },
})
