import type { Actor } from './actor.ts'

export const apiScopes = ['READ', 'RUN', 'APPROVE', 'MANAGE'] as const
export type ApiScope = (typeof apiScopes)[number]

/** The objects that a statement may find: those of a tenant, or the part that a viewer is limited to. */
export interface Reach {
  readonly tenantId: string
  /** Null or absent means all agents of the tenant. */
  readonly allowedAgentIds?: readonly string[] | null
  /** Null or absent means all conversations of the allowed agents. */
  readonly allowedConversationIds?: readonly string[] | null
}

/** Who is asking, and what they may do. */
export interface Viewer extends Required<Reach> {
  readonly actor: Actor
  readonly scopes: readonly ApiScope[]
  /** When the key or token expires. Null means never. */
  readonly expiresAt: Date | null
  /** The public id of the API key that the viewer uses, or that created the viewer's token. Null if there is none. */
  readonly keyId: string | null
}

/** Who waits while this viewer's JSON Schemas are evaluated. */
export function ownerOf({ tenantId, actor }: Viewer): string {
  return `${tenantId} ${actor.kind} ${actor.id}`
}

/** Whether some of the tenant's objects are out of reach. */
export function isLimited({ allowedAgentIds, allowedConversationIds }: Reach): boolean {
  return Boolean(allowedAgentIds || allowedConversationIds)
}

/** Whether an object of this agent and conversation is within reach. */
export function isWithin(
  { allowedAgentIds, allowedConversationIds }: Reach,
  { agentId, conversationId }: { readonly agentId: string; readonly conversationId: string },
): boolean {
  return (allowedAgentIds?.includes(agentId) ?? true) && (allowedConversationIds?.includes(conversationId) ?? true)
}
