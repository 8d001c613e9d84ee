import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { Socket } from 'node:net'

import type { GraphQLSchema } from 'graphql'

import { toClientError } from '../graphql/errors.ts'
import type { Subgraph } from '../graphql/subgraph.ts'
import { withLogIds } from '../util/log-context.ts'
import type { Log } from '../util/log.ts'
import { parseTraceparent, withTrace } from '../util/trace-context.ts'
import type { Answer } from './answer.ts'
import { createIdentify, type Authenticate, type ClientOf } from './access/authentication.ts'
import { createClientLimits } from './limits/client-limits.ts'
import { createConsole } from './pages/console.ts'
import { createFetch } from './fetch.ts'
import { createDecisionPage, isDecisionPath, type Decisions } from './pages/decision-page.ts'
import { createFiles, isFilePath, type OpenFile } from './pages/files.ts'
import { asksForPage, createGraphiQL, graphiqlIsOff } from './graphiql/graphiql.ts'
import type { Fetch, RequestHandler, UpgradeHandler } from './handlers.ts'
import { createReadiness, sendLiveness, type Ready } from './health/health.ts'
import { sendHomePage } from './pages/home-page.ts'
import { badHost, parseHost, createOrigins } from './access/origin.ts'
import { createKeyWatch } from './access/key-watch.ts'
import { defaultLimits, type Limits } from './limits/limits.ts'
import { listen, type Listening } from './listen.ts'
import { createMetricsEndpoint, type MetricsPage } from './health/metrics.ts'
import type { OperationObserver } from './operation-spans.ts'
import { isRead, securityHeaders, sendError, sendJson } from './pages/pages.ts'
import { requestIdOf } from './request-id.ts'
import { createSchemaFiles, isSchemaFile } from './pages/schema-files.ts'
import { createWebSocketEndpoint } from './streams/websocket.ts'
import { createSharedExecution } from './streams/shared-execution.ts'
import type { TrustedDocuments } from './limits/trusted-documents.ts'
import { createGraphQLServer } from './yoga.ts'

export interface HttpServerOptions<Viewer> {
  readonly schema: GraphQLSchema
  /** If given, the API is a subgraph too. */
  readonly subgraph?: Subgraph | undefined
  readonly authenticate: Authenticate<Viewer>
  /** Called once per operation, on every transport. */
  readonly createContext: (viewer: Viewer) => object
  /** The key of the counter for limits per key. Defaults to one counter for all viewers. */
  readonly clientOf?: ClientOf<Viewer>
  /** Whether to refuse new requests for now. Defaults to never. */
  readonly isOverloaded?: () => boolean
  /** What `GET /files/:id` sends. */
  readonly openFile: OpenFile<Viewer>
  /** What is behind `/decide/:token`. Defaults to nothing. */
  readonly decisions?: Decisions
  readonly log: Log
  readonly limits?: Partial<Limits>
  readonly graphiql: boolean
  /** If given, no other documents are executed. */
  readonly trustedDocuments?: TrustedDocuments | undefined
  /** Whether to serve the web console. Defaults to false. */
  readonly console?: boolean
  /** Origins of other sites whose pages may use the API. Defaults to none. */
  readonly allowedOrigins?: readonly string[]
  readonly ready: Ready
  /** Called for every query and mutation. Without it, operations have no spans. */
  readonly observeOperation?: OperationObserver | undefined
  /** What `/metrics` shows to viewers that pass `check`. `check` throws FORBIDDEN for all others. */
  readonly metrics?: MetricsPage & { readonly check: (viewer: Viewer) => void }
}

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

/** A WebSocket handshake arrives as a plain request if a proxy on the way drops the headers that ask for an upgrade. */
function refuseSocket(response: ServerResponse): void {
  response.setHeader('upgrade', 'websocket')
  sendError(
    response,
    426,
    'A WebSocket handshake without the headers `Upgrade: websocket` and `Connection: Upgrade`: a proxy between the client and this server must pass them on. In nginx: proxy_http_version 1.1; proxy_set_header Upgrade $http_upgrade; proxy_set_header Connection "upgrade";',
  )
}

/** How long an open request may take once the server closes. */
const closeGraceMs = 2_000

