export const apiScopes = ['READ', 'RUN', 'APPROVE', 'MANAGE'] as const
export type ApiScope = (typeof apiScopes)[number]

/** Who asks: one tenant's key, or the open loopback viewer. */
export interface Viewer {
  readonly tenantId: string
  /** Null for the open loopback viewer, who came without a key. */
  readonly keyId: string | null
  readonly keyName: string
  readonly scopes: readonly ApiScope[]
}
