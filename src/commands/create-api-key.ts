import { createSecret, hashSecret } from '../auth/api-key-secret.ts'
import type { Actor } from '../domain/access/actor.ts'
import { checkedApiKey, type ApiKey, type ApiKeyInput } from '../domain/access/api-key.ts'
import { insertApiKey } from '../store/api-keys.ts'
import { transact } from '../store/transact.ts'
import type { CommandContext } from './command-context.ts'
import { recordChange } from './record-change.ts'

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
  } as ApiKey
  const secret = createSecret()
  await transact(context, async (trx) => {
    await insertApiKey(trx, apiKey, hashSecret(secret))
    const change = { action: 'createApiKey', before: null, after: apiKey } as const
    await recordChange(context, trx, { tenantId, actor: createdBy }, { subject: ['ApiKey', apiKey.id], ...change })
  })
  return { apiKey, secret }
}
