import type { Clock } from '../../util/clock.ts'
import type { IdSource } from '../../util/ids.ts'
import type { BlockWrite } from '../memory/block.ts'
import type { ArchiveWrite, NewPassage } from '../memory/passage.ts'
import type { NewFile } from '../files/file.ts'
import {
  contentsOf,
  type GivenMessage,
  type MessageContents,
  type MessageType,
  type NewMessage,
} from '../conversations/message.ts'
import type { LogEntry } from './run-event.ts'
import { currentStep, type DrivenRun, type RunState } from './run-state.ts'
import { transitions, type RunError, type StopReason, type StoredRunStatus } from './run.ts'
import { noUsage, sumOfUsage, type Usage } from '../models/usage.ts'
import type { Step } from './step.ts'
import { isDecided, type DecidedCall, type Decision, type ToolCall, type ToolResult } from '../tools/tool-call.ts'
import type { BudgetGate } from '../usage/budget.ts'
import type { ReachedBudget } from '../webhooks/webhook.ts'

export interface PositionedMessage {
  readonly message: NewMessage
  readonly position: number
}

/** Where a conversation's context begins, and the summary that replaces everything before it. */
export interface ContextBounds {
  readonly contextFrom: number
  readonly summaryPosition: number | null
}

/** What one checkpoint writes, all or nothing. */
export interface Checkpoint {
  /** What the run must be when the checkpoint is stored. Otherwise the checkpoint is refused. */
  readonly before: DrivenRun
  readonly after: DrivenRun
  readonly at: Date
  readonly messages: readonly PositionedMessage[]
  readonly newSteps: readonly Step[]
  readonly changedSteps: readonly Step[]
  /** The step whose model answered, failed or was stopped. Null for any other checkpoint. */
  readonly asked: Step | null
  readonly newCalls: readonly ToolCall[]
  readonly changedCalls: readonly ToolCall[]
  /** The changed calls whose decision is new. */
  readonly decidedCalls: readonly DecidedCall[]
  /** The budget that stops or pauses the run. Null for any other checkpoint. */
  readonly reachedBudget: ReachedBudget | null
  /** The agent's name, for whoever is told of the checkpoint. */
  readonly agentName: string
  /** Positions of messages that leave the context. */
  readonly excluded: readonly number[]
  /** Where the conversation's context begins from now on, if it was compacted. */
  readonly context: ContextBounds | null
  readonly entries: readonly LogEntry[]
  /** Files that results refer to. */
  readonly files: readonly NewFile[]
  /** What memory tools wrote. If one of the blocks has changed meanwhile, the whole checkpoint fails. */
  readonly blocks: readonly BlockWrite[]
  /** What tools added to archives. */
  readonly passages: readonly NewPassage[]
}

/** A step whose model is being asked. */
const unanswered = {
  failedModels: [],
  status: 'RUNNING',
  timeToFirstTokenMs: null,
  modelMs: null,
  error: null,
  finishedAt: null,
} as const

/**
 * A run's state with changes that are not stored yet. It numbers messages and entries as the store will, so its state
 * is what a reload would give. It decides nothing: `advance` does.
 */
export class Draft {
  #state: RunState
  readonly #before: DrivenRun
  readonly #at: Date
  readonly #ids: IdSource
  readonly #messages: PositionedMessage[] = []
  readonly #entries: LogEntry[] = []
  readonly #newSteps = new Set<number>()
  readonly #changedSteps = new Set<number>()
  readonly #newCalls = new Set<string>()
  readonly #changedCalls = new Set<string>()
  readonly #decidedCalls = new Set<string>()
  #reachedBudget: ReachedBudget | null = null
  /** The draft's own copy of the calls, made by the first change, and the index of each call in it. */
  #calls: { readonly list: ToolCall[]; readonly places: Map<string, number> } | undefined
  readonly #excluded: number[] = []
  readonly #blocks: BlockWrite[] = []
  readonly #files: NewFile[] = []
  readonly #passages: NewPassage[] = []
  #context: ContextBounds | null = null
  #asked: number | null = null

  constructor(state: RunState, sources: { readonly clock: Clock; readonly ids: IdSource }) {
    this.#before = state.run
    this.#at = sources.clock.now()
    this.#state = { ...state, run: { ...state.run, updatedAt: this.#at } }
    this.#ids = sources.ids
  }

  get state(): RunState {
    return this.#state
  }

