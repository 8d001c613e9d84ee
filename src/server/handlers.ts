import type { IncomingMessage, ServerResponse } from 'node:http'
import type { Duplex } from 'node:stream'

export type RequestHandler = (request: IncomingMessage, response: ServerResponse) => void
export type UpgradeHandler = (request: IncomingMessage, socket: Duplex, head: Buffer) => void
/** Answers requests to `/graphql` without a socket, like the `fetch` of a client. */
export type Fetch = (input: Request | string | URL, init?: RequestInit) => Promise<Response>

/** Handlers for the HTTP server of an embedding program. */
export interface Handlers {
  /** For `createServer(handler)`. It answers every path, with 404 if there is nothing. */
  readonly handler: RequestHandler
  /** For `server.on('upgrade', upgrade)`. It answers every path. */
  readonly upgrade: UpgradeHandler
}
