import { advance, endRun } from '../domain/runs/advance.ts'
import type { Block } from '../domain/memory/block.ts'
import { buildModelRequest } from '../domain/context/build-model-request.ts'
import type { RunFailure } from '../domain/context/context-overflow.ts'
import { unansweredInput } from '../domain/context/context.ts'
import { Draft } from '../domain/runs/draft.ts'
import { contextWindowOf } from '../domain/models/model.ts'
import type { DrivenRun } from '../domain/runs/run-state.ts'
import { readingOf, sleeptimeInput } from '../domain/memory/sleeptime.ts'
import { beforeBeginning, begin, giveUp, givingUp, isPoison, takeUp } from '../domain/runs/take-up.ts'
import { weighRequest } from '../domain/context/request-weight.ts'
import { announceCheckpoint } from '../live/announce.ts'
import { changeRun, undefinedIfRefused } from '../live/change-run.ts'
import type { ClaimedRun } from '../store/workers/claim-runs.ts'
import { loadContext, loadRun, type LoadedRun } from '../store/runs/load-run.ts'
import type { Trx } from '../store/database/schema.ts'
import { listUnreadConversations } from '../store/memory/sleeptime-material.ts'
import { transact } from '../store/database/transact.ts'
import { judged } from '../util/json-schema.ts'
import { LeaseLostError, storeWhileDriving, storing, type Committed } from './commit.ts'
import type { EngineContext } from './engine-context.ts'
import type { DrivingWorker } from './driving-worker.ts'
import { whileDriving } from './while-driving.ts'

export interface TakenRun {
  readonly committed: Committed
  /** The run as it was loaded, before the first checkpoint. */
  readonly loaded: LoadedRun
}

/**
 * Stores the first checkpoint of a claimed run: that it is running, its input, and its first action. A run that killed
 * its workers, or whose next checkpoint is `unstorable`, is failed instead.
 */
export async function takeUpRun(
  context: EngineContext,
  claimed: ClaimedRun,
  { letGo }: DrivingWorker,
  { unstorable = false } = {},
): Promise<TakenRun> {
  if (claimed.begunWith && !unstorable) return takeBegunRun(context, claimed.loaded, claimed.begunWith)
  const { id, lease } = claimed.loaded.state.run
  const reload = () => whileDriving(letGo, () => loadRun(context.db, id))
  for (let loaded = claimed.stale || unstorable ? await reload() : claimed.loaded; ; loaded = await reload()) {
    if (loaded?.state.run.lease !== lease) throw new LeaseLostError(id)
    const { run } = loaded.state
    const failure = unstorable ? givingUp.unstorable : isPoison(run) ? givingUp.poison : undefined
    const taken =
      !failure && isUnreadSleeptime(run)
        ? await storing(context, letGo, () => takeUpSleeptimeRun(context, run))
        : await takeUpLoadedRun(context, loaded, letGo, failure)
    if (taken) return taken
    // The checkpoint was refused because a cancel was stored or the lease is gone. Load the run again.
  }
}

/** The run began in the statement that accepted it, so there is nothing to store. */
function takeBegunRun(context: EngineContext, stored: LoadedRun, messageIds: readonly string[]): TakenRun {
  const loaded = { ...stored, state: beforeBeginning(stored.state) }
  const { draft, effect } = begin(loaded.state, messageIds)
  const checkpoint = draft.checkpoint()
  announceCheckpoint(context, checkpoint)
  return { committed: { state: draft.state, effect, checkpoint }, loaded }
}

async function takeUpLoadedRun(
  context: EngineContext,
  loaded: LoadedRun,
  letGo: AbortSignal,
  failure: RunFailure | undefined,
): Promise<TakenRun | undefined> {
  const { run } = loaded.state
  // A run that is to be cancelled is only wound down.
  const history =
    failure && !run.cancelRequestedAt
      ? await whileDriving(letGo, () => loadContext(context.db, run.conversationId, loaded.bounds))
      : []
  const { draft, effect } = await judged(run.tenantId, () => {
    const draft = new Draft(loaded.state, context)
    if (!failure) takeUp(draft)
    // The input that killed the workers, including tool returns, must not be sent again by the next run.
    else if (!run.cancelRequestedAt)
      giveUp(draft, failure, unansweredInput(history, run.id, { withReturns: isPoison(run) }))
    return { draft, effect: advance(draft) }
  })
  const checkpoint = draft.checkpoint()
  const stored = await storeWhileDriving(context, { checkpoint, withConfiguration: false }, letGo)
  return stored ? { committed: { state: draft.state, effect, checkpoint }, loaded } : undefined
}

/** Whether this is a background run that has not begun. It gets its input when it begins. */
function isUnreadSleeptime(run: DrivenRun): boolean {
  return run.kind === 'SLEEPTIME' && run.status === 'QUEUED' && run.firstPosition === null
}

/**
 * Locks the run before reading anything. A turn that ends at the same time either finds that this run has begun and
 * creates another one, or its messages are read here.
 */
async function takeUpSleeptimeRun(context: EngineContext, { id, lease }: DrivenRun): Promise<TakenRun | undefined> {
  return transact(context, (trx, afterCommit) =>
    changeRun(context, { trx, afterCommit }, id, async (draft, loaded): Promise<TakenRun | undefined> => {
      const { run } = loaded.state
      if (run.lease !== lease || !isUnreadSleeptime(run)) return undefined
      takeUp(draft)
      const hasInput = await addUnread(context, trx, draft, loaded.configuration.blocks)
      // Another run has already read everything, or the agent no longer has sleeptime agents.
      if (!hasInput) endRun(draft, { stopReason: 'END_TURN' })
      const effect = advance(draft)
      return { committed: { state: draft.state, effect, checkpoint: draft.checkpoint() }, loaded }
    }),
  ).catch(undefinedIfRefused)
}

async function addUnread(context: EngineContext, trx: Trx, draft: Draft, blocks: readonly Block[]): Promise<boolean> {
  const { run, agent } = draft.state
  const agentId = run.request.foregroundAgentId
  const of = run.memoryConversationId === run.conversationId ? null : run.memoryConversationId
  const unread = agentId ? await listUnreadConversations(trx, { agentId, sleeptimeAgentId: agent.id, of }) : []
  if (unread.length === 0) return false
  const window = contextWindowOf(agent, context.catalog)
  const { systemPrompt, tools } = weighRequest(
    buildModelRequest(draft.state, blocks, [], { window, now: context.clock.now() }),
  )
  // Uses half of the free window: the agent needs the rest for its own work.
  draft.addGivenMessages([sleeptimeInput(unread, Math.floor((window - systemPrompt - tools) / 2))])
  draft.changeRun({ reading: readingOf(unread) })
  return true
}
