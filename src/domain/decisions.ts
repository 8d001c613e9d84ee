import { jsonHash } from '../util/json-hash.ts'
import { sameJson, type Json } from '../util/json.ts'
import type { Actor } from './actor.ts'
import { addDecisions, errorResult } from './advance.ts'
import type { Draft } from './draft.ts'
import type { GivenMessage } from './message.ts'
import { encodeId } from './ids.ts'
import { findTool, type RunState } from './run-state.ts'
import { toolDefaults } from './tool.ts'
import { truncateResult } from './tool-output.ts'
import type { ApprovalScope, Decision, ToolCall, ToolReturnStatus } from './tool-call.ts'

/** A decision as a client gives it. `toolCallId` is what the client sent, which may be no id at all. */
export type GivenDecision =
  | {
      readonly kind: 'APPROVED'
      readonly toolCallId: string
      /** Undefined means the model's arguments. */
      readonly arguments: Json | undefined
      readonly scope: ApprovalScope
    }
  | { readonly kind: 'DENIED'; readonly toolCallId: string; readonly reason: string | null }
  | {
      readonly kind: 'CLIENT_RETURN'
      readonly toolCallId: string
      readonly status: ToolReturnStatus
      readonly output: string
      readonly stdout: readonly string[]
      readonly stderr: readonly string[]
    }

export interface DecisionInput {
  readonly decisions: readonly GivenDecision[]
  readonly followUp: readonly GivenMessage[]
}

/** Each decision with the call of the run that it is about. Undefined if the run has no such call. */
export function withCalls(
  state: Pick<RunState, 'calls'>,
  decisions: readonly GivenDecision[],
): { readonly given: GivenDecision; readonly call: ToolCall | undefined }[] {
  const byPublicId = new Map(state.calls.map((call) => [encodeId('ToolCall', call.id), call]))
  return decisions.map((given) => ({ given, call: byPublicId.get(given.toolCallId) }))
}

type DecidableCall = Pick<ToolCall, 'decision' | 'editedArguments'>

/** Whether a person made the same decision before: then making it again succeeds and changes nothing. */
export function isSameDecision(given: GivenDecision, call: DecidableCall): boolean {
  const { decision } = call
  if (!decision || decision.actor === null || decision.kind !== given.kind) return false
  switch (given.kind) {
    case 'APPROVED':
      return decision.scope === given.scope && sameJson(given.arguments ?? null, call.editedArguments)
    case 'DENIED':
      return decision.reason === given.reason
    case 'CLIENT_RETURN':
      return decision.givenHash === hashOfReturn(given)
    default:
      return given satisfies never
  }
}

function hashOfReturn({ status, output, stdout, stderr }: Extract<GivenDecision, { kind: 'CLIENT_RETURN' }>): string {
  return jsonHash({ status, output, stdout, stderr })
}

export function hashOfFollowUp(followUp: readonly GivenMessage[]): string | undefined {
  return followUp.length === 0 ? undefined : jsonHash(followUp as unknown as Json)
}

/** Stores the decisions about calls that wait, none of which is refused. Decisions made before stay as they are. */
export function applyDecisions(draft: Draft, { decisions, followUp }: DecisionInput, actor: Actor): void {
  const followUpHash = hashOfFollowUp(followUp)
  const deciding = withCalls(draft.state, decisions)
  const repeated =
    followUpHash !== undefined && deciding.some(({ call }) => call?.decision?.followUpHash === followUpHash)
  for (const { given, call } of deciding) {
    if (call?.status !== 'PENDING') continue
    applyDecision(draft, call, given, { actor, ...(followUpHash === undefined ? {} : { followUpHash }) })
  }
  if (followUp.length > 0 && !repeated) {
    draft.changeRun({ followUps: [...draft.state.run.followUps, ...followUp] })
  }
}

function applyDecision(
  draft: Draft,
  call: ToolCall,
  given: GivenDecision,
  by: { readonly actor: Actor } & Pick<Decision, 'followUpHash'>,
): void {
  switch (given.kind) {
    case 'APPROVED':
      draft.decideCall(
        call.id,
        { kind: 'APPROVED', reason: null, scope: given.scope, ...by },
        {
          status: 'READY',
          editedArguments: given.arguments ?? null,
        },
      )
      if (given.scope !== 'ONCE') {
        const { approvedTools } = draft.state.run
        draft.changeRun({ approvedTools: [...new Set([...approvedTools, call.name])] })
      }
      return
    case 'DENIED':
      return deny(draft, call, { reason: given.reason, ...by })
    case 'CLIENT_RETURN': {
      const limit = findTool(draft.state, call.name)?.tool.returnCharLimit ?? toolDefaults.returnCharLimit
      const decision: Decision = { kind: 'CLIENT_RETURN', reason: null, scope: null, ...by }
      draft.decideCall(
        call.id,
        { ...decision, givenHash: hashOfReturn(given) },
        {
          status: given.status === 'SUCCESS' ? 'SUCCEEDED' : 'FAILED',
          result: { ...truncateResult(given, limit), durationMs: null },
          finishedAt: draft.at,
        },
      )
      return
    }
    default:
      given satisfies never
  }
}

function deny(draft: Draft, call: ToolCall, denial: Pick<Decision, 'reason' | 'actor' | 'followUpHash'>): void {
  draft.decideCall(
    call.id,
    { kind: 'DENIED', scope: null, ...denial },
    {
      status: 'DENIED',
      result: errorResult(denialText(denial.reason)),
      finishedAt: draft.at,
    },
  )
}

/** What the model reads of a call that was not allowed. */
function denialText(reason: string | null): string {
  return reason === null || reason === ''
    ? 'The request to call this tool was denied.'
    : `The request to call this tool was denied. Reason: ${reason}`
}

const expiredReason = 'The approval expired: nobody decided in time.'

/** Denies what nobody decided in time, in nobody's name. False where there was nothing to deny. */
export function denyExpired(draft: Draft): boolean {
  const expired = draft.state.calls.filter(
    (call) => call.status === 'PENDING' && call.expiresAt !== null && call.expiresAt <= draft.at,
  )
  for (const call of expired) deny(draft, call, { reason: expiredReason, actor: null })
  return expired.length > 0
}

/** With the last decision the run goes on: from here it is a worker's again. False where something still waits. */
export function resumeIfDecided(draft: Draft): boolean {
  const { run, calls } = draft.state
  if (run.status !== 'AWAITING_APPROVAL' || calls.some((call) => call.status === 'PENDING')) return false
  addDecisions(draft)
  draft.changeStep({ status: 'RUNNING' })
  draft.setStatus('RUNNING')
  return true
}
