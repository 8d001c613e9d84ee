import type { Viewer } from '../domain/viewer.ts'
import {
  admitRun,
  findActiveRun,
  lockConversation,
  targetNotFound,
  type NewRun,
  type Target,
} from '../store/admission.ts'
import { retryDeadlocks } from '../store/retry-deadlocks.ts'
import { findRunProgress } from '../store/runs.ts'
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
        ? await retryDeadlocks(() => admitInTransaction(context, viewer, admission, run))
        : await tryToAdmit(context.db, admission, run)
    if (!outcome) continue
    if (outcome.admittedTo !== undefined) {
      const { id: runId, tenantId } = run
      context.hub.announce({ runId, tenantId, conversationId: outcome.admittedTo, status: 'QUEUED', calls: false })
    }
    return outcome
  }
}

type Attempt = AdmissionOutcome & {
  /** The conversation that a new run was stored in. */
  readonly admittedTo?: string
}

/** Undefined where the conversation was busy and is not any more. */
async function tryToAdmit(
  db: CommandContext['db'],
  { to, whenBusy }: Admission,
  run: NewRun,
): Promise<Attempt | undefined> {
  const admitted = await admitRun(db, to, run, { mayWait: whenBusy !== 'REJECT' })
  if (admitted) return { outcome: 'accepted', runId: run.id, admittedTo: admitted.conversationId }
  const found = await findActiveRun(db, run.tenantId, to)
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
  let announce = () => {}
  const outcome = await context.db.transaction().execute(async (trx): Promise<Attempt | undefined> => {
    const locked = await lockConversation(trx, viewer.tenantId, to)
    if (!locked) throw targetNotFound(to)
    const earlier = keyed && (await findEarlierRun(trx, keyed, run.createdAt))
    if (earlier) return { outcome: 'accepted', runId: earlier }
    const admitted = await tryToAdmit(trx, admission, run)
    if (admitted?.outcome !== 'accepted') return admitted
    if (keyed) await rememberRun(trx, keyed, { runId: run.id, now: run.createdAt })
    if (whenBusy === 'INTERRUPT' && locked.activeRunId !== null) {
      announce = await stopRun(context, trx, locked.activeRunId)
    }
    return admitted
  })
  announce()
  return outcome
}
