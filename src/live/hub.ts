/** Where the readers of a process hear of what its writers did. Written out in full with the stream itself. */
export interface Hub {
  /** Something about this run was committed: its readers look again. Never awaited by who writes. */
  poke(runId: string): void
  /** Calls `listener` on every poke of the run until the returned function is called. */
  listen(runId: string, listener: () => void): () => void
}