  get at(): Date {
    return this.#at
  }

  checkpoint(): Checkpoint {
    const steps = (indexes: ReadonlySet<number>) => this.#state.steps.filter(({ index }) => indexes.has(index))
    const calls = (ids: ReadonlySet<string>) => this.#state.calls.filter(({ id }) => ids.has(id))
    return {
      before: this.#before,
      after: this.#state.run,
      at: this.#at,
      messages: this.#messages,
      newSteps: steps(this.#newSteps),
      changedSteps: steps(this.#changedSteps.difference(this.#newSteps)),
      asked: this.#asked === null ? null : (this.#state.steps[this.#asked] ?? null),
      newCalls: calls(this.#newCalls),
      changedCalls: calls(this.#changedCalls.difference(this.#newCalls)),
      decidedCalls: calls(this.#decidedCalls).filter(isDecided),
      reachedBudget: this.#reachedBudget,
      agentName: this.#state.agent.name,
      excluded: this.#excluded,
      files: this.#files,
      context: this.#context,
      entries: this.#entries,
      blocks: this.#blocks,
      passages: this.#passages,
    }
  }

  // ── the run ──

  changeRun(change: Partial<DrivenRun>): void {
    this.#state = { ...this.#state, run: { ...this.#state.run, ...change } }
  }

  /** Moves the run to another status and logs it. A transition that is not in the table is a bug. */
  setStatus(
    status: StoredRunStatus,
    outcome: { readonly stopReason?: StopReason; readonly error?: RunError } = {},
  ): void {
    const { run } = this.#state
    if (!transitions[run.status].includes(status)) throw new Error(`A run cannot go from ${run.status} to ${status}.`)
    this.changeRun({
      status,
      stopReason: outcome.stopReason ?? run.stopReason,
      error: outcome.error ?? null,
    })
    const { usage, steps, stopReason, error } = this.#state.run
    this.#log({
      type: 'status',
      status,
      stopReason: outcome.stopReason ? stopReason : null,
      error,
      usage: { ...usage, steps },
    })
  }

  /** Marks a call as running in this process, or as no longer running. This is not stored. */
  setInFlight(callIds: Iterable<string>): void {
    this.#state = { ...this.#state, inFlight: new Set(callIds) }
  }

  /** What a look at the budgets has shown. This is not stored. */
  setBudget(budget: BudgetGate): void {
    this.#state = { ...this.#state, budget }
  }

  // ── messages ──

  /** `items` are the indexes that its text or calls had in the live step, for readers whose cursor is inside one. */
  addMessage<Type extends MessageType>(
    type: Type,
    content: MessageContents[Type],
    options: {
      readonly id?: string
      readonly stepIndex?: number
      readonly clientId?: string | null
      readonly items?: readonly number[]
    } = {},
  ): void {
    const { run, nextPosition } = this.#state
    const position = run.nextPosition ?? nextPosition
    const message = {
      id: options.id ?? this.#ids.next(),
      type,
      stepIndex: options.stepIndex ?? null,
      clientId: options.clientId ?? null,
      content,
    } as NewMessage
    this.#messages.push({ message, position })
    this.changeRun({ firstPosition: run.firstPosition ?? position, nextPosition: position + 1 })
    this.#log({ type: 'message', id: message.id, ...(options.items ? { items: options.items } : {}) })
  }

  addGivenMessages(messages: readonly GivenMessage[]): void {
    for (const message of messages) {
      this.addMessage(message.role, contentsOf(message), { clientId: message.clientId })
    }
  }

  excludeFromContext(positions: readonly number[]): void {
    this.#excluded.push(...positions)
  }

  /** Replaces everything before `keptFrom` by a summary. With null, it replaces everything so far. */
  compact(text: string, keptFrom: number | null): void {
    const { run, nextPosition } = this.#state
    const summaryPosition = run.nextPosition ?? nextPosition
    const contextFrom = keptFrom ?? summaryPosition + 1
    this.addMessage('SUMMARY', { text, contextFrom })
    this.#context = { contextFrom, summaryPosition }
  }

  // ── steps ──

  startStep(model: string): void {
    const index = this.#state.steps.length
    const step: Step = {
      ...unanswered,
      runId: this.#state.run.id,
      index,
      attempt: 1,
      model,
      stopReason: null,
      usage: noUsage,
      toolsMs: null,
      createdAt: this.#at,
    }
    this.#state = { ...this.#state, steps: [...this.#state.steps, step] }
    this.#newSteps.add(index)
    this.#log({ type: 'stepStarted', index })
  }

  /** The model is asked again for the last step. The deltas so far are void. */
  restartStep(model: string): void {
    const step = currentStep(this.#state)
    const attempt = step.attempt + 1
    this.changeStep({ ...unanswered, attempt, model })
    this.#log({ type: 'stepRestarted', index: step.index, attempt })
  }

  changeStep(change: Partial<Step>): void {
    const { steps } = this.#state
    const step = { ...currentStep(this.#state), ...change }
    this.#state = { ...this.#state, steps: [...steps.slice(0, -1), step] }
    this.#changedSteps.add(step.index)
    if (typeof change.modelMs === 'number') this.#asked = step.index
  }

  finishStep(change: Partial<Step> & Pick<Step, 'status'>): void {
    this.changeStep({ ...change, finishedAt: this.#at })
    this.#log({ type: 'stepFinished', index: currentStep(this.#state).index })
  }

  /** Counts requests to models, however they ended and whatever they were for. */
  addUsage({ usage, requests }: { readonly usage: Usage; readonly requests: number }): void {
    const { run } = this.#state
    this.changeRun({ usage: sumOfUsage(run.usage, usage), steps: run.steps + requests })
  }

  // ── calls ──

  addCall(call: ToolCall): void {
    const { list, places } = this.#ownCalls()
    places.set(call.id, list.push(call) - 1)
    this.#newCalls.add(call.id)
  }

  /** Every change of status adds a log entry. */
  changeCall(id: string, change: Partial<ToolCall>): void {
    const { list, places } = this.#ownCalls()
    const place = places.get(id) ?? -1
    const call = list[place]
    if (!call) throw new Error(`The run has no call ${id}.`)
    list[place] = { ...call, ...change }
    this.#changedCalls.add(id)
    if (change.status) this.#log({ type: 'call', id, status: change.status })
  }

  /** Logs the status of a call that was just added. */
  announceCall(call: ToolCall): void {
    this.#log({ type: 'call', id: call.id, status: call.status })
  }

  startCalls(calls: readonly ToolCall[]): void {
    for (const call of calls) this.changeCall(call.id, { status: 'RUNNING', startedAt: this.#at })
    this.setInFlight([...this.#state.inFlight, ...calls.map((call) => call.id)])
  }

  settleCall(id: string, status: 'SUCCEEDED' | 'FAILED' | 'DENIED' | 'CANCELLED', result: ToolResult): void {
    this.changeCall(id, { status, result, finishedAt: this.#at })
    this.setInFlight([...this.#state.inFlight].filter((other) => other !== id))
  }

  writeBlocks(writes: readonly BlockWrite[]): void {
    this.#blocks.push(...writes)
  }

  addFiles(files: readonly NewFile[]): void {
    this.#files.push(...files)
  }

  addPassages(writes: readonly ArchiveWrite[]): void {
    const { tenantId } = this.#state.run
    for (const write of writes)
      this.#passages.push({ ...write, id: this.#ids.next(), tenantId, metadata: {}, createdAt: this.#at })
  }

  decideCall(id: string, decision: Decision, change: Partial<ToolCall> & Pick<ToolCall, 'status'>): void {
    this.changeCall(id, { ...change, decision, decidedAt: this.#at })
    this.#decidedCalls.add(id)
  }

  /** The checkpoint tells the tenant's webhooks that a budget stops or pauses the run. */
  reachBudget(budget: ReachedBudget): void {
    this.#reachedBudget = budget
  }

  /** Adds one message with all returns of the step, preceded by one with the decisions, if there were any. */
  returnResults(stepIndex: number): void {
    this.addMessage('TOOL_RETURN', {}, { stepIndex })
  }

  /**
   * Changed in place: an answer may have a thousand calls, and copying all of them for each change would take seconds.
   */
  #ownCalls() {
    if (!this.#calls) {
      const list = [...this.#state.calls]
      this.#calls = { list, places: new Map(list.map((call, place) => [call.id, place])) }
      this.#state = { ...this.#state, calls: list }
    }
    return this.#calls
  }

  #log(entry: LogEntry): void {
    this.#entries.push(entry)
    this.changeRun({ nextSeq: this.#state.run.nextSeq + 1 })
  }
}
