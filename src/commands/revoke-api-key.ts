import type { ApiKey } from '../domain/access/api-key.ts'
import { notFound } from '../domain/errors.ts'
import { encodeId } from '../domain/ids.ts'
import type { Reach } from '../domain/access/viewer.ts'
import { findApiKeys, setApiKeyRevoked } from '../store/api-keys.ts'
import { transact } from '../store/transact.ts'
import type { CommandContext } from './command-context.ts'
import { recordChange, type ChangedBy } from './record-change.ts'

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
    const change = { before, after: key }
    await recordChange(context, trx, by, { action: 'revokeApiKey', subject: ['ApiKey', id], ...change })
    return key
  })
}
