import { badUserInput, HoldpointError } from '../domain/errors.ts'
import { checkedToken } from '../domain/runs/run-input.ts'
import type { Viewer } from '../domain/access/viewer.ts'
import { findIdempotencyKey, insertIdempotencyKey, type IdempotencyKey } from '../store/access/idempotency-keys.ts'
import { findRuns } from '../store/runs/runs.ts'
import type { Db, Trx } from '../store/database/schema.ts'
import { jsonHash, isJsonObject } from '../util/json.ts'
import { foundOne } from './found.ts'

/** An idempotency key, and the hash of the input that came with it. */
export interface KeyedInput {
  readonly key: IdempotencyKey
  readonly inputHash: string
}

/** Everything else in it is compared. */
export interface GivenInput {
  readonly idempotencyKey?: string | null | undefined
  readonly waitMs?: number
}

/**
 * `given` is the input of a mutation with its defaults filled in: an omitted field differs from null. Undefined if the
 * client gave no key.
 */
export function keyedInput({ tenantId, actor }: Viewer, mutation: string, given: GivenInput): KeyedInput | undefined {
  const { idempotencyKey, waitMs: _, ...input } = given
  const key = checkedToken('input.idempotencyKey', idempotencyKey)
  if (key === null) return undefined
  return { key: { tenantId, actor, mutation, key }, inputHash: jsonHash(input) }
}

/**
 * Fills in the defaults of omitted fields, also in nested inputs. Null is not a default, because a field that is null
 * differs from an omitted one.
 */
export function withDefaults<Input extends object>(input: Input, defaults: object): Input {
  const filled = { ...input } as Record<string, unknown>
  for (const [name, ofField] of Object.entries(defaults)) {
    const value = filled[name]
    if (isJsonObject(ofField) && (value === undefined || isJsonObject(value))) {
      filled[name] = withDefaults(value ?? {}, ofField)
    } else if (value === undefined && ofField !== null) filled[name] = ofField
  }
  return filled as Input
}

/** An idempotency key belongs to a whole mutation, and the inputs of some are part of the inputs of others. */
export function refuseNestedKey(place: string, input: GivenInput): void {
  if (typeof input.idempotencyKey !== 'string') return
  throw badUserInput(`${place}.idempotencyKey`, 'Expected only in the input of the mutation itself. Omit it here.')
}

/** The ids of what the same request made before. Undefined if it is new. */
export async function findEarlier(
  db: Db,
  keyed: KeyedInput | undefined,
  now: Date,
): Promise<readonly string[] | undefined> {
  const earlier = keyed && (await findIdempotencyKey(db, keyed.key, now))
  if (earlier && ![null, keyed.inputHash].includes(earlier.inputHash)) throw conflict(keyed.key.key)
  return earlier?.objectIds
}

/** The run that the same request started before. NOT_FOUND if it has been deleted. */
export async function findEarlierRun(
  trx: Trx,
  viewer: Viewer,
  request: { readonly keyed: KeyedInput | undefined; readonly now: Date },
): Promise<string | undefined> {
  const [id] = (await findEarlier(trx, request.keyed, request.now)) ?? []
  if (id !== undefined) await foundOne('Run', id, findRuns(trx, viewer, [id]))
  return id
}

/** Remembers what a request made, in the transaction that makes it: a request that fails leaves its key free. */
export async function remember(
  trx: Trx,
  keyed: KeyedInput | undefined,
  made: { readonly objectIds: readonly string[]; readonly now: Date },
): Promise<void> {
  if (keyed) await insertIdempotencyKey(trx, keyed.key, { ...made, inputHash: keyed.inputHash })
}

function conflict(key: string): HoldpointError {
  return new HoldpointError(
    'IDEMPOTENCY_CONFLICT',
    `The idempotency key "${key}" was used for another request. Use a new key, or send exactly what was sent with it.`,
  )
}
