import { setImmediate as turn } from 'node:timers/promises'

import { sql } from 'kysely'
import pg from 'pg'

import { cancelRun } from '../../src/commands/runs/cancel-run.ts'
import type { CommandContext } from '../../src/commands/command-context.ts'
import { retryRun } from '../../src/commands/retry-run.ts'
import type { AdmissionOutcome } from '../../src/commands/admit.ts'
import { sendMessage, type SendMessageInput } from '../../src/commands/send-message.ts'
import type { JsonObject } from '../../src/util/json.ts'
import { submitApprovals } from '../../src/commands/submit-approvals.ts'
import type { GivenDecision } from '../../src/domain/approvals/decisions.ts'
import { encodeId } from '../../src/domain/ids.ts'
import { LeaseLostError } from '../../src/engine/commit.ts'
import { driveRun } from '../../src/engine/drive-run.ts'
import type { EngineContext } from '../../src/engine/engine-context.ts'
import { claimRuns, claimSuspect } from '../../src/store/workers/claim-runs.ts'
import { freeRunsOfTheDead } from '../../src/store/workers/leases.ts'
import { deleteWorker, insertWorker } from '../../src/store/workers/workers.ts'
import { defineTool, type ToolDefinition } from '../../src/tools/registry.ts'
import { deferred, type Deferred } from '../../src/util/deferred.ts'
import { createEngineGround, type EngineGround } from './engine-ground.ts'
import { hookDatabase } from './gated-database.ts'
import { createGatedModel, gatedHandle, type GatedModel, type ModelCall } from './gated-model.ts'
import { faultOfRequest } from './well-formed.ts'
import { testWorker } from './worker-process.ts'

/**
 * A process that may be killed. From then on, none of its statements is executed and none of its answers is received.
 */
export interface SmallProcess {
  readonly workerId: string
  readonly context: EngineContext & CommandContext
  readonly draining: AbortController
  readonly letGo: AbortController
  dead: boolean
  /** Executes the next statement, and kills the process before it gets the result. */
  diesAfterNext: boolean
}

interface Parked {
  readonly process: SmallProcess
  readonly statement: string
  readonly gate: Deferred<void>
}

interface RunningTool {
  readonly process: SmallProcess
  readonly finish: Deferred<string>
}

class Crash extends Error {}

export interface Sent {
  readonly text: string
  /** Undefined if the process died before the client had an answer. */
  outcome: AdmissionOutcome | undefined
}

export type Answer =
  | { readonly type: 'say' }
  | { readonly type: 'fail'; readonly refused: boolean }
  | { readonly type: 'break off' }
  | { readonly type: 'answer'; readonly calls: readonly string[]; readonly thinks: boolean }

/**
 * Processes, clients, a queue and a model, of which nothing moves unless the test says so: every statement of every
 * process waits to be let through, every model call to be answered, every tool to be finished. A choice is a number,
 * taken modulo the number of possibilities.
 */
export class World {
  readonly sent: Sent[] = []
  /** Follow-ups that were accepted. */
  readonly followUps: string[] = []
  /** How often each call was executed, by its idempotency key. */
  readonly executions = new Map<string, number>()
  /** Faults that must never happen. */
  readonly faults: string[] = []
  readonly #shared: SharedWorld
  readonly #processes: SmallProcess[] = []
  readonly #stalled: SmallProcess[] = []
  #parked: Parked[] = []
  #calls: ModelCall[] = []
  #tools: RunningTool[] = []
  #executing = 0
  /** Resolved when the next statement has ended. */
  #statementEnd = deferred()
  #actors = 0
  #texts = 0
  #conversationId = ''

  constructor(shared: SharedWorld) {
    this.#shared = shared
  }

  get conversationId(): string {
    return this.#conversationId
  }

  async open(processes: number): Promise<void> {
    const { conversationId } = await this.#shared.ground.createAgent()
    this.#conversationId = conversationId
    for (let name = 0; name < processes; name++) await this.#startProcess(name)
  }

