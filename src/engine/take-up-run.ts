import type { Transaction } from 'kysely'

import { advance, endRun } from '../domain/runs/advance.ts'
import type { Block } from '../domain/memory/block.ts'
import { buildModelRequest } from '../domain/context/build-model-request.ts'
import { unansweredInput } from '../domain/context/context.ts'
import { Draft } from '../domain/runs/draft.ts'
import { contextWindowOf } from '../domain/models/model.ts'
import type { DrivenRun } from '../domain/runs/run-state.ts'
import { readingOf, sleeptimeInput } from '../domain/memory/sleeptime.ts'
import { failPoisonedRun, isPoison, takeUp } from '../domain/take-up.ts'
import { weighRequest } from '../domain/tokens.ts'
import type { ClaimedRun } from '../store/workers/claim-runs.ts'
import { loadContext, loadRun, type LoadedRun } from '../store/runs/load-run.ts'
import { lockRun } from '../store/runs/lock-run.ts'
import type { Database } from '../store/database/schema.ts'
import { listUnreadConversations } from '../store/memory/sleeptime-material.ts'
import { transact } from '../store/transact.ts'
import { LeaseLostError, storeIn, storeWhileDriving, undefinedIfRefused, type Committed } from './commit.ts'
import type { EngineContext } from './engine-context.ts'
import type { DrivingWorker } from './driving-worker.ts'
import { whileDriving } from './while-driving.ts'

export interface TakenRun {
  readonly committed: Committed
  /** The run as it was loaded, before the first checkpoint. */
  readonly loaded: LoadedRun
}

/** Stores the first checkpoint of a claimed run: that it is running, its input, and its first action. */
export async function takeUpRun(
  context: EngineContext,
  claimed: ClaimedRun,
  { letGo }: DrivingWorker,
): Promise<TakenRun> {
  const { id, lease } = claimed.loaded.state.run
  const reload = () => whileDriving(letGo, () => loadRun(context.db, id))
  for (let loaded = claimed.stale ? await reload() : claimed.loaded; ; loaded = await reload()) {
    if (loaded?.state.run.lease !== lease) throw new LeaseLostError(id)
    const taken = isUnreadSleeptime(loaded.state.run)
      ? await whileDriving(letGo, () => takeUpSleeptimeRun(context, loaded.state.run))
      : await takeUpLoadedRun(context, loaded, letGo)
    if (taken) return taken
    // The checkpoint was refused because a cancel was stored or the lease is gone. Load the run again.
  }
}

async function takeUpLoadedRun(
  context: EngineContext,
  loaded: LoadedRun,
  letGo: AbortSignal,
): Promise<TakenRun | undefined> {
  const { run } = loaded.state
  const draft = new Draft(loaded.state, context)
  if (isPoison(run) && !run.cancelRequestedAt) {
    const history = await whileDriving(letGo, () => loadContext(context.db, run.conversationId, loaded.bounds))
    // The input that killed the workers, including tool returns, must not be sent again by the next run.
    failPoisonedRun(draft, { unanswered: unansweredInput(history, run.id, { withReturns: true }) })
  } else takeUp(draft)
  const effect = advance(draft)
  const checkpoint = draft.checkpoint()
  const stored = await storeWhileDriving(context, checkpoint, { letGo })
  return stored ? { committed: { state: draft.state, effect, checkpoint }, loaded } : undefined
}

/** Whether this is a background run that has not begun. It gets its input when it begins. */
function isUnreadSleeptime(run: DrivenRun): boolean {
  return run.kind === 'SLEEPTIME' && run.status === 'QUEUED' && run.firstPosition === null && !isPoison(run)
}

/**
 * Locks the run before reading anything. A turn that ends at the same time either finds that this run has begun and
 * creates another one, or its messages are read here.
 */
async function takeUpSleeptimeRun(context: EngineContext, { id, lease }: DrivenRun): Promise<TakenRun | undefined> {
  return transact(context, async (trx, afterCommit): Promise<TakenRun | undefined> => {
    const locked = await lockRun(trx, id)
    const loaded = locked && (await loadRun(trx, id))
    if (!loaded || loaded.state.run.lease !== lease || !isUnreadSleeptime(loaded.state.run)) return undefined
    const draft = new Draft(loaded.state, context)
    takeUp(draft)
    const hasInput = await addUnread(context, trx, draft, loaded.blocks)
    // Another run has already read everything, or the agent no longer has sleeptime agents.
    if (!hasInput) endRun(draft, { stopReason: 'END_TURN' })
    const effect = advance(draft)
    const checkpoint = draft.checkpoint()
    await storeIn(context, { trx, afterCommit, locked }, checkpoint)
    return { committed: { state: draft.state, effect, checkpoint }, loaded }
  }).catch(undefinedIfRefused)
}

async function addUnread(
  context: EngineContext,
  trx: Transaction<Database>,
  draft: Draft,
  blocks: readonly Block[],
): Promise<boolean> {
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