export function createHttpServer<Viewer>(options: HttpServerOptions<Viewer>): HttpServer {
  const { schema, authenticate, createContext, log, ready, observeOperation } = options
  const limits: Limits = { ...defaultLimits, ...options.limits }
  const eventStreams = new Set<Answer>()
  const sharedExecution = createSharedExecution(log, {
    patienceMs: limits.unavailableMs,
    openSubscription: ({ viewer }) => clients.openSubscription(clientOf(viewer as Viewer)),
  })
  const keyWatch = createKeyWatch(authenticate, { everyMs: limits.keyCheckMs, log })
  const origins = createOrigins(options.allowedOrigins ?? [])
  const clientOf = options.clientOf ?? (() => ({ id: '', tenantId: '' }))
  const clients = createClientLimits(limits, options.isOverloaded ?? (() => false))
  const shared = {
    identify: createIdentify(authenticate, origins),
    clients,
    clientOf,
    log,
    limits,
    sharedExecution,
    keyWatch,
    trustedDocuments: options.trustedDocuments,
  }
  const served = options.subgraph?.schema ?? schema
  const openSdl = limits.introspection ? options.subgraph?.sdl : undefined
  const yoga = createGraphQLServer({
    ...shared,
    openSdl,
    schema: served,
    createContext,
    eventStreams,
    observeOperation,
  })
  const webSockets = createWebSocketEndpoint({ ...shared, yoga, origins })
  const sendGraphiQL = createGraphiQL({ hasConsole: options.console ?? false })
  const sendFile = createFiles({ ...shared, openFile: options.openFile })
  const sendDecision = options.decisions && createDecisionPage(options.decisions)
  const sendSchemaFile = createSchemaFiles(schema, options.subgraph)
  const sendReadiness = createReadiness(ready, { log })
  const answerMetrics = options.metrics && createMetricsEndpoint(options.metrics, { ...shared, ...options.metrics })
  const webConsole = options.console ? createConsole() : undefined

  async function route(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const path = request.url?.split('?')[0]
    const { host } = request.headers
    if (host !== undefined && !parseHost(host)) return sendError(response, 400, badHost)
    if (path === '/graphql') {
      if (request.headers['sec-websocket-key'] !== undefined) return refuseSocket(response)
      if (options.graphiql && asksForPage(request)) return sendGraphiQL(request, response)
      if (request.url === path && asksForPage(request)) return sendError(response, 400, graphiqlIsOff)
      return guarded(request, response, async () => yoga.requestListener(request, response))
    }
    if (path !== undefined && sendDecision && isDecisionPath(path)) return sendDecision(request, response, path)
    if (path !== undefined && isFilePath(path))
      return guarded(request, response, () => sendFile(request, response, path))
    if (limits.introspection && isSchemaFile(path))
      return isRead(request, response) ? sendSchemaFile(response, request.url!) : undefined
    if (path === '/metrics' && answerMetrics)
      return isRead(request, response) ? answerMetrics(request, response) : undefined
    const isConsole = (request.method === 'GET' || request.method === 'HEAD') && path !== undefined
    if (isConsole && (await webConsole?.send(path, request, response))) return
    if (path !== '/' && path !== '/healthz' && path !== '/readyz') {
      if (asksForPage(request) && (await webConsole?.sendNotFound(request, response))) return
      return sendError(response, 404, 'There is nothing here. GraphQL is at /graphql.')
    }
    if (!isRead(request, response)) return
    if (path === '/healthz') return sendLiveness(response)
    if (path === '/readyz') return sendReadiness(response)
    return sendHomePage(response)
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

  // Some clients offer HTTP/2 with their first request (`Upgrade: h2c`). They get an answer over HTTP/1.1.
  const shouldUpgradeCallback = ({ headers }: IncomingMessage): boolean =>
    headers.upgrade?.toLowerCase() === 'websocket'

  const timeouts = {
    headersTimeout: limits.requestHeadMs,
    connectionsCheckingInterval: limits.requestHeadMs / 4,
    keepAliveTimeout,
  }
  const server = createServer({ shouldUpgradeCallback, ...timeouts }, handle)
  server.on('upgrade', webSockets.upgrade)

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

  /** Connections whose request has no complete response yet. */
  const answering = new WeakSet<Socket>()
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
    keyWatch.stop()
  }

  let opening: Promise<Listening> | undefined
  let closing: Promise<void> | undefined
  return {
    listen: (host, port) => (opening = listen(server, host, port)),
    handle,
    upgrade: webSockets.upgrade,
    fetch: createFetch({ yoga, origins, log, isClosing: () => closing !== undefined }),
    close: () => (closing ??= shutDown()),
  }
}
