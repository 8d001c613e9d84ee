import { createSecret, hashSecret } from '../../auth/api-key-secret.ts'
import type { Actor } from '../../domain/access/actor.ts'
import { checkedApiKey, type ApiKey, type ApiKeyInput } from '../../domain/access/api-key.ts'
import { findApiKeys, insertApiKey, setApiKeyRevoked } from '../../store/access/api-keys.ts'
import { transact } from '../../store/database/transact.ts'
import type { CommandContext } from '../command-context.ts'
import { changeOf, recordChange, type ChangedBy } from '../record-change.ts'
import { notFound } from '../../domain/errors.ts'
import { encodeId } from '../../domain/ids.ts'
import type { Reach } from '../../domain/access/viewer.ts'

export interface CreatedApiKey {
  readonly apiKey: ApiKey
  /** The key itself. Only its hash is stored. */
  readonly secret: string
}

/** `createdBy` is null on the command line. */
export async function createApiKey(
  context: Pick<CommandContext, 'db' | 'clock' | 'ids'>,
  { tenantId, createdBy }: { readonly tenantId: string; readonly createdBy: Actor | null },
  input: ApiKeyInput,
): Promise<CreatedApiKey> {
  const createdAt = context.clock.now()
  const apiKey: ApiKey = {
    ...checkedApiKey('input', input, createdAt),
    id: context.ids.next(),
    tenantId,
    createdBy,
    createdAt,
    lastUsedAt: null,
    revokedAt: null,
  }
  const secret = createSecret()
  await transact(context, async (trx) => {
    await insertApiKey(trx, apiKey, hashSecret(secret))
    const by = { tenantId, actor: createdBy }
    await recordChange(context, trx, by, changeOf('createApiKey', 'ApiKey', null, apiKey))
  })
  return { apiKey, secret }
}

/** Revoking a revoked key succeeds and changes nothing. Open sockets of the key are closed within seconds. */
export async function revokeApiKey(
  context: Pick<CommandContext, 'db' | 'clock' | 'ids'>,
  by: Reach & ChangedBy,
  id: string,
): Promise<ApiKey> {
  return transact(context, async (trx) => {
    const [before] = await findApiKeys(trx, by, [id])
    const key = await setApiKeyRevoked(trx, by, id, context.clock.now())
    if (!before || !key) throw notFound('API key', encodeId('ApiKey', id))
    await recordChange(context, trx, by, changeOf('revokeApiKey', 'ApiKey', before, key))
    return key
  })
}
