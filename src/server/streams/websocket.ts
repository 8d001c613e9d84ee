import type { IncomingMessage } from 'node:http'
import type { Duplex } from 'node:stream'
import { setTimeout as delay } from 'node:timers/promises'

import { getOperationAST, type ExecutionArgs, type ExecutionResult, type GraphQLError } from 'graphql'
import {
  CloseCode,
  handleProtocols,
  makeServer,
  MessageType,
  stringifyMessage,
  type Context,
  type SubscribePayload,
} from 'graphql-ws'
import { WebSocket, WebSocketServer } from 'ws'

import { ClientError, toClientError } from '../../graphql/errors.ts'
import { withLogIds } from '../../util/log-context.ts'
import type { Log } from '../../util/log.ts'
import { currentTrace, parseTraceparent, withTrace } from '../../util/trace-context.ts'
import type { ClientOf, Identify } from '../access/authentication.ts'
import type { ClientLimits } from '../limits/client-limits.ts'
import { startHeartbeat } from './heartbeat.ts'
import type { KeyWatch } from '../access/key-watch.ts'
import { tooLarge, type Limits } from '../limits/limits.ts'
import { unknownOperation } from '../limits/operation-check.ts'
import { badHost, parseHost, type Origins } from '../access/origin.ts'
import { createOutlet, send, type Outlet } from './outlet.ts'
import { requestIdOf } from '../request-id.ts'
import type { SharedExecution } from './shared-execution.ts'
import { neverAnswered, sendResults } from './socket-stream.ts'
import { addMissingText, documentOf, type TrustedDocuments } from '../limits/trusted-documents.ts'
import { checkValueCount } from '../limits/value-count.ts'
import type { Yoga } from '../yoga.ts'

interface WebSocketOptions<Viewer> {
  readonly yoga: Yoga<Viewer>
  readonly identify: Identify<Viewer>
  readonly clients: ClientLimits
  readonly clientOf: ClientOf<Viewer>
  readonly origins: Origins
  readonly log: Log
  readonly limits: Limits
  readonly sharedExecution: SharedExecution
  readonly keyWatch: KeyWatch
  /** Undefined if clients may send any document. */
  readonly trustedDocuments: TrustedDocuments | undefined
}

export interface WebSocketEndpoint {
  upgrade(request: IncomingMessage, socket: Duplex, head: Buffer): void
  /** Tells every client to reconnect (1012). After `graceMs`, cuts off the clients that have not closed. */
  close(graceMs: number): Promise<void>
}

/** The state of one socket. `viewer` is set by connection_init. */
interface Connection<Viewer> {
  readonly request: IncomingMessage
  readonly socket: WebSocket
  readonly outlet: Outlet
  /** The key that the client sent. Null if there is none. */
  key?: string | null
  viewer?: Viewer
}

/** graphql-ws executes what `onSubscribe` returns. Here `onSubscribe` has executed it already. */
interface ExecutedArgs extends ExecutionArgs {
  readonly result: Result
}

type Result = ExecutionResult | AsyncIterable<ExecutionResult>

/** Larger than any key or token, and far smaller than what takes time to parse. */
const firstMessageBytes = 64 * 1024

/** Close codes from the registry of RFC 6455, after which clients reconnect by themselves. */
const closeCodes = { tooLarge: 1009, restarting: 1012, tryAgainLater: 1013 } as const

/**
 * Speaks graphql-transport-ws on `ws`. The library's own adapter closes the whole socket with 4500, which clients take
 * as final, whenever something throws: one bad operation would end every other stream of that client. Here each
 * operation fails by itself, with an `error` message. Only a violation of the protocol (44xx) or an oversized frame
 * (1009) closes a socket.
 */
