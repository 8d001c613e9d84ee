import { createHmac } from 'node:crypto'

import { uuidOf } from '../domain/ids.ts'

/** HOLDPOINT_API_KEY has no row in the database. This is its id and its name. */
export const configuredKeyId = 'HOLDPOINT_API_KEY'

/** The row of an API key. Null if there is none, because no key is named or it is HOLDPOINT_API_KEY. Undefined: no id. */
export function storedKeyOf(keyId: string | null): string | null | undefined {
  return keyId === null || keyId === configuredKeyId ? null : uuidOf('ApiKey', keyId)
}

/**
 * Derives a key for one purpose from a tenant's secret. What HOLDPOINT_API_KEY issued ends when that is changed, so its
 * hash is part of the key. Undefined if it is not set any more.
 */
export function issuerKey(
  secret: string,
  purpose: 'access token' | 'decision link',
  { keyId, configuredHash }: { readonly keyId: string | null; readonly configuredHash: Buffer | undefined },
): Buffer | undefined {
  const key = createHmac('sha256', secret).update(purpose)
  if (keyId !== configuredKeyId) return key.digest()
  return configuredHash && key.update(configuredHash).digest()
}
