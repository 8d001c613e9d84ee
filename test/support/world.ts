import { setImmediate as turn } from 'node:timers/promises'

import { sql } from 'kysely'
import pg from 'pg'

import { cancelRun } from '../../src/commands/runs/cancel-run.ts'
import type { CommandContext } from '../../src/commands/command-context.ts'
import { keyedInput } from '../../src/commands/idempotency.ts'
import { retryRun } from '../../src/commands/runs/retry-run.ts'
import type { AdmissionOutcome } from '../../src/commands/runs/admit.ts'
import { sendMessage, type SendMessageInput } from '../../src/commands/runs/send-message.ts'
import type { JsonObject } from '../../src/util/json.ts'
import { continueRun } from '../../src/commands/usage/continue-run.ts'
import { createBudget, deleteBudget, updateBudget } from '../../src/commands/usage/budget.ts'
import { waitsForBudget } from '../../src/domain/runs/run.ts'
import { submitApprovals } from '../../src/commands/approvals/submit-approvals.ts'
import type { GivenDecision } from '../../src/domain/approvals/decisions.ts'
import { encodeId } from '../../src/domain/ids.ts'
import { CheckpointWriter } from '../../src/engine/checkpoint-writer.ts'
import { LeaseLostError } from '../../src/engine/commit.ts'
import { driveRun } from '../../src/engine/drive-run.ts'
import type { EngineContext } from '../../src/engine/engine-context.ts'
import type { AdmittedRun } from '../../src/live/work-signal.ts'
import { claimRuns, claimSuspect, type ClaimedRun } from '../../src/store/workers/claim-runs.ts'
import { freeRunsOfTheDead } from '../../src/store/workers/leases.ts'
import { deleteWorker, insertWorker } from '../../src/store/workers/workers.ts'
import { defineTool, type ToolDefinition } from '../../src/tools/registry.ts'
import { createEngineGround, type EngineGround } from './engine-ground.ts'
import { hookDatabase } from './gated-database.ts'
import { createGatedModel, gatedHandle, type GatedModel, type ModelCall } from './gated-model.ts'
import type { Told } from './promises.ts'
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
  /** Whether a run that it accepts begins at once, if its conversation is free. */
  beginsRuns: boolean
  /** Executes the next statement, and kills the process before it gets the result. */
  diesAfterNext: boolean
}

interface Parked {
  readonly process: SmallProcess
  readonly statement: string
  readonly gate: PromiseWithResolvers<void>
}

interface RunningTool {
  readonly process: SmallProcess
  readonly finish: PromiseWithResolvers<string>
}

class Crash extends Error {}

export interface Sent {
  readonly conversationId: string
  readonly text: string
  /** Undefined if the process died before the client had an answer. */
  outcome: AdmissionOutcome | undefined
}

export interface SendOptions {
  /** Which conversation. */
  readonly conversation?: number
  /** Whether the process that accepts the run drives it at once, if its conversation is free. */
  readonly begins?: boolean
  readonly whenBusy: SendMessageInput['whenBusy']
  readonly key?: string | null
  readonly responseSchema?: JsonObject | null
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
  readonly #sent: Sent[] = []
  /** Follow-ups that were accepted. */
  readonly #followUps: { readonly conversationId: string; readonly text: string }[] = []
  /** How often each call was executed, by its idempotency key. */
  readonly #executions = new Map<string, number>()
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
  #statementEnd = Promise.withResolvers<void>()
  #actors = 0
  #texts = 0
  readonly #agentIds: string[] = []
  readonly #conversationIds: string[] = []

  constructor(shared: SharedWorld) {
    this.#shared = shared
  }