  /** Kills everything that is still running. */
  async close(): Promise<void> {
    for (const process of [...this.#processes, ...this.#stalled]) this.crash(process)
    await this.quiet()
    // Other worlds share the queue and must not find what is left here.
    const { db } = this.#shared.ground.database
    const ended = { status: 'CANCELLED', finished_at: new Date(), lease: null, worker_id: null } as const
    await db.updateTable('runs').set(ended).where('conversation_id', '=', this.conversationId).execute()
  }

  async #startProcess(name: number): Promise<void> {
    const { ground, ids, pool } = this.#shared
    const process = {
      workerId: ids.next(),
      draining: new AbortController(),
      letGo: new AbortController(),
      dead: false,
      diesAfterNext: false,
    } as { -readonly [Key in keyof SmallProcess]: SmallProcess[Key] }
    const db = hookDatabase(pool, {
      before: async (statement) => {
        await this.#park(process, statement)
        this.#executing += 1
      },
      after: () => {
        this.#endStatement()
        if (process.diesAfterNext) this.crash(process)
        if (process.dead) throw new Crash()
      },
      failed: () => this.#endStatement(),
    })
    process.context = ground.process(db, this.#toolsOf(process))
    await insertWorker(ground.database.db, process.workerId, testWorker)
    this.#processes[name] = process
  }

  #toolsOf(process: SmallProcess): ToolDefinition[] {
    return tools.map((tool) => ({
      ...tool,
      run: (_args, { idempotencyKey }) => {
        this.executions.set(idempotencyKey, (this.executions.get(idempotencyKey) ?? 0) + 1)
        const finish = deferred<string>()
        this.#tools.push({ process, finish })
        return finish.promise
      },
    }))
  }

  async #park(process: SmallProcess, statement: string): Promise<void> {
    assertAlive(process)
    const gate = deferred()
    this.#parked.push({ process, statement, gate })
    await gate.promise
    assertAlive(process)
  }

