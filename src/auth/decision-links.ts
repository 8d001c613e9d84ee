import { createHmac, timingSafeEqual } from 'node:crypto'

import { decodeId, encodeId } from '../domain/ids.ts'
import type { Decision } from '../domain/tools/tool-call.ts'
import { findTokenSecret } from '../store/access/tenants.ts'
import type { Db } from '../store/database/schema.ts'
import type { Json } from '../util/json.ts'
import type { SecretBox } from '../util/secret-box.ts'
import { issuerKey, storedKeyOf } from './issuer-key.ts'
import { unauthenticated } from './unauthenticated.ts'

/** What a link says: this person may decide this call until that time. */
export interface DecisionLink {
  readonly tenantId: string
  /** The API key that made the link. Null if there was none. */
  readonly keyId: string | null
  readonly toolCallId: string
  readonly person: { readonly id: string; readonly name: string }
  readonly expiresAt: Date
}

export interface DecisionLinks {
  /** The token in the link's address. */
  sign(link: DecisionLink): Promise<string>
  /** Undefined unless this server made the token. `isRevoked` says that the key that made it was revoked. */
  open(token: string): Promise<(DecisionLink & { readonly isRevoked: boolean }) | undefined>
}

/** What the page of a link shows. */
export interface DecisionView {
  readonly personName: string
  readonly agentName: string
  readonly toolName: string
  readonly arguments: Json
  /** Who started the run. */
  readonly askedBy: string | null
  readonly askedAt: Date
  /** Until when the person can decide: the link or the call expires. */
  readonly until: Date
  /** Who has approved so far, and how many must. */
  readonly approvedBy: readonly string[]
  readonly approvalsRequired: number
  readonly state: DecisionState
}

export type DecisionState =
  | { readonly kind: 'open'; readonly mayApprove: boolean; readonly hasApproved: boolean }
  | {
      readonly kind: 'decided'
      readonly decision: Decision['kind']
      readonly by: string | null
      readonly at: Date
      readonly reason: string | null
    }
  | { readonly kind: 'closed'; readonly why: 'cancelled' | 'expired' | 'revoked' }

/**
 * Links are signed with the tenant's secret for tokens, but are no tokens: the key is derived for links alone. Changing
 * HOLDPOINT_API_KEY ends the links that it made.
 */
export function createDecisionLinks(
  db: Db,
  { secrets, configuredHash }: { readonly secrets: SecretBox; readonly configuredHash?: Buffer | undefined },
): DecisionLinks {
  async function signatureOf(claims: string, { tenantId, keyId }: Pick<DecisionLink, 'tenantId' | 'keyId'>) {
    const secret = await findTokenSecret(db, secrets, { tenantId, apiKeyId: null })
    const key = secret === undefined ? undefined : issuerKey(secret, 'decision link', { keyId, configuredHash })
    return key && createHmac('sha256', key).update(claims).digest('base64url')
  }

  return {
    async sign(link) {
      const { tenantId, keyId, toolCallId, person, expiresAt } = link
      const ids = [encodeId('Tenant', tenantId), keyId, encodeId('ToolCall', toolCallId)]
      const claims = JSON.stringify([...ids, person.id, person.name, expiresAt.getTime()])
      const encoded = Buffer.from(claims).toString('base64url')
      const signature = await signatureOf(encoded, link)
      if (signature === undefined) throw unauthenticated('The key is no longer valid.')
      return `${encoded}.${signature}`
    },
    async open(token) {
      // Compared as they are written: several texts have the same bytes in base64.
      const [claims = '', signature = '', ...rest] = token.split('.')
      const link = readClaims(Buffer.from(claims, 'base64url').toString())
      if (!link || rest.length > 0) return undefined
      const expected = await signatureOf(claims, link)
      if (expected?.length !== signature.length) return undefined
      if (!timingSafeEqual(Buffer.from(expected, 'utf16le'), Buffer.from(signature, 'utf16le'))) return undefined
      const { tenantId, keyId } = link
      const apiKeyId = storedKeyOf(keyId)
      const isValid =
        apiKeyId !== undefined && (await findTokenSecret(db, secrets, { tenantId, apiKeyId })) !== undefined
      return { ...link, isRevoked: !isValid }
    },
  }
}

/** Anybody may have written it: only the signature says that it is ours. */
function readClaims(text: string): DecisionLink | undefined {
  try {
    const [tenant, keyId, call, id, name, expires] = JSON.parse(text) as [
      string,
      string | null,
      string,
      string,
      string,
      number,
    ]
    const [ofTenant, ofCall] = [decodeId(tenant), decodeId(call)]
    if (ofTenant?.kind !== 'Tenant' || ofCall?.kind !== 'ToolCall') return undefined
    const expiresAt = new Date(expires)
    return { tenantId: ofTenant.uuid, keyId, toolCallId: ofCall.uuid, person: { id, name }, expiresAt }
  } catch {
    return undefined
  }
}
