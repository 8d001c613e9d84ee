import type { ApiScope } from './viewer.ts'

/** What may be shown of a key: its secret is stored hashed. */
export interface ApiKey {
  readonly id: string
  readonly tenantId: string
  readonly name: string
  readonly scopes: readonly ApiScope[]
  readonly createdAt: Date
  readonly lastUsedAt: Date | null
  readonly revokedAt: Date | null
}
