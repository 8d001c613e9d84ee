import { isIPv4 } from 'node:net'

import type { RequestHandler, UpgradeHandler } from './handlers.ts'
import { sendError } from './pages/pages.ts'
import { refuse } from './streams/websocket.ts'

const refusal =
  'This server has no API key, so it answers only programs on its own machine. Set HOLDPOINT_API_KEY or create a key.'

/** For a server without keys on an address whose reach is unknown. */
export function loopbackOnly({
  handle,
  upgrade,
}: {
  readonly handle: RequestHandler
  readonly upgrade: UpgradeHandler
}): { readonly handle: RequestHandler; readonly upgrade: UpgradeHandler } {
  return {
    handle: (request, response) =>
      isLocal(request.socket.remoteAddress)
        ? handle(request, response)
        : sendError(response, 403, refusal, 'FORBIDDEN'),
    upgrade: (request, socket, head) =>
      isLocal(request.socket.remoteAddress) ? upgrade(request, socket, head) : refuse(socket, '403 Forbidden', refusal),
  }
}

/** Undefined for a Unix socket, which only programs on this machine can reach. */
function isLocal(address: string | undefined): boolean {
  const plain = address?.replace(/^::ffff:/i, '')
  return plain === undefined || plain === '::1' || (isIPv4(plain) && plain.startsWith('127.'))
}
