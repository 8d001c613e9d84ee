import type { AdmissionOutcome } from '../../commands/runs/admit.ts'
import type { Checkpoint } from '../../domain/runs/draft.ts'
import type { Run as DomainRun } from '../../domain/runs/run.ts'
import { waitForRun } from '../../live/wait-for-run.ts'
import type { Context } from '../context.ts'
import { describedEnum } from '../described-enum.ts'
import { int, of } from '../fields.ts'
import { loadExisting } from '../load-existing.ts'
import { Run, ToolCall } from '../refs.ts'
import { refusalType } from '../refusal.ts'

/** The outcome of a mutation on a run, which is shown in its current state. */
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

/** A field with the run of an outcome. */
export function runOfOutcome(description: string) {
  return {
    ...of(Run)(description),
    resolve({ runId, known }: RunOutcome, _args: object, { loaders }: Context): Promise<DomainRun> {
      if (known) loaders.runs.prime(runId, known.run)
      if (known?.answer !== undefined) loaders.answerOfRun.prime(runId, known.answer)
      return loadExisting(loaders.runs, 'Run', runId)
    },
  }
}

/** The outcomes of mutations that need a conversation while a run may hold it. */
export const heldOutcomes = {
  'pending approval': refusalType('PendingApprovalRefusal', {
    description:
      'A tool call of the conversation waits for a decision. Approve or deny it before you send more messages.',
    says: 'A tool call waits for a decision. Please approve or deny the pending request before continuing.',
    fields: {
      run: runOfOutcome('Run that waits.'),
      toolCalls: {
        ...of([ToolCall])('Calls that the run waits for.'),
        resolve: ({ runId }: RunOutcome, _args: object, { loaders }: Context) => loaders.pendingCallsOfRun.load(runId),
      },
    },
  }),
  busy: refusalType('ConversationBusyRefusal', {
    description: 'The conversation has an active run, and `whenBusy` is REJECT.',
    says: 'The conversation has an active run. Wait until it has ended, or cancel it.',
    fields: { run: runOfOutcome('Run that holds the conversation.') },
  }),
}

/** For a run that was to be admitted to its conversation. Waits until it has paused or ended, at most `waitMs`. */
export async function admissionResult(
  context: Context,
  result: AdmissionOutcome,
  { waitMs }: { readonly waitMs: number },
) {
  if (result.outcome !== 'accepted') return result
  const { runId, isNew, run } = result
  const stopped = await waitForRun(context, runId, { waitMs, isNew })
  const known = stopped ? knownAfter(stopped) : run && waitMs <= 0 ? { run, answer: undefined } : undefined
  return { outcome: result.outcome, runId, known }
}

/** Who cancelled a run is not in its checkpoint. */
function knownAfter({ after, messages }: Checkpoint): KnownRun | undefined {
  if (after.cancelRequestedAt !== null) return undefined
  const last = messages.findLast(({ message }) => message.type === 'ASSISTANT')?.message
  return { run: after, answer: last?.type === 'ASSISTANT' ? last.content.text : undefined }
}

const WhenBusy = describedEnum('WhenBusy', 'What to do if the conversation has an active run.', {
  REJECT: 'Refuse.',
  ENQUEUE: 'Wait in the queue.',
  INTERRUPT: 'Cancel the active run, deny the calls it waits for, and go next.',
})

/** Arguments that several mutations on runs have. */
export const whenBusyField = of(WhenBusy).withDefault(
  'REJECT',
  'What to do if the conversation has an active run. Defaults to REJECT.',
)

export const waitMsField = int.withDefault(
  0,
  'How long to wait for the run to pause or end before answering. Defaults to 0, at most 300,000.',
)
