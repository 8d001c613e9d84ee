import type { Kysely } from 'kysely'

import type { Database } from './store/database/schema.ts'
import { findForeignSecret, resealSecrets } from './store/stored-secrets.ts'
import { transact } from './store/transact.ts'
import type { Log } from './util/log.ts'
import { lackingKey, type SecretBox } from './util/secret-box.ts'
import { StartError } from './util/start-error.ts'

/**
 * Stops the start if stored secrets cannot be decrypted. Then encrypts those that are plain, or encrypted with an older
 * key, with the first key. Every process does this when it starts.
 */
export async function protectSecrets(db: Kysely<Database>, secrets: SecretBox, log: Log): Promise<void> {
  const foreign = await findForeignSecret(db, secrets)
  if (foreign !== undefined) {
    throw new StartError(`${lackingKey(foreign)} Add that key to the list, after the one that is to encrypt.`)
  }
  const resealed = await transact({ db }, (trx) => resealSecrets(trx, secrets))
  if (resealed > 0) log.info({ resealed }, 'stored secrets were encrypted with the first key of HOLDPOINT_SECRET_KEY')
}
