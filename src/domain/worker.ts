/** After this time without a heartbeat a worker counts as dead, and others take over its runs. */
export const silenceMs = 30_000

/** What a process can drive runs with. */
export interface WorkerAbilities {
  /** Names of the model providers that it can reach. */
  readonly providers: readonly string[]
  /** Names of the tools that are part of its code. */
  readonly tools: readonly string[]
}

/** A process that drives runs, as it describes itself when it starts. */
export interface WorkerProcess extends WorkerAbilities {
  readonly hostname: string
  readonly version: string
  readonly capacity: number
}

/** A process that drives runs, as other processes see it. */
export interface Worker {
  readonly id: string
  readonly hostname: string
  readonly version: string
  readonly capacity: number
  readonly activeRunCount: number
  readonly startedAt: Date
  readonly lastSeenAt: Date
}

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
