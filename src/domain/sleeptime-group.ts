/** Agents that study the foreground agent's conversation in the background. */
export interface SleeptimeGroup {
  readonly id: string
  readonly tenantId: string
  /** The foreground agent, which has at most one group. */
  readonly agentId: string
  /** In the order in which they were named. */
  readonly sleeptimeAgentIds: readonly string[]
  readonly frequency: number
  readonly turns: number
}
