import type { Plugin } from 'graphql-yoga'

import { ClientError } from '../../graphql/errors.ts'
import { answerOf } from '../answer.ts'
import type { Authenticate, Identify, ServerContext, Transport } from '../transport.ts'
import type { Origins } from './origin.ts'

/** Identifies the client before the body is read. The response ends with the client's key. */
export function useAuthentication<Viewer>({
  identify,
  clients,
  clientOf,
  keyWatch,
}: Transport<Viewer>): Plugin<object, ServerContext<Viewer>> {
  return {
    async onRequestParse({ request, serverContext }) {
      const authorization = request.headers.get('authorization')
      clients.takeRequest(authorization)
      serverContext.viewer = await identify(authorization, request.headers.get('host') ?? undefined)
      clients.takeRequestOfTenant(clientOf(serverContext.viewer))
      serverContext.answer ??= serverContext.res && answerOf(serverContext.res)
      if (serverContext.answer) keyWatch.addAnswer(authorization, serverContext.answer)
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
