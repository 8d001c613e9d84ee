import { addAnswer, addInterruptedAnswer, addMeasured, type Measured } from '../domain/runs/answer.ts'
import { endRun } from '../domain/runs/advance.ts'
import { buildModelRequest, withCurrentCalls } from '../domain/context/build-model-request.ts'
import type { CompactionSettings } from '../domain/agent.ts'
import { compactAbove } from '../domain/context/compaction.ts'
import { overflowOf, type RunFailure } from '../domain/context/context-overflow.ts'
import { unansweredInput, type ContextMessage } from '../domain/context/context.ts'
import type { Checkpoint, ContextBounds, Draft } from '../domain/runs/draft.ts'
import type { LiveStep } from '../domain/runs/live-step.ts'
import type { Message } from '../domain/conversations/message.ts'
import { callsOfStep, lastStep, type RunState } from '../domain/runs/run-state.ts'
import { describeUnreadable, filesToLoad, withFileContent } from '../domain/context/readable-request.ts'
import type { ModelRequest } from '../domain/models/model-request.ts'
import { contextWindowOf } from '../domain/models/model.ts'
import { hasEnded } from '../domain/run.ts'
import { mostTokensOf, weighRequest } from '../domain/tokens.ts'
import { announcedNeed } from '../domain/tools/tool-call-need.ts'
import type { ToolCall } from '../domain/tools/tool-call.ts'
import type { ClaimedRun } from '../store/workers/claim-runs.ts'
import { loadConfiguration, loadContext, type Configuration, type LoadedRun } from '../store/runs/load-run.ts'
import { noLongerNeeded, onAbort } from '../util/abort.ts'
import { deferred } from '../util/deferred.ts'
import { callWithFallbacks } from './call-with-fallbacks.ts'
import { compact } from './compact.ts'
import { BlockChangedError, commit, handBack, LeaseLostError, type Committed } from './commit.ts'
import { isCurrent, type CachedContext } from './context-cache.ts'
import type { EngineContext } from './engine-context.ts'
import type { DrivingWorker } from './driving-worker.ts'
import { KeptExchange } from './kept-exchange.ts'
import { RunningTools, type FinishedCall } from './run-tools.ts'
import { takeUpRun, type TakenRun } from './take-up-run.ts'
import { whileDriving } from './while-driving.ts'

/** How often one step's context is compacted before the run fails. */
const maxCompactions = 3
/** Every model takes this much. */
const smallContextTokens = 2_000

/**
 * Drives a claimed run until it pauses, ends or is handed back. It repeats one loop: decide the next action, do it,
 * store the result. It knows only what is stored, so any worker can continue where another one stopped. Throws
 * LeaseLostError if another worker has the run.
 */
export async function driveRun(context: EngineContext, claimed: ClaimedRun, worker: DrivingWorker): Promise<void> {
  const taken = await takeUpRun(context, claimed, worker)
  const driver = new RunDriver(context, taken, worker)
  try {
    await driver.drive()
    driver.keepContext()
  } finally {
    driver.close()
  }
}

class RunDriver {
  readonly #context: EngineContext
  readonly #runId: string
  readonly #worker: DrivingWorker
  /** Aborted when the run must stop: a cancel was stored, the worker lets go of it, or it has ended. */
  readonly #stop = new AbortController()
  /** Resolves when the worker lets go of whatever is still running. */
  readonly #hasLetGo = deferred<undefined>()
  readonly #stopAwaitingLetGo: () => void
  readonly #stopListening: () => void
  readonly #tools: RunningTools
  #committed: Committed
  /** The configuration that was read with the claim or the last checkpoint, until a step has used it. */
  #fresh: Configuration | undefined
  /** The versions of the blocks that the model was last shown. */
  readonly #seenBlocks = new Map<string, number>()
  /** The model's context. Undefined until the model is first asked. */
  #history: ContextMessage[] | undefined
  /** The run's own messages are at or after this index of the history. */
  #ownFrom = 0
  /** The context from the last run of this conversation that was driven here. */
  #cached: CachedContext | undefined
  #bounds: ContextBounds
  readonly #contextVersion: number
  #live: LiveStep | undefined
  /** Usage of requests that are not a step's answer (summaries, a context that was too long), until it is stored. */
  #spent: Measured[] = []
  /** How often the context was compacted for the current step. */
  #compactions = { step: -1, count: 0 }

