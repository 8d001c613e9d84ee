import type { IncomingMessage, ServerResponse } from 'node:http'
import type { Duplex } from 'node:stream'

export type RequestHandler = (request: IncomingMessage, response: ServerResponse) => void
export type UpgradeHandler = (request: IncomingMessage, socket: Duplex, head: Buffer) => void

/** What a program's own HTTP server calls. */
export interface Handlers {
  /** For `createServer(handler)`. It answers every path, with 404 where there is nothing. */
  readonly handler: RequestHandler
  /** For `server.on('upgrade', upgrade)`. It answers every path. */
  readonly upgrade: UpgradeHandler
}
