import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { Socket } from 'node:net'

import { toClientError } from '../graphql/errors.ts'
import { withLogIds } from '../util/log-context.ts'
import { parseTraceparent, withTrace } from '../util/trace-context.ts'
import { createIdentify } from './access/authentication.ts'
import { createKeyWatch } from './access/key-watch.ts'
import { createOrigins } from './access/origin.ts'
import type { Answer } from './answer.ts'
import { createFetch } from './fetch.ts'
import type { Fetch, RequestHandler, UpgradeHandler } from './handlers.ts'
import { createClientLimits } from './limits/client-limits.ts'
import { defaultLimits, type Limits } from './limits/limits.ts'
import { listen, type Listening } from './listen.ts'
import type { HttpServerOptions } from './options.ts'
import { securityHeaders, sendJson } from './pages/pages.ts'
import { requestIdOf } from './request-id.ts'
import { createRoutes } from './routes.ts'
import { createSharedExecution } from './streams/shared-execution.ts'
import { createWebSocketEndpoint } from './streams/websocket.ts'
import type { Transport } from './transport.ts'
import { createGraphQLServer } from './yoga.ts'

export interface HttpServer {
  /** Port 0 takes a free port. Rejects with Node's own error if the address is not available. */
  listen(host: string, port: number): Promise<Listening>
  /** For another server that listens instead of this one. */
  readonly handle: RequestHandler
  readonly upgrade: UpgradeHandler
  /** The same API without a socket. */
  readonly fetch: Fetch
  /**
   * Accepts nothing new, tells WebSocket clients to reconnect (1012), cuts event streams (without a `complete`, which
   * would mean that they had ended), waits briefly for open requests, then cuts those too. May be called twice.
   */
  close(): Promise<void>
}

/**
 * How long a connection is kept for the next request. Longer than load balancers keep theirs (usually 60 s): whoever
 * closes first must not be the one that the other is sending a request to.
 */
const keepAliveTimeout = 65_000

/** How long an open request may take once the server closes. */
const closeGraceMs = 2_000

export function createHttpServer<Viewer>(options: HttpServerOptions<Viewer>): HttpServer {
  const { schema, subgraph, createContext, log, observeOperation } = options
  const transport = createTransport(options)
  const { limits } = transport
  const eventStreams = new Set<Answer>()
  const yoga = createGraphQLServer({
    ...transport,
    openSdl: limits.introspection ? subgraph?.sdl : undefined,
    schema: subgraph?.schema ?? schema,
    createContext,
    eventStreams,
    observeOperation,
  })
  const webSockets = createWebSocketEndpoint(transport, yoga)
  const route = createRoutes(options, transport, yoga)
  /** Connections whose request has no complete response yet. */
  const answering = new WeakSet<Socket>()

  function handle(request: IncomingMessage, response: ServerResponse): void {
    for (const [name, value] of Object.entries(securityHeaders)) response.setHeader(name, value)
    answering.add(request.socket)
    response.once('close', () => {
      answering.delete(request.socket)
      // A keep-alive connection would keep the closing server open.
      if (closing) server.closeIdleConnections()
    })
    const requestId = requestIdOf(request.headers['x-request-id'])
    response.setHeader('x-request-id', requestId)
    const trace = parseTraceparent(request.headers['traceparent'])
    const answer = () => withTrace(trace, () => route(request, response))
    withLogIds(log, { requestId }, answer).catch((error: unknown) => {
      const shown = toClientError(error, log)
      if (response.headersSent) response.destroy()
      else sendJson(response, 500, { errors: [shown] })
    })
  }

  const server = createServer(
    {
      headersTimeout: limits.requestHeadMs,
      connectionsCheckingInterval: limits.requestHeadMs / 4,
      keepAliveTimeout,
      // Some clients offer HTTP/2 with their first request (`Upgrade: h2c`). They get an answer over HTTP/1.1.
      shouldUpgradeCallback: ({ headers }) => headers.upgrade?.toLowerCase() === 'websocket',
    },
    handle,
  )
  server.on('upgrade', webSockets.upgrade)
  // Nothing was transferred on a connection for this long. It is kept only if its response is still being made and the
  // client has read everything so far.
  server.setTimeout(limits.stalledSocketMs, (socket) => {
    if (answering.has(socket) && socket.writableLength === 0) return
    if (answering.has(socket)) log.debug('closed a connection whose client did not read its response')
    socket.destroy()
  })

  async function shutDown(): Promise<void> {
    // Closing a server that does not listen yet has no effect.
    await opening?.catch(() => undefined)
    const closed = new Promise<void>((resolve) => server.close(() => resolve()))
    for (const stream of eventStreams) stream.end()
    const force = setTimeout(() => server.closeAllConnections(), closeGraceMs)
    await Promise.all([closed, webSockets.close(closeGraceMs)])
    clearTimeout(force)
    transport.keyWatch.stop()
  }

  let opening: Promise<Listening> | undefined
  let closing: Promise<void> | undefined
  return {
    listen: (host, port) => (opening = listen(server, host, port)),
    handle,
    upgrade: webSockets.upgrade,
    fetch: createFetch(transport, yoga, () => closing !== undefined),
    close: () => (closing ??= shutDown()),
  }
}

function createTransport<Viewer>(options: HttpServerOptions<Viewer>): Transport<Viewer> {
  const { authenticate, log, trustedDocuments, allowedOrigins = [], isOverloaded = () => false } = options
  const limits: Limits = { ...defaultLimits, ...options.limits }
  const clientOf = options.clientOf ?? (() => ({ id: '', tenantId: '' }))
  const clients = createClientLimits(limits, isOverloaded)
  const origins = createOrigins(allowedOrigins)
  return {
    ...{ log, limits, clients, clientOf, origins, trustedDocuments },
    identify: createIdentify(authenticate, origins),
    keyWatch: createKeyWatch(authenticate, { everyMs: limits.keyCheckMs, log }),
    sharedExecution: createSharedExecution(log, {
      patienceMs: limits.unavailableMs,
      openSubscription: ({ viewer }) => clients.openSubscription(clientOf(viewer as Viewer)),
    }),
  }
}
