import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'

import type { Log } from '../../util/log.ts'
import { createReadiness, sendLiveness, type Ready } from './health.ts'
import { listen, type Listening } from '../listen.ts'
import { sendMetrics, type MetricsPage } from './metrics.ts'
import { isRead, securityHeaders, sendError } from '../pages/pages.ts'

export interface HealthServer {
  /** Port 0 takes a free port. Rejects with Node's own error if the address is not available. */
  listen(host: string, port: number): Promise<Listening>
  close(): Promise<void>
}

export interface HealthServerOptions {
  readonly ready: Ready
  readonly metrics: MetricsPage
  readonly log: Log
}

/** `/healthz`, `/readyz` and `/metrics` on a separate port, without a key, for monitoring. */
export function createHealthServer({ ready, metrics, log }: HealthServerOptions): HealthServer {
  const sendReadiness = createReadiness(ready, { log })

  async function answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    for (const [name, value] of Object.entries(securityHeaders)) response.setHeader(name, value)
    if (!isRead(request, response)) return
    const path = request.url?.split('?')[0]
    if (path === '/healthz') return sendLiveness(response)
    if (path === '/readyz') return sendReadiness(response)
    if (path === '/metrics') return sendMetrics(response, metrics)
    sendError(response, 404, 'There is nothing here but /healthz, /readyz and /metrics.')
  }

  const server = createServer((request, response) => {
    answer(request, response).catch((error: unknown) => {
      log.error({ err: error }, 'the health port could not answer')
      response.destroy()
    })
  })
  let opening: Promise<Listening> | undefined
  return {
    listen: (host, port) => (opening = listen(server, host, port)),
    async close() {
      // Closing a server that does not listen yet has no effect.
      await opening?.catch(() => undefined)
      await new Promise<void>((resolve) => {
        server.close(() => resolve())
        server.closeAllConnections()
      })
    },
  }
}
