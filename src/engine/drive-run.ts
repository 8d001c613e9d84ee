import { addAnswer, addInterruptedAnswer, addMeasured, type Measured } from '../domain/runs/answer.ts'
import { endRun, errorResult } from '../domain/runs/advance.ts'
import { buildModelRequest, withCurrentCalls } from '../domain/context/build-model-request.ts'
import type { CompactionSettings } from '../domain/agents/agent.ts'
import { compactAbove } from '../domain/context/compaction.ts'
import { internalFailure, overflowOf, type RunFailure } from '../domain/context/context-overflow.ts'
import { unansweredInput, type ContextMessage } from '../domain/context/context.ts'
import type { Checkpoint, ContextBounds, Draft } from '../domain/runs/draft.ts'
import type { LiveStep } from '../domain/runs/live-step.ts'
import type { Message } from '../domain/conversations/message.ts'
import { callsOfStep, currentStep, type RunState } from '../domain/runs/run-state.ts'
import { describeUnreadable, filesToLoad, withFileContent } from '../domain/context/readable-request.ts'
import type { ModelRequest } from '../domain/models/model-request.ts'
import { contextWindowOf } from '../domain/models/model.ts'
import { hasEnded } from '../domain/runs/run.ts'
import { mostTokensOf, weighRequest, type RequestWeight } from '../domain/context/request-weight.ts'
import { announcedNeed } from '../domain/tools/tool-call-need.ts'
import type { ToolCall } from '../domain/tools/tool-call.ts'
import type { ClaimedRun } from '../store/workers/claim-runs.ts'
import { gateOf } from '../domain/usage/budget.ts'
import { listBudgetsOfRun } from '../store/usage/budgets.ts'
import { loadConfiguration, loadContext, type Configuration, type LoadedRun } from '../store/runs/load-run.ts'
import { noLongerNeeded, onAbort } from '../util/abort.ts'
import type { ModelOutcome } from './call-model.ts'
import { callWithFallbacks } from './call-with-fallbacks.ts'
import { compact } from './compact.ts'
import { BlockChangedError, commit, handBack, LeaseLostError, UnstorableError, type Committed } from './commit.ts'
import { isCurrent, type CachedContext } from './context-cache.ts'
import type { EngineContext } from './engine-context.ts'
import type { DrivingWorker } from './driving-worker.ts'
import { KeptExchange } from './kept-exchange.ts'
import { stopAtBudget } from './stop-at-budget.ts'
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
 * LeaseLostError if another worker has the run. A run that cannot be stored is failed, because every other worker would
 * find it the same.
 */
export async function driveRun(context: EngineContext, claimed: ClaimedRun, worker: DrivingWorker): Promise<void> {
  try {
    await drive(context, await takeUpRun(context, claimed, worker), worker)
  } catch (error) {
    if (!(error instanceof UnstorableError)) throw error
    await takeUpRun(context, claimed, worker, { unstorable: true })
  }
}

async function drive(context: EngineContext, taken: TakenRun, worker: DrivingWorker): Promise<void> {
  const driver = new RunDriver(context, taken, worker)
  try {
    await driver.drive()
    driver.keepContext()
  } finally {
    driver.close()
  }
}

/** A request to the model, and what it was made from. */
interface Prepared {
  readonly configuration: Configuration
  readonly blocks: Configuration['blocks']
  readonly request: ModelRequest
  /** The request as the model can read it. */
  readonly readable: ModelRequest
  readonly window: number
  /** Whether the request is certainly small enough. */
  readonly fits: boolean
}

/** A request that was sent to the model. */
interface Asked {
  readonly prepared: Prepared
  readonly live: LiveStep
  readonly exchange: KeptExchange | undefined
  readonly outcome: Promise<ModelOutcome>
  /** Lets the answer be written into the live step. */
  show(): void
  abort(): void
}

type Change = (draft: Draft) => void

/** What a step's model said and used. */
interface AskedModel {
  readonly live: LiveStep
  readonly measured: Measured
}

const unstorableAnswer = internalFailure("The database refuses to store the model's answer.")
const unstorableResult = errorResult('The tool has run, but the server cannot store what it returned.')

