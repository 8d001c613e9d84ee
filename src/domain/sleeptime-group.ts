/** Agents that study the foreground agent's conversation in the background. */
export interface SleeptimeGroup {
  readonly id: string
  readonly tenantId: string
  /** The foreground agent: it has one group at the most. */
  readonly agentId: string
  /** In the order in which they were named. */
  readonly sleeptimeAgentIds: readonly string[]
  readonly frequency: number
  readonly turns: number
}
