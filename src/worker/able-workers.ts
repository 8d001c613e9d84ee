import type { RunState } from '../domain/runs/run-state.ts'
import type { WorkerAbilities } from '../domain/worker.ts'
import type { EngineContext } from '../engine/engine-context.ts'
import { hasAbleWorker } from '../store/workers/workers.ts'

/** How long this worker skips the runs of an agent before it checks one of them again. */
const leftForMs = 5_000

/**
 * Knows the agents whose runs this worker leaves to others, because another worker has a model provider or a tool that
 * this one lacks. If no worker has it, this one drives the run, which then fails with an error that says why.
 */
export class AbleWorkers {
  readonly #db: EngineContext['db']
  readonly #own: { readonly id: string; readonly providers: ReadonlySet<string>; readonly tools: ReadonlySet<string> }
  readonly #leftUntil = new Map<string, number>()

  constructor(db: EngineContext['db'], workerId: string, { providers, tools }: WorkerAbilities) {
    this.#db = db
    this.#own = { id: workerId, providers: new Set(providers), tools: new Set(tools) }
  }

  /** The agents whose runs must not be claimed now. */
  get leftAgentIds(): string[] {
    const now = performance.now()
    for (const [agentId, until] of this.#leftUntil) if (until <= now) this.#leftUntil.delete(agentId)
    return [...this.#leftUntil.keys()]
  }

  /** Whether another worker should drive the run. Needs no query if this worker has everything that the run needs. */
  async shouldLeave({ agent, tools }: RunState): Promise<boolean> {
    const needed: WorkerAbilities = {
      providers: [agent.model.slice(0, Math.max(0, agent.model.indexOf('/')))],
      tools: tools.filter(({ tool }) => tool.kind === 'BUILTIN').map(({ tool }) => tool.name),
    }
    const hasAll =
      needed.providers.every((name) => this.#own.providers.has(name)) &&
      needed.tools.every((name) => this.#own.tools.has(name))
    if (hasAll || !(await hasAbleWorker(this.#db, needed, { exceptId: this.#own.id }))) return false
    this.#leftUntil.set(agent.id, performance.now() + leftForMs)
    return true
  }
}