class RunDriver {
  readonly #context: EngineContext
  readonly #runId: string
  readonly #worker: DrivingWorker
  /** Aborted when the run must stop: a cancel was stored, the worker lets go of it, or it has ended. */
  readonly #stop = new AbortController()
  /** Resolves when the worker lets go of whatever is still running. */
  readonly #hasLetGo = Promise.withResolvers<undefined>()
  readonly #stopAwaitingLetGo: () => void
  readonly #stopListening: () => void
  readonly #tools: RunningTools
  #committed: Committed
  /** The settings that were read last. */
  #configuration: Configuration | undefined
  /** Whether they were read with the claim or the last checkpoint, and no step has used them yet. */
  #isFresh: boolean
  /** The hub's when they were read. */
  #settingsVersion: number
  /** The request of the step that the checkpoint under way starts. */
  #ahead: Asked | undefined
  /** How many messages of that checkpoint are in the history already. */
  #aheadMessages = 0
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
    this.#configuration = loaded.configuration
    this.#settingsVersion = context.hub.settingsVersion
    // Not used if a tool runs first, because the tool may change them.
    this.#isFresh = committed.effect.type === 'call model'
    this.#worker = worker
    this.#runId = committed.state.run.id
    this.#useCached(loaded)
    this.#stopListening = context.hub.onStopRequest(this.#runId, () => this.#stop.abort())
    this.#stopAwaitingLetGo = onAbort(worker.letGo, () => {
      this.#stop.abort()
      this.#hasLetGo.resolve(undefined)
    })
    this.#tools = new RunningTools(context, this.#stop.signal)
  }

  #useCached({ bounds, contextVersion: version, state: { run, nextPosition } }: LoadedRun): void {
    const stored = { bounds, version, nextPosition: run.nextPosition ?? nextPosition }
    // Before its first turn, a conversation has no context to load.
    const isEmpty = nextPosition === bounds.contextFrom && bounds.summaryPosition === null && run.firstPosition === null
    const cached = isEmpty
      ? { bounds, version, messages: [], upTo: nextPosition }
      : this.#context.contexts.take(run.conversationId)
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
    this.#ahead?.abort()
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
      ? this.#withCurrentCalls(this.#state, this.#history)
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
      const asksModel = ['call model', 'compact', 'check budget'].includes(effect.type)
      if (this.#worker.letGo.aborted || (this.#worker.draining.aborted && asksModel)) {
        return handBack(this.#context, this.#state, effect.type === 'run tools' ? effect.calls : [])
      }
      if (effect.type === 'call model') await this.#callModel()
      else if (effect.type === 'check budget') await this.#checkBudget()
      else if (effect.type === 'compact') await this.#compactConversation()
      else await this.#runTools(effect.type === 'run tools' ? effect.calls : [])
    }
  }

  /**
   * Reads what the budgets leave after everything that was stored, so that of all processes only requests that are
   * already running spend more. A run stops under the locks of its budgets: whoever raises one finds it waiting.
   */
  async #checkBudget(): Promise<void> {
    const budgets = await whileDriving(this.#worker.letGo, () => listBudgetsOfRun(this.#context.db, this.#state.run))
    if (gateOf(budgets, this.#state) === 'open') return this.#commit((draft) => draft.setBudget('open'))
    this.#committed = await stopAtBudget(this.#context, this.#state.run, this.#worker.letGo)
    this.#history = undefined
    this.#isFresh = false
  }

  async #callModel(): Promise<void> {
    const asked = (await this.#takeAhead()) ?? (await this.#ask())
    if (!asked) return
    const { prepared, live, exchange } = asked
    const step = currentStep(this.#state)
    this.#live = live
    this.#context.hub.setLiveStep(this.#runId, live)
    asked.show()
    const outcome = await asked.outcome
    if (outcome.outcome === 'aborted' && this.#worker.letGo.aborted) return
    if (exchange && outcome.outcome === 'failure') exchange.failed(outcome.error)
    await exchange?.keep(this.#context, step)
    if (outcome.outcome === 'failure') {
      if (outcome.error.type !== 'LLM_CONTEXT_WINDOW') return this.#fail(outcome, { live, ...outcome })
      const { request, blocks, window } = prepared
      this.#spent.push(outcome.measured)
      // The provider counts tokens differently: what we sent exceeds its limit.
      this.#context.hub.endLiveStep(this.#runId, live)
      const weight = this.#weigh(prepared)
      const fit = { window: Math.min(window, weight.total), fixed: weight.systemPrompt + weight.tools }
      const { moved, failure } = await this.#compact(fit)
      if (moved) return
      // A small input cannot be the reason, whatever the provider says. The window of an unlisted model is a guess.
      const inInput = weight.total > Math.min(window / 2, smallContextTokens)
      const { stopReason } = inInput ? overflowOf(request, blocks, { weight, window }) : outcome
      return this.#fail(failure ?? { error: outcome.error, stopReason })
    }
    if (outcome.outcome === 'answer') {
      const asked = { live, measured: outcome.answer }
      return this.#commit((draft) => addAnswer(draft, outcome.answer), this.#failing(unstorableAnswer, asked))
    }
    await this.#commit((draft) => {
      // If no cancel is stored, nothing ends here and the step is repeated.
      if (draft.state.run.cancelRequestedAt) addInterruptedAnswer(draft, live.items, outcome.measured)
    })
  }

  /** Asks the model from what is stored now. Undefined if the context had to be compacted first, or the run failed. */
  async #ask(): Promise<Asked | undefined> {
    const prepared = await this.#prepare()
    if (this.#committed.effect.type === 'check budget') return undefined
    const { request, blocks, window } = prepared
    if (!prepared.fits) {
      const weight = this.#weigh(prepared)
      if (weight.total > window * compactAbove) {
        const { moved, failure } = await this.#compact({ window, fixed: weight.systemPrompt + weight.tools })
        if (moved) return undefined
        if (weight.total > window) {
          await this.#fail(failure ?? overflowOf(request, blocks, { weight, window }))
          return undefined
        }
      }
    }
    return this.#send(this.#state, prepared)
  }

  /**
   * Asks the model for the step that the checkpoint under way starts: a request harms nobody, so it does not wait for
   * the disk. Nothing of the answer is shown or used before the checkpoint is stored, and if that is refused, the
   * request is aborted and forgotten.
   */
  #askAhead({ state, effect, checkpoint }: Committed): void {
    this.#ahead?.abort()
    this.#ahead = undefined
    // The messages of a checkpoint that was refused must not stay.
    if (this.#aheadMessages > 0) this.#history = undefined
    this.#aheadMessages = 0
    const isStopping = this.#stop.signal.aborted || this.#worker.draining.aborted
    // The request may show what the checkpoint writes, and that cannot be read yet.
    const isShown = checkpoint.blocks.length > 0 || checkpoint.files.length > 0 || checkpoint.context !== null
    if (effect.type !== 'call model' || isStopping || isShown) return
    if (!this.#configuration || !this.#history || this.#settingsVersion !== this.#context.hub.settingsVersion) return
    const added = newMessages(state, checkpoint)
    this.#aheadMessages = added.length
    this.#history.push(...added)
    const prepared = this.#build(state, this.#configuration, this.#history)
    if (prepared.fits) this.#ahead = this.#send(state, prepared)
  }

  /** The request that was sent ahead, if the settings that it was made from are still current. */
  async #takeAhead(): Promise<Asked | undefined> {
    const ahead = this.#ahead
    if (!ahead) return undefined
    const current = await this.#readConfiguration()
    this.#ahead = undefined
    if (ahead.prepared.configuration.signature !== current.signature) {
      ahead.abort()
      return undefined
    }
    this.#use(current)
    return ahead
  }

  /** Builds the model request from what is stored now. */
  async #prepare(): Promise<Prepared> {
    const configuration = await this.#readConfiguration()
    this.#use(configuration)
    this.#history ??= await whileDriving(this.#worker.letGo, () => this.#loadHistory())
    return this.#build(this.#state, configuration, this.#history)
  }

  async #readConfiguration(): Promise<Configuration> {
    const { db, hub } = this.#context
    const { agent, run } = this.#state
    if (this.#configuration && this.#isFresh) return this.#configuration
    this.#settingsVersion = hub.settingsVersion
    const read = await whileDriving(this.#worker.letGo, () => loadConfiguration(db, agent.id, run.memoryConversationId))
    if (!read) throw new LeaseLostError(this.#runId)
    this.#configuration = read
    this.#isFresh = true
    return read
  }

  /** What was read with a checkpoint serves the step that the checkpoint started, and only its first attempt. */
  #use(configuration: Configuration): void {
    const { agent, tools, blocks, budgeted } = configuration
    this.#isFresh = false
    for (const { id, version } of blocks) this.#seenBlocks.set(id, version)
    const { budget } = this.#state
    const state = { ...this.#state, agent, tools, budget: budgeted ? budget : ('none' as const) }
    this.#committed = { ...this.#committed, state }
    // A budget was made since the last step was decided on.
    if (!budgeted || budget !== 'none') return
    this.#committed = { ...this.#committed, state: { ...state, budget: 'unchecked' }, effect: { type: 'check budget' } }
  }

  #build(state: RunState, configuration: Configuration, history: ContextMessage[]): Prepared {
    const { catalog, clock } = this.#context
    const { agent, tools, blocks } = configuration
    const configured = { ...state, agent, tools }
    const window = contextWindowOf(agent, catalog)
    const current = this.#withCurrentCalls(configured, history)
    const request = buildModelRequest(configured, blocks, current, { window, now: clock.now() })
    // Content that the model cannot read counts only as the words that describe it.
    const readable = describeUnreadable(request, catalog.capabilitiesOf(request.model))
    // Most contexts are far below the limit, so their tokens need no counting.
    const fits = mostTokensOf(readable) <= window * compactAbove
    return { configuration, blocks, request, readable, window, fits }
  }

  #weigh({ readable }: Prepared): RequestWeight {
    return weighRequest(readable, this.#context.countTokens)
  }

  /** Nothing is written into the live step before `show` is called. */
  #send(state: RunState, prepared: Prepared): Asked {
    const live: LiveStep = { seq: state.run.nextSeq - 1, stepIndex: currentStep(state).index, items: [] }
    const exchange =
      prepared.configuration.agent.keepRequests && this.#context.keepsRequests ? new KeptExchange() : undefined
    const { promise: mayBegin, resolve: show } = Promise.withResolvers<void>()
    const dropped = new AbortController()
    const stopListening = onAbort(this.#stop.signal, (reason) => dropped.abort(reason))
    const needOf = (name: string) => announcedNeed({ ...state, ...prepared.configuration }, name)
    const call = async (): Promise<ModelOutcome> => {
      try {
        const loaded = await this.#withFiles(prepared.request)
        const request = { ...loaded, ...(exchange && { exchange }) }
        const options = { signal: dropped.signal, mayBegin, needOf }
        return await callWithFallbacks(this.#context, this.#runId, request, live, options)
      } finally {
        stopListening()
      }
    }
    const outcome = call()
    // It may fail while the checkpoint is still being stored, before anything awaits it.
    outcome.catch(() => undefined)
    const abort = () => {
      dropped.abort(noLongerNeeded)
      show()
    }
    return { prepared, live, exchange, outcome, show, abort }
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
  #withCurrentCalls(state: RunState, history: ContextMessage[]): readonly ContextMessage[] {
    for (let place = this.#ownFrom; place < history.length; place += 1) {
      history[place] = withCurrentCalls(state, history[place]!)
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

  async #fail(failure: RunFailure, asked?: AskedModel): Promise<void> {
    await this.#commit(this.#failing(failure, asked))
  }

  #failing({ error, stopReason }: RunFailure, asked?: AskedModel): Change {
    return (draft) => {
      // A stored cancel takes precedence over a model failure at the same moment.
      if (draft.state.run.cancelRequestedAt) {
        if (asked) addInterruptedAnswer(draft, asked.live.items, asked.measured)
        return
      }
      if (asked) addMeasured(draft, asked.measured)
      const withReturns = error.type === 'LLM_BAD_REQUEST'
      draft.excludeFromContext(unansweredInput(this.#history ?? [], this.#runId, { withReturns }))
      endRun(draft, { stopReason, error })
    }
  }

  /** Drives a run that only compacts the conversation. */
  async #compactConversation(): Promise<void> {
    const { request, window } = await this.#prepare()
    if (this.#committed.effect.type === 'check budget') return
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
    const keep: Change = (draft) => {
      draft.settleCall(finished.callId, finished.status, finished.result)
      draft.writeBlocks(finished.writes)
      draft.addPassages(finished.passages)
      draft.addFiles(finished.files)
    }
    try {
      await this.#commit(keep, (draft) => draft.settleCall(finished.callId, 'FAILED', unstorableResult))
      const { blocks } = this.#committed.checkpoint
      for (const { blockId, expectedVersion } of blocks) this.#seenBlocks.set(blockId, expectedVersion + 1)
    } catch (error) {
      if (!(error instanceof BlockChangedError)) throw error
      // Runs the tool again, on the current block.
      const again = this.#state.calls.filter((call) => call.id === finished.callId)
      this.#tools.start(this.#state, again, this.#seenBlocks)
    }
  }

  /** Stores a change or, if the database refuses it for good, `instead`. */
  async #commit(change: Change, instead?: Change): Promise<void> {
    const spent = this.#spent
    const counted = (draft: Draft) => {
      for (const measured of spent) draft.addUsage(measured)
      change(draft)
    }
    const { settingsVersion } = this.#context.hub
    try {
      this.#committed = await commit(this.#context, this.#state, counted, {
        letGo: this.#worker.letGo,
        known: this.#configuration,
        onDraft: (next) => this.#askAhead(next),
      })
    } catch (error) {
      if (!instead || !(error instanceof UnstorableError)) throw error
      return this.#commit(instead)
    }
    const { configuration, checkpoint } = this.#committed
    this.#isFresh = configuration !== undefined
    if (configuration) {
      this.#configuration = configuration
      this.#settingsVersion = settingsVersion
    }
    this.#spent = this.#spent.slice(spent.length)
    this.#worker.onProgress?.()
    if (this.#aheadMessages === 0) this.#history?.push(...newMessages(this.#state, checkpoint))
    this.#aheadMessages = 0
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
