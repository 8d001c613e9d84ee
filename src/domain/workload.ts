/** How much is waiting and running in the whole installation, in all processes and for all tenants. */
export interface Workload {
  /** Runs that any worker may claim now. */
  readonly claimableRuns: number
  /** Runs that wait for an earlier run of their conversation. */
  readonly runsBehind: number
  readonly drivenRuns: number
  /** Age of the oldest run that a worker could claim. 0 if there is none. */
  readonly oldestClaimableSeconds: number
  readonly waitingApprovals: number
  readonly waitingClientCalls: number
  /** Age of the oldest tool call that waits for a person. 0 if there is none. */
  readonly oldestApprovalSeconds: number
  readonly workers: number
  readonly capacity: number
}
