import type { IncomingMessage, ServerResponse } from 'node:http'

import type { Plugin } from 'graphql-yoga'

import { ClientError } from '../../graphql/errors.ts'
import type { Client, ClientLimits } from '../limits/client-limits.ts'
import type { Origins } from './origin.ts'

/**
 * Finds out who sends a request by its `Authorization` header, which is null if there is none. Throws UNAUTHENTICATED.
 */
export type Authenticate<Viewer> = (authorization: string | null) => Promise<Viewer>

/** The counters that a viewer's requests count towards. */
export type ClientOf<Viewer> = (viewer: Viewer) => Client

/** `Authenticate` for HTTP clients. `host` is the header that the client sent. */
export type Identify<Viewer> = (authorization: string | null, host: string | undefined) => Promise<Viewer>

/** What yoga's hooks find on an HTTP request. A WebSocket operation has only the viewer. */
export interface ServerContext<Viewer> {
  req: IncomingMessage
  res: ServerResponse
  viewer: Viewer
}

/** Identifies the client before the body is read. */
export function useAuthentication<Viewer>(
  identify: Identify<Viewer>,
  clients: ClientLimits,
  clientOf: ClientOf<Viewer>,
): Plugin<object, ServerContext<Viewer>> {
  return {
    async onRequestParse({ request, serverContext }) {
      const authorization = request.headers.get('authorization')
      clients.takeRequest(authorization)
      serverContext.viewer = await identify(authorization, request.headers.get('host') ?? undefined)
      clients.takeRequestOfTenant(clientOf(serverContext.viewer))
    },
  }
}

/**
 * A server without keys is open to every program on its machine. A web page could exploit that through a host name that
 * its owner points to this server, so a client without a key must use an IP address, `localhost` or a configured name.
 * A server with keys refuses such clients anyway.
 */
export function createIdentify<Viewer>(authenticate: Authenticate<Viewer>, origins: Origins): Identify<Viewer> {
  return async (authorization, host) => {
    if (authorization !== null || origins.isTrustedHost(host)) return authenticate(authorization)
    const message =
      'Without a key, this server answers only at localhost, at an IP address, or at a host of HOLDPOINT_ALLOWED_ORIGINS. Send `Authorization: Bearer hp_…`.'
    throw new ClientError('UNAUTHENTICATED', message)
  }
}
