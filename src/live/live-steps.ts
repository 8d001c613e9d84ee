import type { ShownStep } from '../domain/runs/live-step.ts'

/** The live steps that this process knows: its own, and copies of those that other processes write. */
export class LiveSteps {
  readonly #own = new Map<string, ShownStep>()
  readonly #copies = new Map<string, ShownStep>()

  /** A worker that was replaced may still be writing, so the step with the later seq wins. */
  get(runId: string): ShownStep | undefined {
    const own = this.#own.get(runId)
    const copy = this.#copies.get(runId)
    return own && copy ? (own.seq >= copy.seq ? own : copy) : (own ?? copy)
  }

  own(runId: string): ShownStep | undefined {
    return this.#own.get(runId)
  }

  setOwn(runId: string, step: ShownStep): void {
    this.#own.set(runId, step)
  }

  /** Does nothing if another step has taken this one's place. */
  endOwn(runId: string, step: ShownStep): void {
    if (this.#own.get(runId) === step) this.#own.delete(runId)
  }

  setCopy(runId: string, step: ShownStep): void {
    this.#copies.set(runId, step)
  }

  dropCopy(runId: string): void {
    this.#copies.delete(runId)
  }
}
