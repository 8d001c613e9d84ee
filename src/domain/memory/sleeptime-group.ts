/** Agents that read the foreground agent's conversations in the background. */
export interface SleeptimeGroup {
  readonly id: string
  readonly tenantId: string
  /** The foreground agent, which has at most one group. */
  readonly agentId: string
  /** In the given order. */
  readonly sleeptimeAgentIds: readonly string[]
  readonly frequency: number
  readonly turns: number
}
