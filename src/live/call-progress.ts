import { keepNewest } from '../util/keep-newest.ts'
import type { ToolCallProgress } from '../domain/tools/tool-call.ts'

/** More runs than any process drives. Those of processes that died are forgotten when there are more. */
const maxRuns = 10_000

/** What the running calls of all processes last reported, by run and call. */
export class CallProgress {
  readonly #runs = new Map<string, Map<string, ToolCallProgress>>()

  of(runId: string): ReadonlyMap<string, ToolCallProgress> | undefined {
    return this.#runs.get(runId)
  }

  /** Undefined once the call has ended. */
  set(runId: string, callId: string, progress: ToolCallProgress | undefined): void {
    const calls = this.#runs.get(runId) ?? new Map<string, ToolCallProgress>()
    if (progress) calls.set(callId, progress)
    else calls.delete(callId)
    this.#runs.delete(runId)
    if (calls.size > 0) this.#runs.set(runId, calls)
    keepNewest(this.#runs, maxRuns)
  }
}