export function createWebSocketEndpoint<Viewer>(options: WebSocketOptions<Viewer>): WebSocketEndpoint {
  const { yoga, identify, clients, clientOf, origins, log, limits, sharedExecution, keyWatch, trustedDocuments } =
    options

  const protocol = makeServer<Record<string, unknown>, Connection<Viewer>>({
    ...(trustedDocuments && { jsonMessageReviver: addMissingText }),
    async onConnect({ connectionParams, extra }) {
      try {
        const key = keyOf(connectionParams ?? {}) ?? extra.request.headers.authorization ?? null
        clients.takeRequest(key)
        const viewer = await identify(key, extra.request.headers.host)
        // The client may have left meanwhile, and `close` is emitted only once.
        if (extra.socket.readyState !== WebSocket.OPEN) return false
        extra.socket.once('close', clients.openSocket(clientOf(viewer)))
        extra.viewer = viewer
        extra.key = key
        if (key !== null) {
          const { socket } = extra
          socket.once(
            'close',
            // Clients reconnect after this code, and get a new token if they have a function for it.
            keyWatch.add(key, (reason) => socket.close(CloseCode.Forbidden, closeReason(reason))),
          )
        }
        return true
      } catch (error) {
        const { code, message } = toClientError(error, log)
        // Clients retry after the 4403 that `false` means, but give up at once after 4401. Only the first close counts.
        if (code === 'UNAUTHENTICATED') extra.socket.close(CloseCode.Unauthorized, closeReason(message))
        // The second sentence has the id of the error, and both fit.
        else if (code === 'INTERNAL_SERVER_ERROR') extra.socket.close(closeCodes.tryAgainLater, `${code}: ${message}`)
        else if (code !== 'FORBIDDEN') extra.socket.close(closeCodes.tryAgainLater, closeReason(`${code}: ${message}`))
        return false
      }
    },
    async onSubscribe(context, id, payload) {
      const mark = {} as AsyncIterable<never>
      context.subscriptions[id] = mark
      const answer = await answerTo(context, { id, payload })
      if (context.subscriptions[id] === mark) return answer
      // The client has completed the operation, or the socket is closed. The library identifies operations only by
      // their ids, and the client may use this id again: the library would send this answer as the new operation's.
      if ('result' in answer) await release(answer.result)
      return neverAnswered()
    },
    execute: (args) => (args as ExecutedArgs).result,
    subscribe: (args) => (args as ExecutedArgs).result,
    onError: (_context, _id, _payload, errors) => errors.map((error) => toClientError(error, log).toJSON()),
  })

  async function answerTo(
    { extra, subscriptions }: Context<Record<string, unknown>, Connection<Viewer>>,
    operation: { readonly id: string; readonly payload: SubscribePayload },
  ): Promise<ExecutedArgs | readonly GraphQLError[]> {
    if (Object.keys(subscriptions).length > limits.operationsPerSocket) return [tooManyOperations(limits)]
    try {
      clients.takeRequest(extra.key ?? null)
      clients.takeRequestOfTenant(clientOf(extra.viewer as Viewer))
      const trace = parseTraceparent(operation.payload.extensions?.['traceparent'])
      return await withTrace(trace ?? currentTrace(), () => runOperation(extra, operation))
    } catch (error) {
      return [toClientError(error, log)]
    }
  }

  async function runOperation(
    { outlet, viewer, key }: Connection<Viewer>,
    { id, payload }: { readonly id: string; readonly payload: SubscribePayload },
  ): Promise<ExecutedArgs | readonly GraphQLError[]> {
    // The library has checked that the query is a text.
    const query = documentOf({ ...payload }, trustedDocuments) as string
    const params = {
      query,
      variables: payload.variables ?? {},
      operationName: payload.operationName ?? undefined,
    }
    const { schema, parse, validate, contextFactory, execute, subscribe } = yoga.getEnveloped({
      viewer,
      key,
      params,
    } as never)
    const document = parse(query)
    const invalid = validate(schema, document)
    if (invalid.length > 0) return invalid
    const operation = getOperationAST(document, payload.operationName)
    if (!operation) return [unknownOperation()]
    const args: ExecutionArgs = {
      schema,
      document,
      operationName: payload.operationName,
      variableValues: payload.variables,
      contextValue: await contextFactory(),
    }
    const result = (await (operation.operation === 'subscription' ? subscribe(args) : execute(args))) as Result
    // Nothing was executed, so the client gets an `error` message instead of a result without data.
    if (!(Symbol.asyncIterator in result) && !('data' in result)) return result.errors ?? []
    const stream = sharedExecution.streamOf(args.contextValue)
    if (!(Symbol.asyncIterator in result) || !stream) return { ...args, result }
    return { ...args, result: sendResults(stream, result as AsyncIterableIterator<ExecutionResult>, { outlet, id }) }
  }

  function serve(socket: WebSocket, request: IncomingMessage): void {
    // By then ws has closed the socket with the right code. Without a listener, the error would end the process.
    socket.on('error', (error) => log.debug({ err: error }, 'a WebSocket failed'))
    const ids = { requestId: requestIdOf(request.headers['x-request-id']) }
    const stopHeartbeat = startHeartbeat(socket, request.socket, { stalledMs: limits.stalledSocketMs })
    const connection: Connection<Viewer> = { request, socket, outlet: createOutlet(socket, request.socket) }
    const closed = protocol.opened(
      {
        protocol: socket.protocol,
        send: (data) => send(socket, data),
        close: (code, reason) => socket.close(code, reason),
        onMessage: (handle) =>
          socket.on('message', (data) => {
            // A client may go on sending for as long as it does not answer the close.
            if (socket.readyState !== WebSocket.OPEN) return
            // By default ws delivers a message as one Buffer.
            const bytes = data as Buffer
            const text = bytes.toString()
            const refusal = refusalOf(text, bytes.length, connection)
            if (refusal) return socket.close(closeCodes.tooLarge, closeReason(refusal.message))
            const trace = parseTraceparent(request.headers['traceparent'])
            withLogIds(log, ids, () => withTrace(trace, () => handle(text))).catch((error: unknown) =>
              fail(socket, text, error),
            )
          }),
      },
      connection,
    )
    socket.once('close', (code, reason) => {
      stopHeartbeat()
      closed(code, String(reason)).catch((error: unknown) =>
        log.error({ err: error }, 'a WebSocket could not be closed'),
      )
    })
  }

  /** Why a message is not even parsed. A client that has shown no key yet has no reason to send a large one. */
  function refusalOf(text: string, bytes: number, connection: Connection<Viewer>): Error | undefined {
    if (!('viewer' in connection) && bytes > firstMessageBytes)
      return new Error(`A message before connection_ack may have at most ${firstMessageBytes} bytes.`)
    try {
      checkValueCount(text)
      return undefined
    } catch (error) {
      return error as Error
    }
  }

  /** Handles what graphql-ws cannot: a result that JSON cannot express, or a message that only servers send. */
  async function fail(socket: WebSocket, text: string, error: unknown): Promise<void> {
    const message = JSON.parse(text) as { type: string; id?: string }
    if (message.type !== MessageType.Subscribe) return socket.close(CloseCode.BadRequest, 'Invalid message received')
    const payload = [toClientError(error, log).toJSON()]
    await send(socket, stringifyMessage({ type: MessageType.Error, id: message.id ?? '', payload }))
  }

  const sockets = new WebSocketServer({
    noServer: true,
    maxPayload: limits.requestBytes,
    perMessageDeflate: false,
    handleProtocols,
    // The library gives no reason when it closes a socket because a frame is too large.
    WebSocket: class extends WebSocket {
      override close(code?: number, reason?: string | Buffer): void {
        const isTooLarge = code === closeCodes.tooLarge && reason === undefined
        super.close(code, isTooLarge ? closeReason(tooLarge(limits).message) : reason)
      }
    },
  })

  let closing = false
  return {
    upgrade(request, socket, head) {
      const { origin, host } = request.headers
      if (closing) return refuse(socket, '503 Service Unavailable', 'The server is shutting down.')
      const refuseAndLog = (status: string, why: string) => {
        log.warn(
          { requestId: requestIdOf(request.headers['x-request-id']), origin, host },
          `refused a WebSocket: ${why}`,
        )
        refuse(socket, status, why)
      }
      if (host === undefined || !parseHost(host)) return refuseAndLog('400 Bad Request', badHost)
      if (request.url?.split('?')[0] !== '/graphql') return refuseAndLog('404 Not Found', 'WebSockets are at /graphql.')
      const refusal = origins.refusalOf(request.headers)
      if (refusal === undefined) return sockets.handleUpgrade(request, socket, head, serve)
      refuseAndLog('403 Forbidden', refusal)
    },
    async close(graceMs) {
      closing = true
      const open = [...sockets.clients]
      const closed = open.map((socket) => new Promise((resolve) => socket.once('close', resolve)))
      for (const socket of open) socket.close(closeCodes.restarting, 'Service restart')
      const timer = new AbortController()
      await Promise.race([Promise.all(closed), delay(graceMs, undefined, { signal: timer.signal }).catch(() => {})])
      timer.abort()
      for (const socket of sockets.clients) socket.terminate()
    },
  }
}

