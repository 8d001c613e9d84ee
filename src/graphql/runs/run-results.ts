import type { AdmissionOutcome } from '../../commands/runs/admit.ts'
import type { HeldRefusal } from '../../commands/conversations/branch-refusal.ts'
import type { Checkpoint } from '../../domain/runs/draft.ts'
import type { Run as DomainRun } from '../../domain/runs/run.ts'
import { waitForRun } from '../../live/wait-for-run.ts'
import { builder } from '../builder.ts'
import type { Context } from '../context/context.ts'
import { loadExisting } from '../load-existing.ts'
import { successType } from '../mutation.ts'
import { refusalType, type RefusalShape } from '../refusal.ts'
import { Run, ToolCall } from '../refs.ts'

/** The outcomes of mutations on runs. `type` is the name of the GraphQL type. The run is shown in its current state. */
export interface RunOutcome {
  readonly runId: string
  /** Set if it is known without reading it. */
  readonly known?: KnownRun | undefined
}

/** A run as this process has just stored it. */
interface KnownRun {
  readonly run: DomainRun
  /** Undefined if it has to be read. */
  readonly answer: string | undefined
}

type RunRefusal<Name extends string> = RefusalShape<Name, RunOutcome>

function runOf({ runId, known }: RunOutcome, _args: object, { loaders }: Context): Promise<DomainRun> {
  if (known) loaders.runs.prime(runId, known.run)
  if (known?.answer !== undefined) loaders.answerOfRun.prime(runId, known.answer)
  return loadExisting(loaders.runs, 'Run', runId)
}

export function runSuccessType<Name extends string>(
  name: Name,
  { description, run }: { readonly description: string; readonly run: string },
) {
  return successType<Name, RunOutcome>(name, description, (t) => ({
    run: t.field({ type: Run, description: run, resolve: runOf }),
  }))
}

export function runRefusalType<Name extends string>(
  name: Name,
  { description, run }: { readonly description: string; readonly run: string },
) {
  return refusalType<Name, RunOutcome>(name, description, (t) => ({
    run: t.field({ type: Run, description: run, resolve: runOf }),
  }))
}

export const PendingApprovalRefusal = runRefusalType('PendingApprovalRefusal', {
  description:
    'A tool call of the conversation waits for a decision. Approve or deny it before you send more messages.',
  run: 'Run that waits.',
})

builder.objectField(PendingApprovalRefusal, 'toolCalls', (t) =>
  t.field({
    type: [ToolCall],
    description: 'Calls that the run waits for.',
    resolve: ({ runId }, _args, context) => context.loaders.pendingCallsOfRun.load(runId),
  }),
)

export const ConversationBusyRefusal = runRefusalType('ConversationBusyRefusal', {
  description: 'The conversation has an active run, and `whenBusy` is REJECT.',
  run: 'Run that holds the conversation.',
})

function pendingApproval(runId: string): RunRefusal<'PendingApprovalRefusal'> {
  return {
    type: 'PendingApprovalRefusal',
    runId,
    message: 'A tool call waits for a decision. Please approve or deny the pending request before continuing.',
  }
}

export function conversationBusy(runId: string): RunRefusal<'ConversationBusyRefusal'> {
  return {
    type: 'ConversationBusyRefusal',
    runId,
    message: 'The conversation has an active run. Wait until it has ended, or cancel it.',
  }
}

/** For a command that needs the conversation while a run holds it. */
export function heldRefusal({ outcome, runId }: HeldRefusal) {
  return outcome === 'pending approval' ? pendingApproval(runId) : conversationBusy(runId)
}

/** For a run that was to be admitted to its conversation. Waits until it has paused or ended, at most `waitMs`. */
export async function admissionResult<Name extends string>(
  context: Context,
  result: AdmissionOutcome,
  { success, waitMs }: { readonly success: Name; readonly waitMs: number },
): Promise<(RunOutcome & { readonly type: Name }) | ReturnType<typeof heldRefusal>> {
  if (result.outcome !== 'accepted') return heldRefusal({ outcome: result.outcome, runId: result.runId })
  const { runId, isNew, run } = result
  const stopped = await waitForRun(context, runId, { waitMs, isNew })
  const known = stopped ? knownAfter(stopped) : run && waitMs <= 0 ? { run, answer: undefined } : undefined
  return { type: success, runId, known }
}

/** Who cancelled a run is not in its checkpoint. */
function knownAfter({ after, messages }: Checkpoint): KnownRun | undefined {
  if (after.cancelRequestedAt !== null) return undefined
  const last = messages.findLast(({ message }) => message.type === 'ASSISTANT')?.message
  return { run: after, answer: last?.type === 'ASSISTANT' ? last.content.text : undefined }
}
