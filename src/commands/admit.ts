import type { GivenMessage } from '../domain/conversations/message.ts'
import { settleMessages, type OfferedContent } from '../domain/context/offered-content.ts'
import { targetNotFound, type Target } from '../domain/conversations/target.ts'
import type { Viewer } from '../domain/access/viewer.ts'
import { admitRun, findActiveRun, lockConversation, type Admitted, type NewRun } from '../store/admission.ts'
import { findRunProgress } from '../store/runs/runs.ts'
import { transact } from '../store/transact.ts'
import { stopRun } from './runs/cancel-run.ts'
import type { CommandContext } from './command-context.ts'
import { findNamedFiles, keepFiles } from './store-files.ts'
import { findEarlierRun, rememberRun, type KeyedInput } from './idempotency.ts'

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
  /** `isNew` is false if an earlier request with the same key started the run. */
  | { readonly outcome: 'accepted'; readonly runId: string; readonly isNew: boolean }
  /** The active run waits for approval. */
  | { readonly outcome: 'pending approval'; readonly runId: string }
  | { readonly outcome: 'busy'; readonly runId: string }

/** Stores a run that a client asks for. Once this returns, the run will be driven, even if this process dies. */
export async function admit(
  context: CommandContext,
  viewer: Viewer,
  admission: Admission,
  run: NewRun,
): Promise<AdmissionOutcome> {
  // Tries again if the run that blocked it ended between the refusal and the look at that run.
  for (;;) {
    const { outcome, admitted } = await context.work.offerPlace(run.id, async (workerId) => {
      const attempt = await (admission.keyed || admission.content || admission.whenBusy === 'INTERRUPT'
        ? admitInTransaction(context, viewer, admission, { run, workerId })
        : tryToAdmit(context.db, viewer, admission, { run, workerId }))
      return { ...attempt, claimed: attempt.admitted?.claimed }
    })
    if (!outcome) continue
    if (admitted) {
      const { conversationId, holds, claimed } = admitted
      context.hub.announce({ runId: run.id, tenantId: run.tenantId, conversationId, status: 'QUEUED', calls: false })
      if (holds && !claimed) context.work.announce()
    }
    return outcome
  }
}

interface Attempt {
  /** Undefined if the conversation was busy but no longer is. */
  readonly outcome?: AdmissionOutcome
  /** Set if a new run was stored. */
  readonly admitted?: Admitted
}

interface RunToStore {
  readonly run: NewRun
  /** The worker of this process that has a free place for it. */
  readonly workerId: string | null
}

async function tryToAdmit(
  db: CommandContext['db'],
  viewer: Viewer,
  { to, whenBusy }: Admission,
  { run, workerId }: RunToStore,
): Promise<Attempt> {
  const admitted = await admitRun(db, to, run, { reach: viewer, mayWait: whenBusy !== 'REJECT', workerId })
  if (admitted) return { outcome: { outcome: 'accepted', runId: run.id, isNew: true }, admitted }
  const found = await findActiveRun(db, viewer, to)
  if (!found) throw targetNotFound(to)
  const { activeRunId: runId } = found
  const progress = runId === null ? undefined : await findRunProgress(db, runId)
  if (runId === null || !progress) return {}
  return { outcome: { outcome: progress.status === 'AWAITING_APPROVAL' ? 'pending approval' : 'busy', runId } }
}

async function admitInTransaction(
  context: CommandContext,
  viewer: Viewer,
  admission: Admission,
  { run, workerId }: RunToStore,
): Promise<Attempt> {
  const { to, whenBusy, keyed, content } = admission
  return transact(context, async (trx, afterCommit): Promise<Attempt> => {
    const locked = await lockConversation(trx, viewer, to)
    if (!locked) throw targetNotFound(to)
    const earlier = keyed && (await findEarlierRun(trx, keyed, run.createdAt))
    if (earlier) return { outcome: { outcome: 'accepted', runId: earlier, isNew: false } }
    const { conversationId } = locked
    const found = content && (await findNamedFiles(trx, viewer, conversationId, content.files))
    const settled = found ? withMessages(run, settleMessages(content.messages, found)) : run
    const attempt = await tryToAdmit(trx, viewer, admission, { run: settled, workerId })
    if (!attempt.admitted) return attempt
    if (content)
      await keepFiles(trx, { tenantId: run.tenantId, conversationId }, content.files, {
        now: run.createdAt,
        tenantStorageBytes: context.tenantStorageBytes,
      })
    if (keyed) await rememberRun(trx, keyed, { runId: run.id, now: run.createdAt })
    if (whenBusy === 'INTERRUPT' && locked.activeRunId !== null) {
      await stopRun(
        context,
        { trx, afterCommit },
        {
          runId: locked.activeRunId,
          by: viewer.actor,
          action: 'sendMessage',
        },
      )
    }
    return attempt
  })
}

function withMessages(run: NewRun, messages: readonly GivenMessage[]): NewRun {
  return { ...run, request: { ...run.request, messages } }
}
