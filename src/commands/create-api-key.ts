import { createSecret, hashSecret } from '../auth/api-key-secret.ts'
import type { Actor } from '../domain/actor.ts'
import { checkedApiKey, type ApiKey, type ApiKeyInput } from '../domain/api-key.ts'
import { insertApiKey } from '../store/api-keys.ts'
import type { CommandContext } from './command-context.ts'

export interface CreatedApiKey {
  readonly apiKey: ApiKey
  /** Only its hash is stored. */
  readonly secret: string
}

/** `createdBy` is null on the command line. */
export async function createApiKey(
  { db, clock, ids }: Pick<CommandContext, 'db' | 'clock' | 'ids'>,
  { tenantId, createdBy }: { readonly tenantId: string; readonly createdBy: Actor | null },
  input: ApiKeyInput,
): Promise<CreatedApiKey> {
  const createdAt = clock.now()
  const apiKey: ApiKey = {
    ...checkedApiKey('input', input, createdAt),
    id: ids.next(),
    tenantId,
    createdBy,
    createdAt,
    lastUsedAt: null,
    revokedAt: null,
  } as ApiKey
  const secret = createSecret()
  await insertApiKey(db, apiKey, hashSecret(secret))
  return { apiKey, secret }
}
