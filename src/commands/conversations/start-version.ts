import { isSameActor } from '../../domain/access/actor.ts'
import { badUserInput } from '../../domain/errors.ts'
import type { StoredFile } from '../../domain/files/file.ts'
import {
  noFiles,
  settleMessages,
  type OfferedFiles,
  type OfferedMessage,
} from '../../domain/context/offered-content.ts'
import type { Run, RunContents, RunRequest } from '../../domain/runs/run.ts'
import type { Viewer } from '../../domain/access/viewer.ts'
import { admitRun, lockConversation } from '../../store/runs/admission.ts'
import { switchBranch } from '../../store/conversations/branches.ts'
import { findRunContents, findRuns } from '../../store/runs/runs.ts'
import { transact } from '../../store/database/transact.ts'
import { newRun, type AdmissionOutcome } from '../runs/admit.ts'
import { refusalWhileHeld } from './select-branch.ts'
import type { CommandContext } from '../command-context.ts'
import { found, foundOne } from '../found.ts'
import { checkSizes, findNamedFiles, keepFiles } from '../files/store-files.ts'
import { findEarlierRun, remember, type KeyedInput } from '../idempotency.ts'
import { findMessages } from '../../store/conversations/messages.ts'

interface NewVersion {
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
async function startVersion(
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
    const earlier = await findEarlierRun(trx, viewer, { keyed, now })
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
    const { maxSteps, maxTotalTokens, metadata } = original
    const limits = { maxSteps, maxTotalTokens }
    const run = newRun(context, { tenantId, sentBy: viewer.actor, ...limits, request, metadata, createdAt: now })
    if (!(await admitRun(trx, { conversationId }, run, { reach: viewer, mayWait: false, driver: null }))) {
      throw new Error(`The conversation ${conversationId} changed under its lock.`)
    }
    await keepFiles(context, trx, { tenantId, conversationId }, files, now)
    await remember(trx, keyed, { objectIds: [run.id], now })
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

export interface EditMessageInput {
  readonly messageId: string
  readonly message: OfferedMessage
  readonly files: OfferedFiles
  readonly keyed: KeyedInput | undefined
}

/** Starts a new version of a run, with one of its input messages replaced. */
export async function editMessage(
  context: CommandContext,
  viewer: Viewer,
  { messageId, message, files, keyed }: EditMessageInput,
): Promise<AdmissionOutcome> {
  checkSizes(context, files.brought)
  const { runId, position } = await foundOne('Message', messageId, findMessages(context.db, viewer, [messageId]))
  return startVersion(context, viewer, {
    runId,
    field: 'input.messageId',
    // The conversation may be cleared meanwhile. The client named the message, not its run.
    subject: ['Message', messageId],
    keyed,
    files,
    requestOf({ request, firstPosition }, found) {
      // A run's input messages are the first that it adds.
      const place = position - firstPosition!
      if (place >= request.messages.length) {
        throw badUserInput(
          'input.messageId',
          "The message is not part of a run's input. Expected a message that started one: a follow-up cannot be edited.",
        )
      }
      return { ...request, messages: request.messages.with(place, settleMessages([message], found)[0]!) }
    },
  })
}

export interface RegenerateInput {
  readonly runId: string
  readonly keyed: KeyedInput | undefined
}

/** Starts a new version of a run with the same input. */
export function regenerate(
  context: CommandContext,
  viewer: Viewer,
  { runId, keyed }: RegenerateInput,
): Promise<AdmissionOutcome> {
  return startVersion(context, viewer, {
    runId,
    field: 'input.runId',
    subject: ['Run', runId],
    keyed,
    requestOf: ({ request }) => request,
  })
}
