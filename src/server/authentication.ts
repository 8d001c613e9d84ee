import type { IncomingMessage, ServerResponse } from 'node:http'

import type { Plugin } from 'graphql-yoga'

import { ClientError } from '../graphql/errors.ts'
import { reachedByAddress } from './origin.ts'

/** Turns an `Authorization` header (null: none) into whoever asks, or throws UNAUTHENTICATED. */
export type Authenticate<Viewer> = (authorization: string | null) => Promise<Viewer>

/** What yoga's hooks find on an HTTP request. On a WebSocket there is the viewer alone. */
export interface ServerContext<Viewer> {
  req: IncomingMessage
  res: ServerResponse
  viewer: Viewer
}

/** Who asks, told before the body is read. */
export function useAuthentication<Viewer>(authenticate: Authenticate<Viewer>): Plugin<object, ServerContext<Viewer>> {
  return {
    async onRequestParse({ request, serverContext }) {
      const authorization = request.headers.get('authorization')
      serverContext.viewer = await identify(authenticate, authorization, request.headers.get('host') ?? undefined)
    },
  }
}

/**
 * A server without keys is open to its own machine, so a caller without a key must have come by address: else a web page could
 * reach it by a name that its owner points here. Where keys are needed this refuses nobody that they would let in.
 */
export async function identify<Viewer>(
  authenticate: Authenticate<Viewer>,
  authorization: string | null,
  host: string | undefined,
): Promise<Viewer> {
  if (authorization !== null || reachedByAddress(host)) return authenticate(authorization)
  const message =
    'Without a key this server answers at localhost or an IP address alone. Send `Authorization: Bearer hp_…`.'
  throw new ClientError('UNAUTHENTICATED', message)
}
