import { createHash } from 'node:crypto'

import type { Transaction } from 'kysely'

import { HoldpointError } from '../domain/errors.ts'
import { findIdempotencyKey, insertIdempotencyKey, type IdempotencyKey } from '../store/idempotency-keys.ts'
import type { Database } from '../store/database/schema.ts'
import { canonicalJson, type Json } from '../util/json.ts'

/** An idempotency key, and the hash of the request that was made with it. */
export interface KeyedInput {
  readonly key: IdempotencyKey
  readonly hash: Buffer
}

export function keyedInput(key: IdempotencyKey, input: object): KeyedInput {
  // Hashes the JSON, so that omitted and undefined fields are equal.
  const plain = JSON.parse(JSON.stringify(input)) as Json
  return { key, hash: createHash('sha256').update(canonicalJson(plain)).digest() }
}

/** The run that the same request started before. Undefined if this is the first request with the key. */
export async function findEarlierRun(
  trx: Transaction<Database>,
  { key, hash }: KeyedInput,
  now: Date,
): Promise<string | undefined> {
  const earlier = await findIdempotencyKey(trx, key, now)
  if (earlier && !earlier.inputHash.equals(hash)) throw conflict(key.key)
  return earlier?.runId
}

export async function rememberRun(
  trx: Transaction<Database>,
  { key, hash }: KeyedInput,
  taken: { readonly runId: string; readonly now: Date },
): Promise<void> {
  // A request with the same content waits for the same lock and finds the key. So if the key was taken just now, that
  // request was a different one.
  if (!(await insertIdempotencyKey(trx, key, { inputHash: hash, ...taken }))) throw conflict(key.key)
}

function conflict(key: string): HoldpointError {
  return new HoldpointError(
    'IDEMPOTENCY_CONFLICT',
    `The idempotency key "${key}" was used for another request. Use a new key, or send exactly what was sent with it.`,
  )
}
