import { SignJWT } from 'jose'
import { LRUCache } from 'lru-cache'

import { encodeId, uuidOf } from '../domain/ids.ts'
import type { Viewer } from '../domain/access/viewer.ts'
import type { Db } from '../store/database/schema.ts'
import { findTokenSecret } from '../store/access/tenants.ts'
import type { Clock } from '../util/clock.ts'
import type { SecretBox } from '../util/secret-box.ts'
import { issuerKey, storedKeyOf } from './issuer-key.ts'
import { readClaims, writeClaims, type TokenClaims } from './token-claims.ts'
import { unauthenticated } from './unauthenticated.ts'
import { verifyToken } from './verify-token.ts'

/** Creates and verifies the tokens of `createToken`. */
export interface OwnTokens {
  /** A token of the viewer's tenant. */
  sign(viewer: Viewer, claims: Omit<TokenClaims, 'tenant'>): Promise<string>
  /** `keyId` is the token's header that names the secret that it is signed with. Undefined if it is not one of ours. */
  verify(token: string, keyId: string): Promise<(TokenClaims & Issuer) | undefined>
}

/** What a token is bound to: a tenant, and the API key of whoever asked for the token. */
type Issuer = Pick<Viewer, 'tenantId' | 'keyId'>

const algorithm = 'HS256'
const issuer = 'holdpoint'
/** How long a process may still accept tokens of a revoked key. */
const secretMs = 500

/**
 * Tokens are signed with a secret of the tenant, which is in the database, so that every process accepts them. A token
 * ends together with the key that created it: a stored key is looked up, and HOLDPOINT_API_KEY is part of the
 * signature.
 */
export function createOwnTokens(
  db: Db,
  options: { readonly clock: Clock; readonly secrets: SecretBox; readonly configuredHash?: Buffer | undefined },
): OwnTokens {
  const { clock, configuredHash } = options
  const issuerSecrets = new LRUCache<string, Uint8Array>({
    max: 1_000,
    ttl: secretMs,
    fetchMethod: (issuerKey) => secretOf(JSON.parse(issuerKey) as Issuer),
  })

  async function secretOf({ tenantId, keyId }: Issuer): Promise<Uint8Array | undefined> {
    const apiKeyId = storedKeyOf(keyId)
    if (apiKeyId === undefined) return undefined
    const secret = await findTokenSecret(db, options.secrets, { tenantId, apiKeyId })
    return secret === undefined ? undefined : issuerKey(secret, 'access token', { keyId, configuredHash })
  }

  const findSecret = ({ tenantId, keyId }: Issuer) => issuerSecrets.fetch(JSON.stringify({ tenantId, keyId }))

  return {
    async sign({ tenantId, keyId }, claims) {
      const secret = await findSecret({ tenantId, keyId })
      if (!secret) throw unauthenticated('The key is no longer valid.')
      return new SignJWT(writeClaims(claims))
        .setProtectedHeader({ alg: algorithm, typ: 'JWT', kid: shownIssuer({ tenantId, keyId }) })
        .setIssuer(issuer)
        .sign(secret)
    },
    async verify(token, header) {
      const from = readIssuer(header)
      if (!from) return undefined
      const secret = await findSecret(from)
      if (!secret) throw unauthenticated('The key that created the token is no longer valid.')
      const options = { issuer, algorithms: [algorithm], currentDate: clock.now() }
      return { ...readClaims(await verifyToken(token, secret, options)), ...from }
    },
  }
}

/** The `kid` of a token: `tenant_…`, or `tenant_…/key_…`. */
function shownIssuer({ tenantId, keyId }: Issuer): string {
  const tenant = encodeId('Tenant', tenantId)
  return keyId === null ? tenant : `${tenant}/${keyId}`
}

function readIssuer(header: string): Issuer | undefined {
  const [tenant = '', keyId = null] = header.split('/')
  const tenantId = uuidOf('Tenant', tenant)
  return tenantId === undefined ? undefined : { tenantId, keyId }
}