  /** What clients were told and tools did, for each conversation. */
  told(): Told[] {
    return this.#conversationIds.map((conversationId) => ({
      conversationId,
      sent: this.#sent.filter((sent) => sent.conversationId === conversationId),
      followUps: this.#followUps.filter((one) => one.conversationId === conversationId).map(({ text }) => text),
      executions: this.#executions,
    }))
  }

  async open({ processes, conversations }: { processes: number; conversations: number }): Promise<void> {
    while (this.#conversationIds.length < conversations) {
      const { agentId, conversationId } = await this.#shared.ground.createAgent()
      this.#agentIds.push(agentId)
      this.#conversationIds.push(conversationId)
    }
    for (let name = 0; name < processes; name++) await this.#startProcess(name)
  }

  /** Kills everything that is still running. */
  async close(): Promise<void> {
    for (const process of [...this.#processes, ...this.#stalled]) this.crash(process)
    await this.quiet()
    // Other worlds share the queue and must not find what is left here.
    const { db } = this.#shared.ground.database
    const ended = { status: 'CANCELLED', finished_at: new Date(), lease: null, worker_id: null } as const
    await db.updateTable('runs').set(ended).where('conversation_id', 'in', this.#conversationIds).execute()
  }

  async #startProcess(name: number): Promise<void> {
    const { ground, ids, pool } = this.#shared
    const process = {
      workerId: ids.next(),
      draining: new AbortController(),
      letGo: new AbortController(),
      dead: false,
      beginsRuns: false,
      diesAfterNext: false,
    } as { -readonly [Key in keyof SmallProcess]: SmallProcess[Key] }
    const db = hookDatabase(pool, {
      before: async (statement) => {
        await this.#park(process, statement)
        if (statement.includes('free_runs as')) this.#shared.seen.batches += 1
        if (statement.includes('added_step as')) this.#shared.seen.beginnings += 1
        this.#executing += 1
      },
      after: () => {
        this.#endStatement()
        if (process.diesAfterNext) this.crash(process)
        if (process.dead) throw new Crash()
      },
      failed: () => this.#endStatement(),
    })
    // Nothing goes on because time passes.
    const checkpoints = new CheckpointWriter(db, { patienceMs: 60_000 })
    process.context = { ...ground.process(db, this.#toolsOf(process)), checkpoints }
    process.context.work.connect({
      // Nothing is claimed unless the test says so.
      look: () => true,
      reservePlace: () => {
        if (!process.beginsRuns || process.draining.signal.aborted) return undefined
        const drive = (run: AdmittedRun) =>
          this.#act(process, 'driveRun', () => this.#drive(process, { stale: false, ...run }))
        return { workerId: process.workerId, leftAgentIds: [], drive, release: () => undefined }
      },
    })
    await insertWorker(ground.database.db, process.workerId, testWorker)
    this.#processes[name] = process
  }

  #toolsOf(process: SmallProcess): ToolDefinition[] {
    return tools.map((tool) => ({
      ...tool,
      run: (_args, { idempotencyKey }) => {
        this.#executions.set(idempotencyKey, (this.#executions.get(idempotencyKey) ?? 0) + 1)
        const finish = Promise.withResolvers<string>()
        this.#tools.push({ process, finish })
        return finish.promise
      },
    }))
  }

  async #park(process: SmallProcess, statement: string): Promise<void> {
    assertAlive(process)
    const gate = Promise.withResolvers<void>()
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
    this.#statementEnd = Promise.withResolvers<void>()
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
    { conversation = 0, begins = false, whenBusy, key = null, responseSchema = null }: SendOptions,
  ): void {
    const conversationId = among(this.#conversationIds, conversation)!
    const text = key === null ? `text ${this.#texts++}` : `text of ${key}`
    const sent: Sent = { conversationId, text, outcome: undefined }
    this.#sent.push(sent)
    process.beginsRuns = begins
    this.#act(process, 'sendMessage', async () => {
      sent.outcome = await sendMessage(process.context, this.#shared.ground.viewer, {
        to: { conversationId },
        messages: [{ role: 'USER', content: [{ text }], clientId: null }],
        clientTools: [{ name: 'client', description: '', parameters: { type: 'object' } }],
        maxSteps: 6,
        maxTotalTokens: null,
        responseSchema: key === null ? responseSchema : null,
        whenBusy: key === null ? whenBusy : 'ENQUEUE',
        // Keys are unique for an actor, and worlds share one.
        keyed: keyedInput(this.#shared.ground.viewer, 'sendMessage', {
          idempotencyKey: key && `${key} ${conversationId}`,
        }),
        metadata: {},
      })
    })
  }

  /** The active run's, or any run's. */
  async cancel(process: SmallProcess, choice: number | null): Promise<void> {
    const run = choice === null ? undefined : among(await this.runs(), choice)
    const input = run ? { runId: run.id } : { conversationId: this.#conversationIds[0]! }
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
      })
      if (outcome === 'accepted' && followUp) this.#followUps.push({ conversationId: call.conversation_id, text })
    })
    return true
  }

  #pendingCalls() {
    return this.#shared.ground.database.db
      .selectFrom('tool_calls')
      .innerJoin('runs', 'runs.id', 'tool_calls.run_id')
      .where('runs.conversation_id', 'in', this.#conversationIds)
      .where('runs.status', '=', 'AWAITING_APPROVAL')
      .where('tool_calls.status', '=', 'PENDING')
      .select(['tool_calls.id', 'tool_calls.run_id', 'tool_calls.needs', 'runs.conversation_id'])
      .orderBy('tool_calls.id')
      .execute()
  }

  /** Makes a budget of the agent that allows this many tokens, changes it, or deletes it. */
  async setBudget(
    process: SmallProcess,
    choice: number,
    limit: number | null,
    whenReached: 'STOP' | 'ASK',
  ): Promise<void> {
    const agentId = among(this.#agentIds, choice)!
    const { viewer, database } = this.#shared.ground
    const { context } = process
    const of = database.db.selectFrom('budgets').where('agent_id', '=', agentId).select('id')
    const budget = await of.executeTakeFirst()
    const settings = { limitTokens: limit, whenReached }
    this.#act(process, 'setBudget', async () => {
      if (!budget) {
        if (limit !== null) await createBudget(context, viewer, { agentId, period: 'DAY', ...settings })
      } else {
        const change =
          limit === null
            ? deleteBudget(context, viewer, budget)
            : updateBudget(context, viewer, { ...budget, ...settings })
        // Another process may have deleted it.
        await change.catch((error: unknown) => {
          if ((error as { code?: string }).code !== 'NOT_FOUND') throw error
        })
      }
    })
  }

  /** Lets a run that waits for the budget go on. False if none waits. */
  async allow(process: SmallProcess): Promise<boolean> {
    const run = (await this.runs()).find((one) => waitsForBudget({ status: one.status, stopReason: one.stop_reason }))
    if (!run) return false
    this.#act(process, 'continueRun', async () => {
      const allow = { usd: null, tokens: 1 }
      await continueRun(process.context, this.#shared.ground.viewer, { runId: run.id, allow, keyed: undefined })
    })
    return true
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
    const { workerId } = process
    const { db } = process.context
    this.#act(process, 'driveRun', async () => {
      const claim = { workerId, places: 1, lastTenantId: workerId }
      const [normal] = await claimRuns(db, claim, { perTenant: null, perAgent: null, perKey: null })
      const claimed = normal ?? (await claimSuspect(db, { workerId, mayDrive: true }))
      if (claimed) await this.#drive(process, claimed)
    })
    return true
  }

  async #drive(process: SmallProcess, claimed: ClaimedRun): Promise<void> {
    const { draining, letGo } = process
    try {
      await driveRun(process.context, claimed, { draining: draining.signal, letGo: letGo.signal })
    } catch (error) {
      if (!(error instanceof LeaseLostError) || process.dead) throw error
    }
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

  /** All models that are being asked answer at the same moment. */
  answerAll(answer: Answer): void {
    for (const _call of this.#calls.slice()) this.answer(0, answer)
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

  /** Those of the first conversation come last. */
  async runs() {
    const rows = await this.#shared.ground.database.db
      .selectFrom('runs')
      .where('conversation_id', 'in', this.#conversationIds)
      .selectAll()
      .orderBy('number')
      .execute()
    const place = (run: (typeof rows)[number]) => this.#conversationIds.indexOf(run.conversation_id)
    return rows.toSorted((one, other) => place(other) - place(one))
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
        (await this.decide(this.alive(round) ?? this.#processes[0]!, 0, 'DENIED', false)) ||
        (await this.allow(this.alive(round) ?? this.#processes[0]!))
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
  /** How many statements stored several checkpoints, and how many the beginning of a run with its admission. */
  readonly seen: { batches: number; beginnings: number }
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
    seen: { batches: 0, beginnings: 0 },
    async close() {
      await pool.end()
      await ground.close()
    },
  }
}

function assertAlive(process: SmallProcess): void {
  if (process.dead) throw new Crash()
}
