import type { GivenMessage } from '../domain/message.ts'
import { runDefaults, type ClientTool } from '../domain/run.ts'
import type { Viewer } from '../domain/viewer.ts'
import {
  admitRun,
  findActiveRun,
  lockConversation,
  targetNotFound,
  type NewRun,
  type Target,
} from '../store/admission.ts'
import { findRunProgress } from '../store/runs.ts'
import type { JsonObject } from '../util/json.ts'
import { stopRun } from './cancel-run.ts'
import type { CommandContext } from './command-context.ts'
import { findEarlierRun, keyedInput, rememberRun } from './idempotency.ts'

export type WhenBusy = 'REJECT' | 'ENQUEUE' | 'INTERRUPT'

export interface SendMessageInput {
  readonly to: Target
  readonly messages: readonly GivenMessage[]
  readonly clientTools: readonly ClientTool[]
  readonly maxSteps: number | null
  readonly maxTotalTokens: number | null
  readonly whenBusy: WhenBusy
  readonly idempotencyKey: string | null
  readonly metadata: JsonObject
}

export type SendMessageOutcome =
  | { readonly outcome: 'accepted'; readonly runId: string }
  /** The active run waits for approval. */
  | { readonly outcome: 'pending approval'; readonly runId: string }
  | { readonly outcome: 'busy'; readonly runId: string }

/** Stores the message as a run. Once this answers, the run will happen, whatever becomes of this process. */
export async function sendMessage(
  context: CommandContext,
  viewer: Viewer,
  input: SendMessageInput,
): Promise<SendMessageOutcome> {
  const run = toNewRun(context, viewer, input)
  // A retry, so that a run that ends between the refusal and the look at it does not leave us without an answer.
  for (;;) {
    const outcome =
      input.idempotencyKey === null && input.whenBusy !== 'INTERRUPT'
        ? await admit(context.db, input, run)
        : await admitInTransaction(context, viewer, input, run)
    if (!outcome) continue
    if (outcome.admittedTo !== undefined) {
      const { id: runId, tenantId } = run
      context.hub.tell({ runId, tenantId, conversationId: outcome.admittedTo, status: 'QUEUED', calls: false })
    }
    return outcome
  }
}

type Admission = SendMessageOutcome & {
  /** The conversation that a new run was stored in. */
  readonly admittedTo?: string
}

/** Undefined where the conversation was busy and is not any more. */
async function admit(db: CommandContext['db'], input: SendMessageInput, run: NewRun): Promise<Admission | undefined> {
  const admitted = await admitRun(db, input.to, run, { mayWait: input.whenBusy !== 'REJECT' })
  if (admitted) return { outcome: 'accepted', runId: run.id, admittedTo: admitted.conversationId }
  const found = await findActiveRun(db, run.tenantId, input.to)
  if (!found) throw targetNotFound(input.to)
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
  input: SendMessageInput,
  run: NewRun,
): Promise<Admission | undefined> {
  const { idempotencyKey, ...asked } = input
  const keyed =
    idempotencyKey === null
      ? undefined
      : keyedInput({ tenantId: viewer.tenantId, operation: 'SEND_MESSAGE', key: idempotencyKey }, asked)
  let announce = () => {}
  const outcome = await context.db.transaction().execute(async (trx): Promise<Admission | undefined> => {
    const locked = await lockConversation(trx, viewer.tenantId, input.to)
    if (!locked) throw targetNotFound(input.to)
    const earlier = keyed && (await findEarlierRun(trx, keyed, run.createdAt))
    if (earlier) return { outcome: 'accepted', runId: earlier }
    const admitted = await admit(trx, input, run)
    if (admitted?.outcome !== 'accepted') return admitted
    if (keyed) await rememberRun(trx, keyed, { runId: run.id, now: run.createdAt })
    if (input.whenBusy === 'INTERRUPT' && locked.activeRunId !== null) {
      announce = await stopRun(context, trx, locked.activeRunId)
    }
    return admitted
  })
  announce()
  return outcome
}

function toNewRun(context: CommandContext, viewer: Viewer, input: SendMessageInput): NewRun {
  return {
    id: context.ids.next(),
    tenantId: viewer.tenantId,
    kind: 'TURN',
    parentId: null,
    urgent: input.whenBusy === 'INTERRUPT',
    maxSteps: input.maxSteps ?? runDefaults.maxSteps,
    maxTotalTokens: input.maxTotalTokens,
    request: { messages: input.messages, clientTools: input.clientTools },
    metadata: input.metadata,
    createdAt: context.clock.now(),
  }
}
