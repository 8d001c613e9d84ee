import { LRUCache } from 'lru-cache'

import type { Viewer } from '../domain/access/viewer.ts'
import type { Db } from '../store/database/schema.ts'
import { findTenantId } from '../store/access/tenants.ts'
import type { Clock } from '../util/clock.ts'
import type { OwnTokens } from './own-tokens.ts'
import { readClaims, type TokenClaims } from './token-claims.ts'
import { unauthenticated } from './unauthenticated.ts'
import { createTokenVerifier, readHeader, type TokenTrust } from './verify-token.ts'

/** Who holds a token. Undefined if the text is not a token. Throws UNAUTHENTICATED if the token is not valid. */
export type ViewerOfToken = (token: string) => Promise<Viewer | undefined>

interface Options {
  readonly clock: Clock
  /** The tenant of tokens that name none. */
  readonly tenantId: string
  readonly ownTokens: OwnTokens
  readonly trust: TokenTrust
}

const tenantMs = 1_000

export function createViewerOfToken(db: Db, options: Options): ViewerOfToken {
  const { clock, ownTokens, trust } = options
  const verify = createTokenVerifier(trust)
  const tenants = new LRUCache<string, string>({
    max: 1_000,
    ttl: tenantMs,
    fetchMethod: (name) => findTenantId(db, name),
  })

  async function tenantOf({ tenant }: TokenClaims): Promise<string> {
    const tenantId = tenant === null ? options.tenantId : await tenants.fetch(tenant)
    if (tenantId === undefined) throw unauthenticated(`There is no tenant "${tenant}", which the token names.`)
    return tenantId
  }

  return async (token) => {
    const header = readHeader(token)
    if (!header) return undefined
    const own = await ownTokens.verify(token, header.keyId)
    if (own) return toViewer(own, own)
    if (!verify) throw unauthenticated('This server accepts no tokens except its own.')
    const claims = readClaims(await verify(token, header.algorithm, clock.now()))
    return toViewer(claims, { tenantId: await tenantOf(claims), keyId: null })
  }
}

function toViewer(claims: TokenClaims, { tenantId, keyId }: Pick<Viewer, 'tenantId' | 'keyId'>): Viewer {
  const { subject, name, scopes, allowedAgentIds, allowedConversationIds, expiresAt } = claims
  const actor = { kind: 'PERSON', id: subject, name } as const
  return { tenantId, actor, scopes, allowedAgentIds, allowedConversationIds, expiresAt, keyId }
}
