import type { Actor } from './actor.ts'
import { badUserInput } from '../errors.ts'
import { checkedName } from '../input.ts'
import { apiScopes, type ApiScope } from './viewer.ts'

/** An API key without its secret, of which only a hash is stored. */
export interface ApiKey {
  readonly id: string
  readonly tenantId: string
  readonly name: string
  readonly scopes: readonly ApiScope[]
  /** Null if it was created on the command line. */
  readonly createdBy: Actor | null
  readonly createdAt: Date
  /** Accurate to a minute. */
  readonly lastUsedAt: Date | null
  readonly expiresAt: Date | null
  readonly revokedAt: Date | null
}

export interface ApiKeyInput {
  readonly name: string
  readonly scopes: readonly ApiScope[]
  readonly expiresAt?: Date | null | undefined
}

/** Checks the input and removes scopes that are given twice. `field` is the path of the input. */
export function checkedApiKey(
  field: string,
  input: ApiKeyInput,
  now: Date,
): Pick<ApiKey, 'name' | 'scopes' | 'expiresAt'> {
  const name = checkedName(`${field}.name`, input.name, { max: 200 })
  const expiresAt = input.expiresAt ?? null
  if (expiresAt !== null && expiresAt <= now) {
    throw badUserInput(`${field}.expiresAt`, `${expiresAt.toISOString()} is in the past. Give a later time, or null.`)
  }
  return { name, scopes: checkedScopes(`${field}.scopes`, input.scopes), expiresAt }
}

/** In the order of `apiScopes`. */
export function checkedScopes(field: string, scopes: readonly ApiScope[]): readonly ApiScope[] {
  if (scopes.length === 0) throw badUserInput(field, `Give at least one of ${apiScopes.join(', ')}.`)
  return apiScopes.filter((scope) => scopes.includes(scope))
}
