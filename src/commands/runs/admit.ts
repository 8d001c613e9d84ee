import { settleMessages, type OfferedContent } from '../../domain/context/offered-content.ts'
import { targetNotFound, type Target } from '../../domain/conversations/conversation.ts'
import { runDefaults, type Run } from '../../domain/runs/run.ts'
import { beginningOf } from '../../domain/runs/take-up.ts'
import type { Viewer } from '../../domain/access/viewer.ts'
import type { ChangeTransaction } from '../../live/change-run.ts'
import type { AdmittedRun, ReservedPlace } from '../../live/work-signal.ts'
import { admitRun, findActiveRun, lockConversation, type Admitted, type NewRun } from '../../store/runs/admission.ts'
import { findRunProgress } from '../../store/runs/runs.ts'
import { transact } from '../../store/database/transact.ts'
import { heldRefusal, type HeldRefusal } from '../conversations/select-branch.ts'
import { stopRun } from './cancel-run.ts'
import type { CommandContext, RunContext } from '../command-context.ts'
import { findNamedFiles, keepFiles } from '../files/store-files.ts'
import { findEarlierRun, remember, type KeyedInput } from '../idempotency.ts'

export type WhenBusy = 'REJECT' | 'ENQUEUE' | 'INTERRUPT'

export interface Admission {
  readonly to: Target
  readonly whenBusy: WhenBusy
  /** Set if the client gave a key: the same request then returns the same run. */
  readonly keyed?: KeyedInput | undefined
  /** The run's messages, if they include or name files. */
  readonly content?: OfferedContent | undefined
}

export type AdmissionOutcome =
  /**
   * `isNew` is false if an earlier request with the same key started the run. `run` is set if it was read when it was
   * stored.
   */
  | { readonly outcome: 'accepted'; readonly runId: string; readonly isNew: boolean; readonly run?: Run | undefined }
  | HeldRefusal

/** A run that is not stored yet: a turn, with the usual limits unless others are given. */
export function newRun(
  { ids, clock }: Pick<RunContext, 'ids' | 'clock'>,
  given: Pick<NewRun, 'tenantId' | 'sentBy' | 'request'> & Partial<NewRun>,
): NewRun {
  const { maxSteps } = runDefaults
  const usual = { kind: 'TURN', parentId: null, urgent: false, maxSteps, maxTotalTokens: null, metadata: {} } as const
  return { id: ids.next(), ...usual, createdAt: clock.now(), ...given }
}

/** Stores a run that a client asks for. Once this returns, the run will be driven, even if this process dies. */
export async function admit(
  context: CommandContext,
  viewer: Viewer,
  admission: Admission,
  run: NewRun,
): Promise<AdmissionOutcome> {
  // Tries again if the run that blocked it ended between the refusal and the look at that run.
  for (;;) {
    const place = context.work.reservePlace(run.id)
    const { outcome, admitted } = await store(context, viewer, admission, { run, place }).catch((error: unknown) => {
      place?.release({ inDoubt: true })
      throw error
    })
    if (admitted) announceAdmitted(context, run, admitted)
    if (admitted?.claimed) place!.drive(admitted.claimed)
    else {
      place?.release()
      if (admitted?.holds) context.work.announce()
    }
    if (outcome) return outcome
  }
}

/**
 * Stores a run in the caller's transaction. It waits if the conversation is busy. Undefined if the tenant has no such
 * conversation.
 */
export async function enqueue(
  context: RunContext,
  { trx, afterCommit }: ChangeTransaction,
  to: Target,
  run: NewRun,
): Promise<Admitted | undefined> {
  const reach = { tenantId: run.tenantId }
  const admitted = await admitRun(trx, to, run, { reach, mayWait: true, driver: null })
  if (!admitted) return undefined
  afterCommit(() => {
    announceAdmitted(context, run, admitted)
    if (admitted.holds) context.work.announce()
  })
  return admitted
}

function announceAdmitted(
  { hub }: RunContext,
  run: NewRun,
  { conversationId }: Pick<Admitted, 'conversationId'>,
): void {
  hub.announce({ runId: run.id, tenantId: run.tenantId, conversationId, status: 'QUEUED', calls: false })
}

interface Attempt {
  /** Undefined if the conversation was busy but no longer is. */
  readonly outcome?: AdmissionOutcome
  /** Set if a new run was stored. */
  readonly admitted?: Omit<Admitted, 'claimed'> & { readonly claimed?: AdmittedRun | undefined }
}

interface RunToStore {
  readonly run: NewRun
  /** A free place for it in this process. */
  readonly place: ReservedPlace | undefined
}

function store(context: CommandContext, viewer: Viewer, admission: Admission, given: RunToStore): Promise<Attempt> {
  const needsTransaction = admission.keyed || admission.content || admission.whenBusy === 'INTERRUPT'
  return needsTransaction
    ? admitInTransaction(context, viewer, admission, given)
    : tryToAdmit(context, context.db, viewer, admission, given)
}

async function tryToAdmit(
  { ids }: CommandContext,
  db: CommandContext['db'],
  viewer: Viewer,
  { to, whenBusy }: Admission,
  { run, place }: RunToStore,
): Promise<Attempt> {
  const beginning = run.kind === 'TURN' ? beginningOf(run.request, ids) : null
  const driver = place ? { ...place, beginning } : null
  const admitted = await admitRun(db, to, run, { reach: viewer, mayWait: whenBusy !== 'REJECT', driver })
  if (admitted) {
    const { claimed: loaded } = admitted
    const claimed = loaded && { loaded, begunWith: beginning?.messages.map(({ id }) => id) }
    const outcome = { outcome: 'accepted', runId: run.id, isNew: true, run: loaded?.state.run } as const
    return { outcome, admitted: { ...admitted, claimed } }
  }
  const found = await findActiveRun(db, viewer, to)
  if (!found) throw targetNotFound(to)
  const { activeRunId: runId } = found
  const progress = runId === null ? undefined : await findRunProgress(db, runId)
  if (runId === null || !progress) return {}
  return { outcome: heldRefusal(runId, progress) }
}

async function admitInTransaction(
  context: CommandContext,
  viewer: Viewer,
  admission: Admission,
  { run, place }: RunToStore,
): Promise<Attempt> {
  const { to, whenBusy, keyed, content } = admission
  return transact(context, async (trx, afterCommit): Promise<Attempt> => {
    const locked = await lockConversation(trx, viewer, to)
    if (!locked) throw targetNotFound(to)
    const earlier = await findEarlierRun(trx, viewer, { keyed, now: run.createdAt })
    if (earlier) return { outcome: { outcome: 'accepted', runId: earlier, isNew: false } }
    const { conversationId } = locked
    const found = content && (await findNamedFiles(trx, viewer, conversationId, content.files))
    const messages = found && settleMessages(content.messages, found)
    const settled = messages ? { ...run, request: { ...run.request, messages } } : run
    const attempt = await tryToAdmit(context, trx, viewer, admission, { run: settled, place })
    if (!attempt.admitted) return attempt
    const { tenantId, createdAt: now } = run
    if (content) await keepFiles(context, trx, { tenantId, conversationId }, content.files, now)
    await remember(trx, keyed, { objectIds: [run.id], now })
    if (whenBusy === 'INTERRUPT' && locked.activeRunId !== null) {
      const stop = { runId: locked.activeRunId, by: viewer.actor, action: 'sendMessage' }
      await stopRun(context, { trx, afterCommit }, stop)
    }
    return attempt
  })
}
