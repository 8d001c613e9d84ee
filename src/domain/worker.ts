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
