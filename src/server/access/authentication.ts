import type { ServerResponse } from 'node:http'

import type { Plugin } from 'graphql-yoga'

import { ClientError } from '../../graphql/errors.ts'
import { answerOf, type Answer } from '../answer.ts'
import type { Client, ClientLimits } from '../limits/client-limits.ts'
import type { KeyWatch } from './key-watch.ts'
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
  /** Node's response to a request over HTTP. */
  res?: ServerResponse
  answer?: Answer
  viewer: Viewer
}

interface Authentication<Viewer> {
  readonly identify: Identify<Viewer>
  readonly clients: ClientLimits
  readonly clientOf: ClientOf<Viewer>
  readonly keyWatch: KeyWatch
}

/** Identifies the client before the body is read. The response ends with the client's key. */
export function useAuthentication<Viewer>({
  identify,
  clients,
  clientOf,
  keyWatch,
}: Authentication<Viewer>): Plugin<object, ServerContext<Viewer>> {
  return {
    async onRequestParse({ request, serverContext }) {
      const authorization = request.headers.get('authorization')
      clients.takeRequest(authorization)
      serverContext.viewer = await identify(authorization, request.headers.get('host') ?? undefined)
      clients.takeRequestOfTenant(clientOf(serverContext.viewer))
      serverContext.answer ??= answerOf(serverContext.res!)
      keyWatch.addAnswer(authorization, serverContext.answer)
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