  constructor(context: EngineContext, { committed, loaded }: TakenRun, worker: DrivingWorker) {
    this.#context = context
    this.#committed = committed
    this.#bounds = loaded.bounds
    this.#contextVersion = loaded.contextVersion
    const { agent, tools, run } = committed.state
    // Not used if a tool runs first, because the tool may change the configuration.
    this.#fresh = committed.effect.type === 'call model' ? { agent, tools, blocks: loaded.blocks } : undefined
    this.#worker = worker
    this.#runId = run.id
    this.#useCached(loaded)
    this.#stopListening = context.hub.onStopRequest(this.#runId, () => this.#stop.abort())
    this.#stopAwaitingLetGo = onAbort(worker.letGo, () => {
      this.#stop.abort()
      this.#hasLetGo.resolve(undefined)
    })
    this.#tools = new RunningTools(context, this.#stop.signal)
  }

  #useCached({ bounds, contextVersion: version, state: { run, nextPosition } }: LoadedRun): void {
    const cached = this.#context.contexts.take(run.conversationId)
    const stored = { bounds, version, nextPosition: run.nextPosition ?? nextPosition }
    if (!cached || !isCurrent(cached, stored)) return
    this.#cached = cached
    // Only this run's own new messages were added since.
    if (cached.upTo === stored.nextPosition) {
      // Of a run that is retried, older messages may be among the cached ones.
      this.#ownFrom = run.firstPosition === null ? cached.messages.length : 0
      this.#history = [...cached.messages, ...newMessages(this.#state, this.#committed.checkpoint)]
    }
  }

  close(): void {
    this.#stopListening()
    this.#stopAwaitingLetGo()
    if (this.#live) this.#context.hub.endLiveStep(this.#runId, this.#live)
    // Stops tools that are still running.
    this.#stop.abort(noLongerNeeded)
  }

  /**
   * Keeps the context for the conversation's next turn. Without this run's messages if the run has not ended, because
   * its calls may still change.
   */
  keepContext(): void {
    const { run } = this.#state
    if (!this.#history || this.#committed.checkpoint.excluded.length > 0) return
    const ended = hasEnded(run.status)
    const messages = ended
      ? this.#withCurrentCalls(this.#history)
      : this.#history.filter(({ message }) => message.runId !== run.id)
    const upTo = (ended ? run.nextPosition : run.firstPosition) ?? this.#state.nextPosition
    const context = { bounds: this.#bounds, version: this.#contextVersion, messages, upTo }
    this.#context.contexts.put(run.conversationId, context)
  }

  get #state(): RunState {
    return this.#committed.state
  }

  async drive(): Promise<void> {
    for (;;) {
      const { effect } = this.#committed
      if (effect.type === 'stop') return
      const asksModel = effect.type === 'call model' || effect.type === 'compact'
      if (this.#worker.letGo.aborted || (this.#worker.draining.aborted && asksModel)) {
        return handBack(this.#context, this.#state, effect.type === 'run tools' ? effect.calls : [])
      }
      if (effect.type === 'call model') await this.#callModel()
      else if (effect.type === 'compact') await this.#compactConversation()
      else await this.#runTools(effect.type === 'run tools' ? effect.calls : [])
    }
  }

  async #callModel(): Promise<void> {
    const { blocks, request, window } = await this.#prepare()
    const { catalog } = this.#context
    // Content that the model cannot read counts only as the words that describe it.
    const readable = describeUnreadable(request, catalog.capabilitiesOf(request.model))
    const weigh = () => weighRequest(readable, this.#context.countTokens)
    // Most contexts are far below the limit, so their tokens need no counting.
    if (mostTokensOf(readable) > window * compactAbove) {
      const weight = weigh()
      if (weight.total > window * compactAbove) {
        const { moved, failure } = await this.#compact({ window, fixed: weight.systemPrompt + weight.tools })
        if (moved) return
        if (weight.total > window) return this.#fail(failure ?? overflowOf(request, blocks, { weight, window }))
      }
    }

    const loaded = await this.#withFiles(request)
    const step = lastStep(this.#state)!
    const live: LiveStep = { seq: this.#state.run.nextSeq - 1, stepIndex: step.index, items: [] }
    this.#live = live
    this.#context.hub.setLiveStep(this.#runId, live)
    const state = this.#state
    const needOf = (name: string) => announcedNeed(state, name)
    const exchange = state.agent.keepRequests && this.#context.keepsRequests ? new KeptExchange() : undefined
    const asked = { ...loaded, ...(exchange && { exchange }) }
    const outcome = await callWithFallbacks(this.#context, this.#runId, asked, live, this.#stop.signal, needOf)
    if (outcome.outcome === 'aborted' && this.#worker.letGo.aborted) return
    if (exchange && outcome.outcome === 'failure') exchange.failed(outcome.error)
    await exchange?.keep(this.#context, step)
    if (outcome.outcome === 'failure') {
      if (outcome.error.type !== 'LLM_CONTEXT_WINDOW') return this.#fail(outcome, { live, ...outcome })
      this.#spent.push(outcome.measured)
      // The provider counts tokens differently: what we sent exceeds its limit.
      this.#context.hub.endLiveStep(this.#runId, live)
      const weight = weigh()
      const fit = { window: Math.min(window, weight.total), fixed: weight.systemPrompt + weight.tools }
      const { moved, failure } = await this.#compact(fit)
      if (moved) return
      // A small input cannot be the reason, whatever the provider says. The window of an unlisted model is a guess.
      const inInput = weight.total > Math.min(window / 2, smallContextTokens)
      const { stopReason } = inInput ? overflowOf(request, blocks, { weight, window }) : outcome
      return this.#fail(failure ?? { error: outcome.error, stopReason })
    }
    await this.#commit((draft) => {
      if (outcome.outcome === 'answer') addAnswer(draft, outcome.answer)
      // If no cancel is stored, nothing ends here and the step is repeated.
      else if (draft.state.run.cancelRequestedAt) addInterruptedAnswer(draft, live.items, outcome.measured)
    })
  }

  /** Builds the model request from what is stored now. */
  async #prepare() {
    const { db, catalog, clock } = this.#context
    const { letGo } = this.#worker
    const { agent, run } = this.#state
    const configuration =
      this.#fresh ?? (await whileDriving(letGo, () => loadConfiguration(db, agent.id, run.memoryConversationId)))
    // What was read with a checkpoint serves the step that the checkpoint started, and only its first attempt.
    this.#fresh = undefined
    if (!configuration) throw new LeaseLostError(this.#runId)
    const { blocks, ...current } = configuration
    for (const { id, version } of blocks) this.#seenBlocks.set(id, version)
    this.#committed = { ...this.#committed, state: { ...this.#state, ...current } }
    this.#history ??= await whileDriving(letGo, () => this.#loadHistory())
    const window = contextWindowOf(this.#state.agent, catalog)
    const history = this.#withCurrentCalls(this.#history)
    const request = buildModelRequest(this.#state, blocks, history, { window, now: clock.now() })
    return { blocks, window, request }
  }

  /** With the content of the files that the model, or one of its fallbacks, can read. */
  async #withFiles(request: ModelRequest): Promise<ModelRequest> {
    const { db, catalog, files } = this.#context
    const models = [request.model, ...request.settings.fallbacks]
    const readable = describeUnreadable(
      request,
      models.flatMap((model) => catalog.capabilitiesOf(model)),
    )
    const places = filesToLoad(readable)
    const base64Of = await whileDriving(this.#worker.letGo, () => files.load(db, places))
    return withFileContent(readable, base64Of)
  }

  /** Changes the history itself, so that what has not changed stays the same object. */
  #withCurrentCalls(history: ContextMessage[]): readonly ContextMessage[] {
    for (let place = this.#ownFrom; place < history.length; place += 1) {
      history[place] = withCurrentCalls(this.#state, history[place]!)
    }
    return history
  }

  async #loadHistory(): Promise<ContextMessage[]> {
    const { db } = this.#context
    const { conversationId } = this.#state.run
    const cached = this.#cached
    if (!cached) return loadContext(db, conversationId, this.#bounds)
    const added = await loadContext(db, conversationId, { contextFrom: cached.upTo, summaryPosition: null })
    return [...cached.messages, ...added]
  }

  /** `asked` holds what the step's model said and used, if it was asked. */
  async #fail({ error, stopReason }: RunFailure, asked?: { live: LiveStep; measured: Measured }): Promise<void> {
    await this.#commit((draft) => {
      // A stored cancel takes precedence over a model failure at the same moment.
      if (draft.state.run.cancelRequestedAt) {
        if (asked) addInterruptedAnswer(draft, asked.live.items, asked.measured)
        return
      }
      if (asked) addMeasured(draft, asked.measured)
      const withReturns = error.type === 'LLM_BAD_REQUEST'
      draft.excludeFromContext(unansweredInput(this.#history ?? [], this.#runId, { withReturns }))
      endRun(draft, { stopReason, error })
    })
  }

  /** Drives a run that only compacts the conversation. */
  async #compactConversation(): Promise<void> {
    const { request, window } = await this.#prepare()
    const weight = weighRequest(request, this.#context.countTokens)
    const settings = this.#state.run.request.compaction ?? this.#state.agent.compaction
    const { moved, failure } = await this.#compact({ window, fixed: weight.systemPrompt + weight.tools, settings })
    if (moved) return
    if (failure) return this.#fail(failure)
    await this.#commit((draft) => endRun(draft, { stopReason: 'END_TURN' }))
  }

  /** Replaces the oldest messages by a summary. If `moved` is false, nothing has changed. */
  async #compact(fit: {
    readonly window: number
    readonly fixed: number
    readonly settings?: CompactionSettings
  }): Promise<{ readonly moved: boolean; readonly failure?: RunFailure }> {
    const step = this.#state.steps.length
    const count = this.#compactions.step === step ? this.#compactions.count : 0
    if (count >= maxCompactions) return { moved: false }
    this.#compactions = { step, count: count + 1 }

    const outcome = await compact(this.#context, {
      settings: this.#state.agent.compaction,
      ...fit,
      state: this.#state,
      history: this.#history!,
      signal: this.#stop.signal,
      onRequest: (measured) => void this.#spent.push(measured),
    })
    if (outcome.outcome === 'nothing to do') return { moved: false }
    if (outcome.outcome === 'failure') return { moved: false, failure: outcome }
    if (outcome.outcome === 'aborted') {
      if (!this.#worker.letGo.aborted) await this.#commit(() => {})
      return { moved: true }
    }
    await this.#commit((draft) => {
      draft.compact(outcome.text, outcome.keptFrom)
    })
    this.#bounds = this.#committed.checkpoint.context!
    this.#history = undefined
    this.#cached = undefined
    return { moved: true }
  }

  async #runTools(calls: readonly ToolCall[]): Promise<void> {
    this.#tools.start(this.#state, calls, this.#seenBlocks)
    // The calls have started, so from now on the driver only waits for them.
    this.#committed = { ...this.#committed, effect: { type: 'wait for tools' } }
    // When the worker lets go of the run, it lets go of its tools too. They count as lost, and the next worker settles
    // them.
    const finished = await Promise.race([this.#tools.nextFinished(), this.#hasLetGo.promise])
    if (!finished) return
    await this.#storeResult(finished)
  }

  async #storeResult(finished: FinishedCall): Promise<void> {
    try {
      await this.#commit((draft) => {
        draft.settleCall(finished.callId, finished.status, finished.result)
        draft.writeBlocks(finished.writes)
        draft.addFiles(finished.files)
      })
      for (const { blockId, expectedVersion } of finished.writes) this.#seenBlocks.set(blockId, expectedVersion + 1)
    } catch (error) {
      if (!(error instanceof BlockChangedError)) throw error
      // Runs the tool again, on the current block.
      const again = this.#state.calls.filter((call) => call.id === finished.callId)
      this.#tools.start(this.#state, again, this.#seenBlocks)
    }
  }

  async #commit(change: (draft: Draft) => void): Promise<void> {
    const spent = this.#spent
    const counted = (draft: Draft) => {
      for (const measured of spent) draft.addUsage(measured)
      change(draft)
    }
    this.#committed = await commit(this.#context, this.#state, counted, this.#worker)
    this.#fresh = this.#committed.configuration
    this.#spent = this.#spent.slice(spent.length)
    this.#worker.onProgress?.()
    this.#history?.push(...newMessages(this.#state, this.#committed.checkpoint))
  }
}

/** The messages of a checkpoint, as a reload would return them. */
function newMessages(state: RunState, checkpoint: Checkpoint): ContextMessage[] {
  const { id: runId, conversationId } = state.run
  return checkpoint.messages.map(({ message, position }) => ({
    message: { ...message, runId, conversationId, position, excluded: false, createdAt: checkpoint.at } as Message,
    callsOfStep: message.stepIndex === null ? [] : callsOfStep(state, message.stepIndex),
  }))
}
