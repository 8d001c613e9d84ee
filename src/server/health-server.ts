import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'

import type { Log } from '../util/log.ts'
import { createReadiness, sendLiveness, type Ready } from './health.ts'
import { listen, type Listening } from './listen.ts'
import { isRead, securityHeaders, sendError } from './pages.ts'

export interface HealthServer {
  /** Port 0 takes a free port. Rejects with Node's own error if the address is not available. */
  listen(host: string, port: number): Promise<Listening>
  close(): Promise<void>
}

/** `/healthz` and `/readyz` of a process that has no API. */
export function createHealthServer({ ready, log }: { readonly ready: Ready; readonly log: Log }): HealthServer {
  const sendReadiness = createReadiness(ready, { log })

  async function answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    for (const [name, value] of Object.entries(securityHeaders)) response.setHeader(name, value)
    if (!isRead(request, response)) return
    const path = request.url?.split('?')[0]
    if (path === '/healthz') return sendLiveness(response)
    if (path === '/readyz') return sendReadiness(response)
    sendError(response, 404, 'There is nothing here but /healthz and /readyz.')
  }

  const server = createServer((request, response) => void answer(request, response))
  return {
    listen: (host, port) => listen(server, host, port),
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve())
        server.closeAllConnections()
      }),
  }
}
