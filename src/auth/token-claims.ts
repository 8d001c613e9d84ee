import type { JWTPayload } from 'jose'

import { encodeId, uuidOf } from '../domain/ids.ts'
import { apiScopes, type ApiScope, type Reach } from '../domain/access/viewer.ts'
import { storableText } from '../util/json.ts'
import { unauthenticated } from './unauthenticated.ts'

/** What a token says about the person who holds it. */
export interface TokenClaims extends Required<Omit<Reach, 'tenantId'>> {
  readonly subject: string
  readonly name: string
  /** The name of a tenant. Null means the default tenant. */
  readonly tenant: string | null
  readonly scopes: readonly ApiScope[]
  readonly expiresAt: Date
}

const maxLength = 200

/**
 * Reads the claims of a token whose signature and expiry were verified. docs/access.md lists them. A claim that cannot
 * be understood makes the whole token invalid: ignoring it might grant more than was intended.
 */
export function readClaims(payload: JWTPayload): TokenClaims {
  const subject = textClaim(payload, 'sub')
  if (subject === null) throw unauthenticated('The token has no subject: the claim `sub` is missing.')
  return {
    subject,
    name: textClaim(payload, 'name') ?? subject,
    tenant: textClaim(payload, 'tenant'),
    scopes: scopesOf(payload['scopes'] ?? payload.scope),
    allowedAgentIds: idsClaim(payload, 'agents', 'Agent'),
    allowedConversationIds: idsClaim(payload, 'conversations', 'Conversation'),
    expiresAt: expiryOf(payload),
  }
}

/** The claims that `readClaims` reads back. */
export function writeClaims(claims: Omit<TokenClaims, 'tenant'>): JWTPayload {
  const { subject, name, scopes, allowedAgentIds: agents, allowedConversationIds: conversations, expiresAt } = claims
  return {
    sub: subject,
    name,
    scopes,
    ...(agents && { agents: agents.map((id) => encodeId('Agent', id)) }),
    ...(conversations && { conversations: conversations.map((id) => encodeId('Conversation', id)) }),
    exp: Math.floor(expiresAt.getTime() / 1000),
  }
}

function textClaim(payload: JWTPayload, claim: string): string | null {
  const value = payload[claim] ?? null
  if (value === null) return null
  // Unchanged, because two names that differ must not become the same.
  if (isText(value) && storableText(value) === value && value.trim() !== '' && value.length <= maxLength) return value
  throw unauthenticated(`The token's claim \`${claim}\` must be a text of 1 to ${maxLength} characters, without NUL.`)
}

/** Later times have no place in a DateTime. */
const latest = Date.parse('9999-12-31T23:59:59Z')

/** The signature was verified together with the presence and type of `exp`. */
function expiryOf({ exp = Infinity }: JWTPayload): Date {
  if (exp * 1000 <= latest) return new Date(exp * 1000)
  throw unauthenticated("The token's claim `exp` must be a time before the year 10000, in seconds since 1970.")
}

function isText(value: unknown): value is string {
  return typeof value === 'string'
}

/** A list, or a text with spaces between the scopes, as in OAuth. Scopes of other services are ignored. */
function scopesOf(value: unknown): readonly ApiScope[] {
  const given = isText(value) ? value.split(' ') : (value ?? [])
  if (!Array.isArray(given) || !given.every(isText))
    throw unauthenticated("The token's claim `scopes` must be a list of texts.")
  const names = new Set(given.map((scope) => scope.toUpperCase()))
  return apiScopes.filter((scope) => names.has(scope))
}

/** Null if the token has no such claim. An empty list allows nothing. */
function idsClaim(payload: JWTPayload, claim: string, kind: 'Agent' | 'Conversation'): readonly string[] | null {
  const value = payload[claim] ?? payload[`allowed${kind}Ids`] ?? null
  if (value === null) return null
  const ids: readonly unknown[] = Array.isArray(value) ? value : [value]
  return ids.map((id) => {
    const uuid = Array.isArray(value) && isText(id) ? uuidOf(kind, id) : undefined
    if (uuid !== undefined) return uuid
    throw unauthenticated(`The token's claim \`${claim}\` must be a list of ids such as ${encodeId(kind, zeros)}.`)
  })
}

const zeros = '00000000-0000-0000-0000-000000000000'
