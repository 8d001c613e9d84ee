import { timingSafeEqual } from 'node:crypto'

import type { Kysely } from 'kysely'

import { openActor } from '../domain/actor.ts'
import { HoldpointError } from '../domain/errors.ts'
import { encodeId } from '../domain/ids.ts'
import { apiScopes, type Viewer } from '../domain/viewer.ts'
import { useApiKey } from '../store/api-keys.ts'
import type { Database } from '../store/schema.ts'
import { hashSecret, secretPrefix } from './api-key-secret.ts'

export interface AuthenticateOptions {
  /** The tenant of HOLDPOINT_API_KEY and of an open server. */
  readonly tenantId: string
  /** HOLDPOINT_API_KEY. */
  readonly apiKey: string | undefined
  /** Whether clients without a key may do everything. */
  readonly isOpen: boolean
}

/** Finds out who sends a request. A key is looked up each time, so a revoked key ends at once in every process. */
export function createAuthenticate(db: Kysely<Database>, { tenantId, apiKey, isOpen }: AuthenticateOptions) {
  const open: Viewer = { tenantId, actor: openActor, scopes: apiScopes, expiresAt: null, ...unlimited }
  const configured: Viewer = { ...open, actor: { kind: 'KEY', id: 'HOLDPOINT_API_KEY', name: 'HOLDPOINT_API_KEY' } }
  const configuredHash = apiKey === undefined ? undefined : hashSecret(apiKey)

  return async function authenticate(authorization: string | null): Promise<Viewer> {
    if (authorization === null) {
      if (isOpen) return open
      throw unauthenticated('This server needs a key.')
    }
    const [, secret] = /^Bearer (\S+)$/i.exec(authorization) ?? []
    if (secret === undefined) throw unauthenticated('The Authorization header must be `Bearer` and a key.')
    const hash = hashSecret(secret)
    // Hashes have the same length, so the comparison takes the same time for every key.
    if (configuredHash !== undefined && timingSafeEqual(hash, configuredHash)) return configured
    const key = secret.startsWith(secretPrefix) ? await useApiKey(db, hash) : undefined
    if (!key) throw unauthenticated('The key is unknown, revoked or expired.')
    return {
      tenantId: key.tenantId,
      actor: { kind: 'KEY', id: encodeId('ApiKey', key.id), name: key.name },
      scopes: key.scopes,
      expiresAt: key.expiresAt,
      ...unlimited,
    }
  }
}

const unlimited = { allowedAgentIds: null, allowedConversationIds: null }

function unauthenticated(reason: string): HoldpointError {
  return new HoldpointError(
    'UNAUTHENTICATED',
    `${reason} Send a valid key as \`Authorization: Bearer hp_…\`, on WebSockets in \`connection_init\`.`,
  )
}
