import { timingSafeEqual } from 'node:crypto'

import { openActor } from '../domain/access/actor.ts'
import { encodeId } from '../domain/ids.ts'
import { apiScopes, type Viewer } from '../domain/access/viewer.ts'
import { useApiKey } from '../store/access/api-keys.ts'
import type { Db } from '../store/database/schema.ts'
import { hashSecret, secretPrefix } from './api-key-secret.ts'
import { configuredKeyId } from './issuer-key.ts'
import type { ViewerOfToken } from './viewer-of-token.ts'
import { unauthenticated } from './unauthenticated.ts'

export interface AuthenticateOptions {
  /** The tenant of HOLDPOINT_API_KEY and of an open server. */
  readonly tenantId: string
  /** HOLDPOINT_API_KEY. */
  readonly apiKey: string | undefined
  /** Whether clients without a key may do everything. */
  readonly isOpen: boolean
  readonly viewerOfToken: ViewerOfToken
}

/** Finds out who sends a request. A key is looked up each time, so a revoked key ends at once in every process. */
export function createAuthenticate(db: Db, options: AuthenticateOptions) {
  const { tenantId, apiKey, isOpen, viewerOfToken } = options
  const open: Viewer = { tenantId, actor: openActor, scopes: apiScopes, expiresAt: null, keyId: null, ...unlimited }
  const configuredActor = { kind: 'KEY', id: configuredKeyId, name: configuredKeyId } as const
  const configured: Viewer = { ...open, actor: configuredActor, keyId: configuredKeyId }
  const configuredHash = apiKey === undefined ? undefined : hashSecret(apiKey)

  return async function authenticate(authorization: string | null): Promise<Viewer> {
    if (authorization === null) {
      if (isOpen) return open
      throw unauthenticated('This server requires a key.')
    }
    const [, secret] = /^Bearer (\S+)$/i.exec(authorization) ?? []
    if (secret === undefined) throw unauthenticated('The Authorization header must be `Bearer` and a key or token.')
    const hash = hashSecret(secret)
    // Hashes have the same length, so the comparison takes the same time for every key.
    if (configuredHash !== undefined && timingSafeEqual(hash, configuredHash)) return configured
    const viewer = secret.startsWith(secretPrefix) ? await viewerOfKey(db, hash) : await viewerOfToken(secret)
    if (!viewer) throw unauthenticated('The key is unknown, revoked or expired.')
    return viewer
  }
}

async function viewerOfKey(db: Db, hash: Buffer): Promise<Viewer | undefined> {
  const key = await useApiKey(db, hash)
  if (!key) return undefined
  const { tenantId, name, scopes, expiresAt } = key
  const id = encodeId('ApiKey', key.id)
  return { tenantId, actor: { kind: 'KEY', id, name }, scopes, expiresAt, keyId: id, ...unlimited }
}

const unlimited = { allowedAgentIds: null, allowedConversationIds: null }
