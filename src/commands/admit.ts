import { targetNotFound, type Target } from '../domain/target.ts'
import type { Viewer } from '../domain/viewer.ts'
import { admitRun, findActiveRun, lockConversation, type NewRun } from '../store/admission.ts'
import { findRunProgress } from '../store/runs.ts'
import { transact } from '../store/transact.ts'
import { stopRun } from './cancel-run.ts'
import type { CommandContext } from './command-context.ts'
import { findEarlierRun, rememberRun, type KeyedInput } from './idempotency.ts'

export type WhenBusy = 'REJECT' | 'ENQUEUE' | 'INTERRUPT'

export interface Admission {
  readonly to: Target
  readonly whenBusy: WhenBusy
  /** Where the client gave a key: the same request gives the same run. */
  readonly keyed?: KeyedInput | undefined
}

export type AdmissionOutcome =
  | { readonly outcome: 'accepted'; readonly runId: string }
  /** The active run waits for approval. */
  | { readonly outcome: 'pending approval'; readonly runId: string }
  | { readonly outcome: 'busy'; readonly runId: string }

/** Stores a run that a client asks for. Once this answers, the run will happen, whatever becomes of this process. */
export async function admit(
  context: CommandContext,
  viewer: Viewer,
  admission: Admission,
  run: NewRun,
): Promise<AdmissionOutcome> {
  // A retry, so that a run that ends between the refusal and the look at it does not leave us without an answer.
  for (;;) {
    const outcome =
      admission.keyed || admission.whenBusy === 'INTERRUPT'
        ? await admitInTransaction(context, viewer, admission, run)
        : await tryToAdmit(context.db, viewer, admission, run)
    if (!outcome) continue
    if (outcome.admitted) {
      const { conversationId, holds } = outcome.admitted
      context.hub.announce({ runId: run.id, tenantId: run.tenantId, conversationId, status: 'QUEUED', calls: false })
      if (holds) context.work.announce()
    }
    return outcome
  }
}

type Attempt = AdmissionOutcome & {
  /** The conversation that a new run was stored in, and whether the run holds it. */
  readonly admitted?: { readonly conversationId: string; readonly holds: boolean }
}

/** Undefined where the conversation was busy and is not any more. */
async function tryToAdmit(
  db: CommandContext['db'],
  viewer: Viewer,
  { to, whenBusy }: Admission,
  run: NewRun,
): Promise<Attempt | undefined> {
  const admitted = await admitRun(db, to, run, { reach: viewer, mayWait: whenBusy !== 'REJECT' })
  if (admitted) return { outcome: 'accepted', runId: run.id, admitted }
  const found = await findActiveRun(db, viewer, to)
  if (!found) throw targetNotFound(to)
  if (found.activeRunId === null) return undefined
  const progress = await findRunProgress(db, found.activeRunId)
  if (!progress) return undefined
  return {
    outcome: progress.status === 'AWAITING_APPROVAL' ? 'pending approval' : 'busy',
    runId: found.activeRunId,
  }
}

async function admitInTransaction(
  context: CommandContext,
  viewer: Viewer,
  admission: Admission,
  run: NewRun,
): Promise<Attempt | undefined> {
  const { to, whenBusy, keyed } = admission
  return transact(context, async (trx, afterCommit): Promise<Attempt | undefined> => {
    const locked = await lockConversation(trx, viewer, to)
    if (!locked) throw targetNotFound(to)
    const earlier = keyed && (await findEarlierRun(trx, keyed, run.createdAt))
    if (earlier) return { outcome: 'accepted', runId: earlier }
    const admitted = await tryToAdmit(trx, viewer, admission, run)
    if (admitted?.outcome !== 'accepted') return admitted
    if (keyed) await rememberRun(trx, keyed, { runId: run.id, now: run.createdAt })
    if (whenBusy === 'INTERRUPT' && locked.activeRunId !== null) {
      await stopRun(context, { trx, afterCommit }, locked.activeRunId)
    }
    return admitted
  })
}
