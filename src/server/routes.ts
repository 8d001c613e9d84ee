import type { IncomingMessage, ServerResponse } from 'node:http'

import { badHost, parseHost } from './access/origin.ts'
import { asksForPage, createGraphiQL, graphiqlIsOff } from './graphiql/graphiql.ts'
import { createReadiness, sendLiveness } from './health/health.ts'
import { createMetricsEndpoint } from './health/metrics.ts'
import type { HttpServerOptions } from './options.ts'
import { createConsole } from './pages/console.ts'
import { createDecisionPage, isDecisionPath } from './pages/decision-page.ts'
import { createFiles, isFilePath } from './pages/files.ts'
import { sendHomePage } from './pages/home-page.ts'
import { isRead, sendError } from './pages/pages.ts'
import { createSchemaFiles, isSchemaFile } from './pages/schema-files.ts'
import type { Transport } from './transport.ts'
import type { Yoga } from './yoga.ts'

type Route = (request: IncomingMessage, response: ServerResponse) => Promise<void>

/** What the server has at which path. */
export function createRoutes<Viewer>(
  options: HttpServerOptions<Viewer>,
  transport: Transport<Viewer>,
  yoga: Yoga<Viewer>,
): Route {
  const { origins, limits, log } = transport
  const sendGraphiQL = createGraphiQL({ hasConsole: options.console ?? false })
  const sendFile = createFiles(transport, options.openFile)
  const sendDecision = options.decisions && createDecisionPage(options.decisions)
  const sendSchemaFile = createSchemaFiles(options.schema, options.subgraph)
  const sendReadiness = createReadiness(options.ready, { log })
  const sendMetrics = options.metrics && createMetricsEndpoint(transport, options.metrics)
  const webConsole = options.console ? createConsole() : undefined

  async function route(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const { url = '', headers } = request
    const [path = ''] = url.split('?')
    if (headers.host !== undefined && !parseHost(headers.host)) return sendError(response, 400, badHost)
    if (path === '/graphql') return answerGraphQL(request, response)
    if (sendDecision && isDecisionPath(path)) return sendDecision(request, response, path)
    if (isFilePath(path)) return guarded(request, response, () => sendFile(request, response, path))
    if (limits.introspection && isSchemaFile(path))
      return isRead(request, response) ? sendSchemaFile(response, url) : undefined
    if (sendMetrics && path === '/metrics')
      return isRead(request, response) ? sendMetrics(request, response) : undefined
    const mayBePage = request.method === 'GET' || request.method === 'HEAD'
    if (mayBePage && (await webConsole?.send(path, request, response))) return
    if (path !== '/' && path !== '/healthz' && path !== '/readyz') {
      if (asksForPage(request) && (await webConsole?.sendNotFound(request, response))) return
      return sendError(response, 404, 'There is nothing here. GraphQL is at /graphql.')
    }
    if (!isRead(request, response)) return
    if (path === '/healthz') return sendLiveness(response)
    if (path === '/readyz') return sendReadiness(response)
    return sendHomePage(response)
  }

  async function answerGraphQL(request: IncomingMessage, response: ServerResponse): Promise<void> {
    if (request.headers['sec-websocket-key'] !== undefined) return refuseSocket(response)
    if (options.graphiql && asksForPage(request)) return sendGraphiQL(request, response)
    if (request.url === '/graphql' && asksForPage(request)) return sendError(response, 400, graphiqlIsOff)
    return guarded(request, response, async () => yoga.requestListener(request, response))
  }

  /** A page of an allowed origin can read the answer only with CORS headers. */
  async function guarded(
    request: IncomingMessage,
    response: ServerResponse,
    answer: () => Promise<void>,
  ): Promise<void> {
    if (origins.answerCors(request, response)) return
    const refusal = origins.refusalOf(request.headers)
    if (refusal === undefined) return answer()
    const { origin, host } = request.headers
    log.warn({ origin, host }, `refused a request: ${refusal}`)
    sendError(response, 403, refusal, 'FORBIDDEN')
  }

  return route
}

/** A WebSocket handshake arrives as a plain request if a proxy on the way drops the headers that ask for an upgrade. */
function refuseSocket(response: ServerResponse): void {
  response.setHeader('upgrade', 'websocket')
  sendError(
    response,
    426,
    'A WebSocket handshake without the headers `Upgrade: websocket` and `Connection: Upgrade`: a proxy between the client and this server must pass them on. In nginx: proxy_http_version 1.1; proxy_set_header Upgrade $http_upgrade; proxy_set_header Connection "upgrade";',
  )
}
