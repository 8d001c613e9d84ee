import { createHash, timingSafeEqual } from 'node:crypto'

import { openActor } from '../domain/actor.ts'
import { HoldpointError } from '../domain/errors.ts'
import { apiScopes, type Viewer } from '../domain/viewer.ts'

/**
 * Who asks, by the `Authorization` header. With no key configured the server is open to those who send none, which is
 * why it listens on loopback alone then.
 */
export function createAuthenticate(options: { readonly tenantId: string; readonly apiKey: string | undefined }) {
  const open: Viewer = { tenantId: options.tenantId, actor: openActor, scopes: apiScopes }
  const viewer: Viewer = { ...open, actor: { kind: 'KEY', id: 'HOLDPOINT_API_KEY', name: 'HOLDPOINT_API_KEY' } }
  return async function authenticate(authorization: string | null): Promise<Viewer> {
    if (options.apiKey === undefined && authorization === null) return open
    const [, given] = /^Bearer (\S+)$/i.exec(authorization ?? '') ?? []
    if (given !== undefined && options.apiKey !== undefined && timingSafeEqual(digest(given), digest(options.apiKey)))
      return viewer
    throw new HoldpointError(
      'UNAUTHENTICATED',
      authorization === null
        ? 'This server wants a key. Send it as `Authorization: Bearer …`, on WebSockets in connection_init.'
        : 'The key is not known here. Send a valid one as `Authorization: Bearer …`.',
    )
  }
}

/** Of equal length, so that the comparison takes as long for every key. */
function digest(text: string): Buffer {
  return createHash('sha256').update(text).digest()
}