  /**
   * Waits until nothing happens by itself any more: whatever is still executing waits for a lock of a parked statement.
   */
  async quiet(): Promise<void> {
    const deadline = performance.now() + 10_000
    let idle = 0
    while (idle < 3) {
      if (performance.now() > deadline) {
        this.faults.push(`it does not get quiet: ${this.#executing} statements, ${this.#actors} actors`)
        return
      }
      const before = this.#counts()
      await turn()
      this.#collectCalls()
      if (this.#executing > 0) {
        idle = 0
        if (!(await this.#oneEndsSoon()) && (await this.#allBlocked())) return
      } else {
        idle = before === this.#counts() ? idle + 1 : 0
      }
    }
  }

  #counts(): string {
    return [this.#parked.length, this.#actors, this.#calls.length, this.#tools.length, this.#executing].join()
  }

  #endStatement(): void {
    this.#executing -= 1
    this.#statementEnd.resolve()
    this.#statementEnd = deferred()
  }

  /** Whether a statement ends before it is worth asking Postgres, which costs more than most statements. */
  #oneEndsSoon(): Promise<boolean> {
    return new Promise((resolve) => {
      const timer = setTimeout(() => resolve(false), 3)
      void this.#statementEnd.promise.then(() => {
        clearTimeout(timer)
        resolve(true)
      })
    })
  }

  async #allBlocked(): Promise<boolean> {
    const { rows } = await sql<{ blocked: number }>`
      select count(*)::integer as blocked from pg_stat_activity
      where datname = current_database() and wait_event_type = 'Lock'`.execute(this.#shared.ground.database.db)
    return this.#executing > 0 && rows[0]!.blocked >= this.#executing
  }

  #collectCalls(): void {
    for (const call of this.#shared.model.takeCalls()) {
      const fault = faultOfRequest(call.request)
      if (fault) this.faults.push(`a model was asked what no provider takes: ${fault}`)
      this.#calls.push(call)
    }
    this.#calls = this.#calls.filter((call) => !call.signal.aborted)
  }

  /** A request to a process that may die meanwhile. */
  #act(process: SmallProcess, what: string, action: () => Promise<void>): void {
    this.#actors += 1
    void action()
      .catch((error: unknown) => {
        if (error instanceof Crash || process.dead) return
        this.faults.push(`${what} failed: ${error instanceof Error ? error.stack : error}`)
      })
      .finally(() => (this.#actors -= 1))
  }

  // ── what clients do ──

  /** A process that accepts requests. */
  alive(choice: number): SmallProcess | undefined {
    return among(
      this.#processes.filter((process) => !process.dead && !process.draining.signal.aborted),
      choice,
    )
  }

  send(
    process: SmallProcess,
    whenBusy: SendMessageInput['whenBusy'],
    key: string | null,
    responseSchema: JsonObject | null = null,
  ): void {
    const text = key === null ? `text ${this.#texts++}` : `text of ${key}`
    const sent: Sent = { text, outcome: undefined }
    this.sent.push(sent)
    this.#act(process, 'sendMessage', async () => {
      sent.outcome = await sendMessage(process.context, this.#shared.ground.viewer, {
        to: { conversationId: this.conversationId },
        messages: [{ role: 'USER', content: [{ text }], clientId: null }],
        clientTools: [{ name: 'client', description: '', parameters: { type: 'object' } }],
        maxSteps: 6,
        maxTotalTokens: null,
        responseSchema: key === null ? responseSchema : null,
        whenBusy: key === null ? whenBusy : 'ENQUEUE',
        // Keys are unique in a tenant, and worlds share one.
        idempotencyKey: key && `${key} ${this.conversationId}`,
        metadata: {},
      })
    })
  }

  /** The active run's, or any run's. */
  async cancel(process: SmallProcess, choice: number | null): Promise<void> {
    const run = choice === null ? undefined : among(await this.runs(), choice)
    const input = run ? { runId: run.id } : { conversationId: this.conversationId }
    this.#act(process, 'cancelRun', async () => {
      const cancelled = cancelRun(process.context, this.#shared.ground.viewer, input)
      // This waits up to two seconds for the run, but nothing here waits for it.
      this.#actors -= 1
      await cancelled.finally(() => (this.#actors += 1))
    })
  }

  /** False if nothing waits. */
  async decide(
    process: SmallProcess,
    choice: number,
    kind: GivenDecision['kind'],
    followUp: boolean,
  ): Promise<boolean> {
    const call = among(await this.#pendingCalls(), choice)
    if (!call) return false
    const toolCallId = encodeId('ToolCall', call.id)
    const decisions: Record<GivenDecision['kind'], GivenDecision> = {
      APPROVED: { kind: 'APPROVED', toolCallId, arguments: undefined, note: null, scope: 'ONCE' },
      DENIED: { kind: 'DENIED', toolCallId, reason: 'no' },
      CLIENT_RETURN: { kind: 'CLIENT_RETURN', toolCallId, status: 'SUCCESS', output: 'did it', stdout: [], stderr: [] },
    }
    const decision = decisions[call.needs === 'CLIENT_EXECUTION' && kind === 'APPROVED' ? 'CLIENT_RETURN' : kind]
    const text = `follow-up ${this.#texts++}`
    this.#act(process, 'submitApprovals', async () => {
      const { outcome } = await submitApprovals(process.context, this.#shared.ground.viewer, {
        runId: call.run_id,
        decisions: [decision],
        followUp: followUp ? [{ role: 'USER', content: [{ text }], clientId: null }] : [],
        idempotencyKey: null,
      })
      if (outcome === 'accepted' && followUp) this.followUps.push(text)
    })
    return true
  }

  #pendingCalls() {
    return this.#shared.ground.database.db
      .selectFrom('tool_calls')
      .innerJoin('runs', 'runs.id', 'tool_calls.run_id')
      .where('runs.conversation_id', '=', this.conversationId)
      .where('runs.status', '=', 'AWAITING_APPROVAL')
      .where('tool_calls.status', '=', 'PENDING')
      .select(['tool_calls.id', 'tool_calls.run_id', 'tool_calls.needs'])
      .orderBy('tool_calls.id')
      .execute()
  }

  async retry(process: SmallProcess, choice: number): Promise<void> {
    const failed = (await this.runs()).filter((run) => run.status === 'FAILED')
    const run = among(failed, choice)
    if (!run) return
    this.#act(process, 'retryRun', async () => {
      await retryRun(process.context, this.#shared.ground.viewer, { runId: run.id })
    })
  }

  // ── what the rest of the world does ──

  /** Claims a run and drives it. False if none can be claimed. */
  async work(process: SmallProcess): Promise<boolean> {
    const waiting = (await this.runs()).filter(
      (run) => run.hold !== null && run.lease === null && ['QUEUED', 'RUNNING'].includes(run.status),
    )
    if (waiting.length === 0 || process.draining.signal.aborted) return false
    const { workerId, draining, letGo } = process
    const { db } = process.context
    this.#act(process, 'driveRun', async () => {
      const claim = { workerId, places: 1, lastTenantId: workerId }
      const [normal] = await claimRuns(db, claim, { perTenant: null, perAgent: null, perKey: null })
      const claimed = normal ?? (await claimSuspect(db, { workerId, mayDrive: true }))
      if (!claimed) return
      try {
        await driveRun(process.context, claimed, { draining: draining.signal, letGo: letGo.signal })
      } catch (error) {
        if (!(error instanceof LeaseLostError) || process.dead) throw error
      }
    })
    return true
  }

  /** Lets one statement through. False if none waits. */
  step(choice: number): boolean {
    const parked = among(this.#parked, choice)
    if (!parked) return false
    this.#parked = this.#parked.filter((other) => other !== parked)
    parked.gate.resolve()
    return true
  }

  /** Like `step`, but its process dies before it gets the result. */
  stepAndDie(choice: number): void {
    const parked = among(this.#parked, choice)
    if (parked) parked.process.diesAfterNext = true
    this.step(choice)
  }

  answer(choice: number, answer: Answer): boolean {
    const call = among(this.#calls, choice)
    if (!call) return false
    if (answer.type === 'say') {
      call.say('some ')
      return true
    }
    this.#calls = this.#calls.filter((other) => other !== call)
    if (answer.type === 'fail') call.fail(answer.refused ? { type: 'LLM_BAD_REQUEST', retryable: false } : {})
    else if (answer.type === 'break off') call.breakOff()
    else {
      if (answer.calls.length === 0 || answer.thinks) call.say('words')
      // Models repeat their ids: the first call of every answer is `call_0`.
      for (const name of answer.calls) call.call(name, {})
      call.finish()
    }
    return true
  }

  finishTool(choice: number, succeeds: boolean): boolean {
    const tool = among(this.#tools, choice)
    if (!tool) return false
    this.#tools = this.#tools.filter((other) => other !== tool)
    if (succeeds) tool.finish.resolve('done')
    else tool.finish.reject(new Error('it broke'))
    return true
  }

  crash(process: SmallProcess): void {
    process.dead = true
    process.diesAfterNext = false
    const waiting = this.#parked.filter((parked) => parked.process === process)
    this.#parked = this.#parked.filter((parked) => parked.process !== process)
    for (const { gate } of waiting) gate.resolve()
    this.#tools = this.#tools.filter((tool) => tool.process !== process)
    process.letGo.abort()
  }

  /** Others declare it dead, and it continues: it was paused for a while, or cut off. */
  async stall(process: SmallProcess): Promise<void> {
    await this.#giveUp(process)
    this.#stalled.push(process)
    await this.#startProcess(this.#processes.indexOf(process))
  }

  async #giveUp({ workerId }: SmallProcess): Promise<void> {
    const { db } = this.#shared.ground.database
    await deleteWorker(db, workerId)
    await freeRunsOfTheDead(db)
  }

  /** The first time it starts no new steps, the second time it lets go of those that are running. */
  drain(process: SmallProcess): void {
    if (process.draining.signal.aborted) process.letGo.abort()
    else process.draining.abort()
  }

  /**
   * Finds the dead workers and replaces them. Also looks for runs of workers that were found dead before: a run that
   * someone held locked at that moment was passed over.
   */
  async sweep(): Promise<void> {
    for (const [name, process] of this.#processes.entries()) {
      if (!process.dead) continue
      await this.quiet()
      await this.#giveUp(process)
      await this.#startProcess(name)
    }
    await freeRunsOfTheDead(this.#shared.ground.database.db)
  }

  async runs() {
    return this.#shared.ground.database.db
      .selectFrom('runs')
      .where('conversation_id', '=', this.conversationId)
      .selectAll()
      .orderBy('number')
      .execute()
  }

  /** Everything continues in order until nothing is left to do: models answer, tools finish, people deny. */
  async settle(): Promise<void> {
    for (let round = 0; round < 500; round++) {
      await this.quiet()
      for (const process of this.#processes.filter((process) => process.draining.signal.aborted)) {
        process.letGo.abort()
        await this.quiet()
        if (!this.#parked.some((parked) => parked.process === process)) this.crash(process)
      }
      await this.sweep()
      const moved =
        this.step(0) ||
        this.answer(0, { type: 'answer', calls: [], thinks: false }) ||
        this.finishTool(0, true) ||
        (await this.work(this.alive(round) ?? this.#processes[0]!)) ||
        (await this.decide(this.alive(round) ?? this.#processes[0]!, 0, 'DENIED', false))
      if (!moved && this.#actors === 0) return
    }
    this.faults.push('things did not come to rest')
  }
}

function among<T>(list: readonly T[], choice: number): T | undefined {
  return list[choice % Math.max(1, list.length)]
}

const parameters = { type: 'object' }
const tools = [
  defineTool({ name: 'plain', description: '', parameters, run: () => '' }),
  defineTool({ name: 'again', description: '', parameters, parallel: true, idempotent: true, run: () => '' }),
  defineTool({ name: 'ask', description: '', parameters, requiresApproval: true, run: () => '' }),
]

/** What all worlds share. */
export interface SharedWorld {
  readonly ground: EngineGround
  readonly model: GatedModel
  /** Every waiting statement needs a connection. */
  readonly pool: pg.Pool
  readonly ids: { next(): string }
  close(): Promise<void>
}

export async function createSharedWorld(): Promise<SharedWorld> {
  const model = createGatedModel()
  const ground = await createEngineGround({ providers: [model.provider], model: gatedHandle, tools })
  const pool = new pg.Pool({ connectionString: ground.database.url, max: 40, idleTimeoutMillis: 0 })
  // The database may be dropped before the last connection has closed.
  pool.on('connect', (client) => client.on('error', () => {}))
  // All connections are opened now, because opening one takes a while that a world could not observe.
  const clients = await Promise.all(Array.from({ length: 40 }, () => pool.connect()))
  for (const client of clients) client.release()
  return {
    ground,
    model,
    pool,
    ids: ground.process().ids,
    async close() {
      await pool.end()
      await ground.close()
    },
  }
}

function assertAlive(process: SmallProcess): void {
  if (process.dead) throw new Crash()
}
