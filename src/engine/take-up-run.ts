import type { Transaction } from 'kysely'

import { advance, endRun } from '../domain/advance.ts'
import type { Block } from '../domain/block.ts'
import { buildModelRequest } from '../domain/build-model-request.ts'
import { unansweredInput } from '../domain/context.ts'
import { Draft, type ContextBounds } from '../domain/draft.ts'
import { contextWindowOf } from '../domain/model.ts'
import type { DrivenRun } from '../domain/run-state.ts'
import { hasEnded } from '../domain/run.ts'
import { readingOf, sleeptimeInput } from '../domain/sleeptime.ts'
import { failPoisonedRun, isPoison, isSuspect, takeUp } from '../domain/take-up.ts'
import { weighRequest } from '../domain/tokens.ts'
import { loadContext, loadRun, type LoadedRun } from '../store/load-run.ts'
import { lockRun } from '../store/lock-run.ts'
import type { Database } from '../store/schema.ts'
import { listUnreadConversations } from '../store/sleeptime-material.ts'
import { isWorkerGone } from '../store/workers.ts'
import { LeaseLostError, store, storeIn, unlessRefused, type Committed } from './commit.ts'
import type { EngineContext } from './engine-context.ts'
import type { Holder } from './holder.ts'

export interface TakenRun {
  readonly committed: Committed
  readonly bounds: ContextBounds
  /** As they were when the run was loaded. */
  readonly blocks: readonly Block[]
  /** To be called once the run got somewhere, or is let go of. */
  readonly onProgress: () => void
}

type Taker = Pick<Holder, 'lease' | 'workerId'>
type Taken = Omit<TakenRun, 'onProgress'>

/** Undefined where there is nothing to take: the run waits, has ended, or another worker drives it. */
export async function takeUpRun(context: EngineContext, runId: string, holder: Holder): Promise<TakenRun | undefined> {
  let leave: (() => void) | undefined
  try {
    for (;;) {
      const loaded = await loadRun(context.db, runId)
      if (!loaded || !isFree(loaded)) return undefined
      if (!leave && isSuspect(loaded.state.run)) {
        leave = await holder.suspects.enter(holder.draining)
        continue
      }
      const taken = isUnreadSleeptime(loaded.state.run)
        ? await takeUpSleeptimeRun(context, runId, holder)
        : await takeUpLoadedRun(context, loaded, holder)
      if (taken) {
        const onProgress = leave ?? (() => {})
        leave = undefined
        return { ...taken, onProgress }
      }
      // Refused where something came in between, a cancel or another worker: look again, unless it was we who were given up.
      if (await isWorkerGone(context.db, holder.workerId)) throw new LeaseLostError(runId)
    }
  } finally {
    leave?.()
  }
}

/** The runs of workers that are gone are freed by the sweep. */
function isFree({ holds, state: { run } }: LoadedRun): boolean {
  return holds && run.lease === null && run.status !== 'AWAITING_APPROVAL' && !hasEnded(run.status)
}

async function takeUpLoadedRun(
  context: EngineContext,
  { state, bounds, blocks }: LoadedRun,
  { lease, workerId }: Taker,
): Promise<Taken | undefined> {
  const { run } = state
  const draft = new Draft(state, context)
  if (isPoison(run) && !run.cancelRequestedAt) {
    const history = await loadContext(context.db, run.conversationId, bounds)
    failPoisonedRun(draft, { unanswered: unansweredInput(history, run.id, { withReturns: true }) })
  } else takeUp(draft, { lease, workerId })
  const effect = advance(draft)
  const checkpoint = draft.checkpoint()
  const stored = await store(context, checkpoint)
  return stored ? { committed: { state: draft.state, effect, checkpoint }, bounds, blocks } : undefined
}

/** A background run that begins: its input is what there is to read at this moment. */
function isUnreadSleeptime(run: DrivenRun): boolean {
  return run.kind === 'SLEEPTIME' && run.status === 'QUEUED' && run.firstPosition === null
}

/**
 * The run is locked before anything is read: a turn that ends meanwhile either finds that the run has begun, and makes
 * another, or is read by it.
 */
async function takeUpSleeptimeRun(
  context: EngineContext,
  runId: string,
  { lease, workerId }: Taker,
): Promise<Taken | undefined> {
  const result = await context.db
    .transaction()
    .execute(async (trx) => {
      const locked = await lockRun(trx, runId)
      const loaded = locked && (await loadRun(trx, runId))
      if (!locked || !loaded || !isUnreadSleeptime(loaded.state.run)) return undefined
      const draft = new Draft(loaded.state, context)
      takeUp(draft, { lease, workerId })
      const hasInput = await addUnread(context, trx, draft, loaded.blocks)
      // Nothing to read: another run has read it, or the agent no longer works in the background.
      if (!hasInput) endRun(draft, { stopReason: 'END_TURN' })
      const effect = advance(draft)
      const checkpoint = draft.checkpoint()
      const announce = await storeIn(context, trx, locked, checkpoint)
      const committed: Committed = { state: draft.state, effect, checkpoint }
      return { announce, taken: { committed, bounds: loaded.bounds, blocks: loaded.blocks } }
    })
    .catch(unlessRefused)
  result?.announce()
  return result?.taken
}

async function addUnread(
  context: EngineContext,
  trx: Transaction<Database>,
  draft: Draft,
  blocks: readonly Block[],
): Promise<boolean> {
  const { run, agent } = draft.state
  const agentId = run.request.foregroundAgentId
  const unread = agentId ? await listUnreadConversations(trx, { agentId, sleeptimeAgentId: agent.id }) : []
  if (unread.length === 0) return false
  const window = contextWindowOf(agent, context.catalog)
  const { systemPrompt, tools } = weighRequest(
    buildModelRequest(draft.state, blocks, [], { window, now: context.clock.now() }),
  )
  // Half of what is free: what the agent does about it needs room too.
  draft.addGivenMessages([sleeptimeInput(unread, Math.floor((window - systemPrompt - tools) / 2))])
  draft.changeRun({ reading: readingOf(unread) })
  return true
}
