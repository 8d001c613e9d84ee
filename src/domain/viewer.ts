import type { Actor } from './actor.ts'

export const apiScopes = ['READ', 'RUN', 'APPROVE', 'MANAGE'] as const
export type ApiScope = (typeof apiScopes)[number]

/** Who is asking, and what they may do. */
export interface Viewer {
  readonly tenantId: string
  readonly actor: Actor
  readonly scopes: readonly ApiScope[]
  /** When the key or token expires. Null means never. */
  readonly expiresAt: Date | null
}
