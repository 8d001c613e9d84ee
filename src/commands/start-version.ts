import { isSameActor } from '../domain/access/actor.ts'
import { badUserInput } from '../domain/errors.ts'
import type { StoredFile } from '../domain/files/file.ts'
import { noFiles, type OfferedFiles } from '../domain/context/offered-content.ts'
import type { Run, RunContents, RunRequest } from '../domain/run.ts'
import type { Viewer } from '../domain/access/viewer.ts'
import { admitRun, lockConversation } from '../store/admission.ts'
import { switchBranch } from '../store/conversations/branches.ts'
import { findRunContents, findRuns } from '../store/runs/runs.ts'
import { transact } from '../store/transact.ts'
import type { AdmissionOutcome } from './admit.ts'
import { refusalWhileHeld } from './branch-refusal.ts'
import type { CommandContext } from './command-context.ts'
import { found } from './found.ts'
import { findNamedFiles, keepFiles } from './store-files.ts'
import { findEarlierRun, rememberRun, type KeyedInput } from './idempotency.ts'

export interface NewVersion {
  /** The run to start another version of. */
  readonly runId: string
  /** The name of the input that gave the run, and what it names, for errors. */
  readonly field: string
  readonly subject: readonly [kind: 'Run' | 'Message', id: string]
  readonly keyed: KeyedInput | undefined
  /** Files that the request includes or names. */
  readonly files?: OfferedFiles
  /** Makes the new version's request from that of the original. `found` are the files that are named. */
  requestOf(original: Run & RunContents, found: ReadonlyMap<string, StoredFile>): RunRequest
}

/**
 * Stores a run whose turn is another version of an existing one, and makes its branch current. Refused while a run
 * holds the conversation. Once this returns, the run will be driven, even if this process dies.
 */
export async function startVersion(
  context: CommandContext,
  viewer: Viewer,
  { runId, field, subject, keyed, files = noFiles, requestOf }: NewVersion,
): Promise<AdmissionOutcome> {
  const { tenantId } = viewer
  const [named] = await findRuns(context.db, viewer, [runId])
  const { conversationId } = found(...subject, named)
  return transact(context, async (trx, afterCommit): Promise<AdmissionOutcome> => {
    const locked = found(...subject, await lockConversation(trx, viewer, { conversationId }))
    const now = context.clock.now()
    const earlier = keyed && (await findEarlierRun(trx, keyed, now))
    if (earlier) return { outcome: 'accepted', runId: earlier, isNew: false }
    const original = found(...subject, await findRunContents(trx, viewer, runId))
    if (original.kind !== 'TURN') {
      throw badUserInput(field, "The run has no input of its own. Expected a run that answers a client's messages.")
    }
    const refusal = await refusalWhileHeld(trx, locked.activeRunId)
    if (refusal) return refusal
    const { previousHold } = original
    if (previousHold === null || original.firstPosition === null) {
      throw badUserInput(field, 'The run never started. Send its messages again instead.')
    }
    const named = await findNamedFiles(trx, viewer, conversationId, files)
    const request = withSenders(requestOf(original, named), original, viewer)
    await switchBranch(trx, conversationId, { hold: previousHold, now })
    const run = {
      id: context.ids.next(),
      tenantId,
      kind: 'TURN',
      parentId: null,
      sentBy: viewer.actor,
      urgent: false,
      maxSteps: original.maxSteps,
      maxTotalTokens: original.maxTotalTokens,
      request,
      metadata: original.metadata,
      createdAt: now,
    } as const
    if (!(await admitRun(trx, { conversationId }, run, { reach: viewer, mayWait: false, workerId: null }))) {
      throw new Error(`The conversation ${conversationId} changed under its lock.`)
    }
    await keepFiles(trx, { tenantId, conversationId }, files, { now, tenantStorageBytes: context.tenantStorageBytes })
    if (keyed) await rememberRun(trx, keyed, { runId: run.id, now })
    afterCommit(() => {
      context.hub.announce({ runId: run.id, tenantId, conversationId, status: 'QUEUED', calls: false })
      context.work.announce()
    })
    return { outcome: 'accepted', runId: run.id, isNew: true }
  })
}

/** A message that the new version keeps has its original sender. */
function withSenders(request: RunRequest, { request: asked, sentBy }: Run & RunContents, viewer: Viewer): RunRequest {
  if (sentBy === null || isSameActor(sentBy, viewer.actor)) return request
  const kept = new Set(asked.messages)
  return { ...request, messages: request.messages.map((one) => (kept.has(one) ? { sentBy, ...one } : one)) }
}
