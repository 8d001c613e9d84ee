import type { AdmissionOutcome } from '../commands/admit.ts'
import type { HeldRefusal } from '../commands/branch-refusal.ts'
import type { Run as DomainRun } from '../domain/run.ts'
import { builder } from './builder.ts'
import type { Context } from './context.ts'
import { loadExisting } from './load-existing.ts'
import { Refusal } from './refusal.ts'
import { Run, ToolCall } from './run-refs.ts'

/** The outcomes of mutations on runs. `type` is the name of the GraphQL type. The run is shown in its current state. */
export interface RunSuccess<Name extends string> {
  readonly type: Name
  readonly runId: string
}

export interface RunRefusal<Name extends string> extends RunSuccess<Name> {
  readonly message: string
}

function runOf(result: { readonly runId: string }, _args: object, context: Context): Promise<DomainRun> {
  return loadExisting(context.loaders.runs, 'Run', result.runId)
}

export function runSuccessType<Name extends string>(
  name: Name,
  { description, run }: { readonly description: string; readonly run: string },
) {
  const Success = builder.objectRef<RunSuccess<Name>>(name)
  Success.implement({
    description,
    fields: (t) => ({ run: t.field({ type: Run, description: run, resolve: runOf }) }),
  })
  return Success
}

export function runRefusalType<Name extends string>(
  name: Name,
  { description, run }: { readonly description: string; readonly run: string },
) {
  const RunRefusalType = builder.objectRef<RunRefusal<Name>>(name)
  RunRefusalType.implement({
    description,
    interfaces: [Refusal],
    fields: (t) => ({ run: t.field({ type: Run, description: run, resolve: runOf }) }),
  })
  return RunRefusalType
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
    resolve: async ({ runId }, _args, context) => [...(await context.loaders.pendingCallsOfRun.load(runId))],
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

/** For a run that was to be admitted to its conversation. */
export function admissionResult<Name extends string>(result: AdmissionOutcome, success: Name) {
  return result.outcome === 'accepted'
    ? { type: success, runId: result.runId }
    : heldRefusal({ outcome: result.outcome, runId: result.runId })
}
