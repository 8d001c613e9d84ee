export const retainedKinds = ['logs', 'runs', 'archived', 'audit'] as const
/** What may be deleted when it is old: run logs, ended runs, archived conversations, audit entries. */
export type RetainedKind = (typeof retainedKinds)[number]

/** What the background deletes: what is old, and the rows of what a client deleted. */
export type DeletedKind = RetainedKind | 'deleted'

/**
 * How long each kind is kept, in milliseconds. Null means forever. If a kind is absent, the next wider rule applies.
 */
export type RetentionRule = Partial<Readonly<Record<RetainedKind, number | null>>>

export interface RetentionRules {
  readonly defaults: RetentionRule
  /** By the tenant's name. */
  readonly tenants: Readonly<Record<string, RetentionRule>>
  /** By the agent's UUID. They take precedence over the tenant's. */
  readonly agents: Readonly<Record<string, RetentionRule>>
}

/** The rows of a kind that are deleted if they are older than `before`. */
export interface RetentionScope {
  readonly of: { readonly tenantId: string; readonly exceptAgentIds: readonly string[] } | { readonly agentId: string }
  readonly before: Date
}

export function retentionScopes(
  rules: RetentionRules,
  kind: RetainedKind,
  tenants: readonly { readonly id: string; readonly name: string }[],
  now: Date,
): RetentionScope[] {
  const scopes: RetentionScope[] = []
  const add = (of: RetentionScope['of'], keptMs: number | null | undefined) => {
    if (typeof keptMs === 'number') scopes.push({ of, before: new Date(now.getTime() - keptMs) })
  }
  const own = Object.entries(rules.agents).filter(([, rule]) => rule[kind] !== undefined)
  const exceptAgentIds = own.map(([agentId]) => agentId)
  for (const { id: tenantId, name } of tenants) {
    const keptMs = rules.tenants[name]?.[kind]
    add({ tenantId, exceptAgentIds }, keptMs === undefined ? rules.defaults[kind] : keptMs)
  }
  // Audit entries belong to a tenant, not to an agent.
  if (kind !== 'audit') for (const [agentId, rule] of own) add({ agentId }, rule[kind])
  return scopes
}