async function release(result: Result): Promise<void> {
  if (Symbol.asyncIterator in result) await result[Symbol.asyncIterator]().return?.()
}

/** A close reason has at most 123 bytes. Messages can be longer, and their first sentence says what is wrong. */
function closeReason(message: string): string {
  return Buffer.from(/^.*?[.!](?= |$)/.exec(message)?.[0] ?? message)
    .subarray(0, 120)
    .toString()
    .replace(/\ufffd+$/, '')
}

export function refuse(socket: Duplex, status: string, message: string): void {
  // The client may be gone already, and Node no longer listens for errors of this socket.
  socket.on('error', () => socket.destroy())
  const headers = ['Connection: close', 'Content-Type: text/plain; charset=utf-8']
  const body = `${message}\n`
  const length = `Content-Length: ${Buffer.byteLength(body)}`
  socket.end(`HTTP/1.1 ${status}\r\n${[...headers, length].join('\r\n')}\r\n\r\n${body}`)
}

function tooManyOperations({ operationsPerSocket }: Limits): ClientError {
  const message = `This socket has ${operationsPerSocket} open operations, which is the limit. Complete one, or open another socket.`
  return new ClientError('TOO_MANY_OPERATIONS', message)
}

function keyOf({ Authorization = null, authorization = Authorization }: Record<string, unknown>): string | null {
  return authorization === null || typeof authorization === 'string' ? authorization : JSON.stringify(authorization)
}
