import type { ApiKey } from '../domain/api-key.ts'
import { notFound } from '../domain/errors.ts'
import { encodeId } from '../domain/ids.ts'
import type { Reach } from '../domain/viewer.ts'
import { setApiKeyRevoked } from '../store/api-keys.ts'
import type { CommandContext } from './command-context.ts'

/** Revoking a revoked key succeeds and changes nothing. Open sockets of the key are closed within seconds. */
export async function revokeApiKey(
  { db, clock }: Pick<CommandContext, 'db' | 'clock'>,
  reach: Reach,
  id: string,
): Promise<ApiKey> {
  const key = await setApiKeyRevoked(db, reach, id, clock.now())
  if (!key) throw notFound('API key', encodeId('ApiKey', id))
  return key
}
