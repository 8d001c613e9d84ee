import { isIPv4 } from 'node:net'

import { ClientError } from '../../graphql/errors.ts'
import { responseOf } from '../fetch.ts'
import type { Fetch, RequestHandler, UpgradeHandler } from '../handlers.ts'
import { sendError } from '../pages/pages.ts'
import { refuse } from '../streams/websocket.ts'

const refusal =
  'This server has no API key, so it answers only programs on its own machine. Set HOLDPOINT_API_KEY or create a key.'

interface Endpoint {
  readonly handle: RequestHandler
  readonly upgrade: UpgradeHandler
  readonly fetch: Fetch
}

/** For a server without keys on an address whose reach is unknown. */
export function loopbackOnly({ handle, upgrade, fetch }: Endpoint): Endpoint {
  return {
    handle: (request, response) =>
      isLocal(request.socket.remoteAddress)
        ? handle(request, response)
        : sendError(response, 403, refusal, 'FORBIDDEN'),
    upgrade: (request, socket, head) =>
      isLocal(request.socket.remoteAddress) ? upgrade(request, socket, head) : refuse(socket, '403 Forbidden', refusal),
    // A request that the program makes itself has no `Host`. One that it passes on has, and may come from anywhere.
    async fetch(input, init) {
      const request = new Request(input, init)
      return request.headers.has('host') ? responseOf(new ClientError('FORBIDDEN', refusal)) : fetch(request)
    },
  }
}

/** Undefined for a Unix socket, which only programs on this machine can reach. */
function isLocal(address: string | undefined): boolean {
  const plain = address?.replace(/^::ffff:/i, '')
  return plain === undefined || plain === '::1' || (isIPv4(plain) && plain.startsWith('127.'))
}
