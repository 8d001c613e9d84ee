import type { IncomingMessage } from 'node:http'
import type { Duplex } from 'node:stream'
import { setTimeout as delay } from 'node:timers/promises'

import { CloseCode, handleProtocols, MessageType, stringifyMessage } from 'graphql-ws'
import { WebSocket, WebSocketServer } from 'ws'

import { toClientError } from '../../graphql/errors.ts'
import { errorMessage } from '../../util/error-message.ts'
import { withLogIds } from '../../util/log-context.ts'
import { parseTraceparent, withTrace } from '../../util/trace-context.ts'
import { badHost, parseHost } from '../access/origin.ts'
import { tooLarge } from '../limits/limits.ts'
import { checkValueCount } from '../limits/value-count.ts'
import { requestIdOf } from '../request-id.ts'
import type { Transport } from '../transport.ts'
import type { Yoga } from '../yoga.ts'
import { startHeartbeat } from './heartbeat.ts'
import { createOutlet, send } from './outlet.ts'
import { closeCodes, closeReason, createSocketProtocol, type Connection } from './socket-protocol.ts'

export interface WebSocketEndpoint {
  upgrade(request: IncomingMessage, socket: Duplex, head: Buffer): void
  /** Tells every client to reconnect (1012). After `graceMs`, cuts off the clients that have not closed. */
  close(graceMs: number): Promise<void>
}

/** Larger than any key or token, and far smaller than what takes time to parse. */
const firstMessageBytes = 64 * 1024

/**
 * Speaks graphql-transport-ws on `ws`. The library's own adapter closes the whole socket with 4500, which clients take
 * as final, whenever something throws: one bad operation would end every other stream of that client. Here only a
 * violation of the protocol (44xx) or an oversized frame (1009) closes a socket.
 */
export function createWebSocketEndpoint<Viewer>(transport: Transport<Viewer>, yoga: Yoga<Viewer>): WebSocketEndpoint {
  const { origins, log, limits } = transport
  const protocol = createSocketProtocol(transport, yoga)
  let closing = false

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

  function upgrade(request: IncomingMessage, socket: Duplex, head: Buffer): void {
    const { origin, host } = request.headers
    if (closing) return refuse(socket, '503 Service Unavailable', 'The server is shutting down.')
    const refuseAndLog = (status: string, why: string) => {
      const requestId = requestIdOf(request.headers['x-request-id'])
      log.warn({ requestId, origin, host }, `refused a WebSocket: ${why}`)
      refuse(socket, status, why)
    }
    if (host === undefined || !parseHost(host)) return refuseAndLog('400 Bad Request', badHost)
    if (request.url?.split('?')[0] !== '/graphql') return refuseAndLog('404 Not Found', 'WebSockets are at /graphql.')
    const refusal = origins.refusalOf(request.headers)
    if (refusal === undefined) return sockets.handleUpgrade(request, socket, head, serve)
    refuseAndLog('403 Forbidden', refusal)
  }

  function serve(socket: WebSocket, request: IncomingMessage): void {
    // By then ws has closed the socket with the right code. Without a listener, the error would end the process.
    socket.on('error', (error) => log.debug({ err: error }, 'a WebSocket failed'))
    const stopHeartbeat = startHeartbeat(socket, request.socket, { stalledMs: limits.stalledSocketMs })
    const connection: Connection<Viewer> = { request, socket, outlet: createOutlet(socket, request.socket) }
    const channel = {
      protocol: socket.protocol,
      send: (data: string) => send(socket, data),
      close: (code: number, reason: string) => socket.close(code, reason),
      onMessage: (handle: (text: string) => Promise<void>) => listen(connection, handle),
    }
    const closed = protocol.opened(channel, connection)
    socket.once('close', (code, reason) => {
      stopHeartbeat()
      closed(code, String(reason)).catch((error: unknown) =>
        log.error({ err: error }, 'a WebSocket could not be closed'),
      )
    })
  }

  function listen(connection: Connection<Viewer>, handle: (text: string) => Promise<void>): void {
    const { socket, request } = connection
    const ids = { requestId: requestIdOf(request.headers['x-request-id']) }
    const trace = parseTraceparent(request.headers['traceparent'])
    socket.on('message', (data) => {
      // A client may go on sending for as long as it does not answer the close.
      if (socket.readyState !== WebSocket.OPEN) return
      // By default ws delivers a message as one Buffer.
      const text = (data as Buffer).toString()
      const refusal = refusalOf(text, connection)
      if (refusal !== undefined) return socket.close(closeCodes.tooLarge, closeReason(refusal))
      const handled = withLogIds(log, ids, () => withTrace(trace, () => handle(text)))
      handled.catch((error: unknown) => fail(socket, text, error))
    })
  }

  /** Handles what graphql-ws cannot: a result that JSON cannot express, or a message that only servers send. */
  async function fail(socket: WebSocket, text: string, error: unknown): Promise<void> {
    const message = JSON.parse(text) as { type: string; id?: string }
    if (message.type !== MessageType.Subscribe) return socket.close(CloseCode.BadRequest, 'Invalid message received')
    const payload = [toClientError(error, log).toJSON()]
    await send(socket, stringifyMessage({ type: MessageType.Error, id: message.id ?? '', payload }))
  }

  async function close(graceMs: number): Promise<void> {
    closing = true
    const open = [...sockets.clients]
    const closed = open.map((socket) => new Promise((resolve) => socket.once('close', resolve)))
    for (const socket of open) socket.close(closeCodes.restarting, 'Service restart')
    const timer = new AbortController()
    await Promise.race([Promise.all(closed), delay(graceMs, undefined, { signal: timer.signal }).catch(() => {})])
    timer.abort()
    for (const socket of sockets.clients) socket.terminate()
  }

  return { upgrade, close }
}

/** Why a message is not even parsed. A client that has shown no key yet has no reason to send a large one. */
function refusalOf(text: string, { client }: Connection<unknown>): string | undefined {
  if (!client && Buffer.byteLength(text) > firstMessageBytes)
    return `A message before connection_ack may have at most ${firstMessageBytes} bytes.`
  try {
    checkValueCount(text)
    return undefined
  } catch (error) {
    return errorMessage(error)
  }
}

export function refuse(socket: Duplex, status: string, message: string): void {
  // The client may be gone already, and Node no longer listens for errors of this socket.
  socket.on('error', () => socket.destroy())
  const headers = ['Connection: close', 'Content-Type: text/plain; charset=utf-8']
  const body = `${message}\n`
  const length = `Content-Length: ${Buffer.byteLength(body)}`
  socket.end(`HTTP/1.1 ${status}\r\n${[...headers, length].join('\r\n')}\r\n\r\n${body}`)
}
