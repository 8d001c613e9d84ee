import { jsonHash, sameJson, type Json } from '../../util/json.ts'
import { isSameActor, type Actor } from '../access/actor.ts'
import { addDecisions, errorResult } from '../runs/advance.ts'
import type { ContentPart } from '../conversations/content.ts'
import { approvalsBeside, approvalsOf, narrowestScope } from './call-approvals.ts'
import type { Draft } from '../runs/draft.ts'
import type { GivenMessage } from '../conversations/message.ts'
import { encodeId } from '../ids.ts'
import { findTool, type RunState } from '../runs/run-state.ts'
import { waitsForCalls } from '../runs/run.ts'
import { toolDefaults, type AgentTool } from '../tools/tool.ts'
import { truncateResult } from '../tools/tool-output.ts'
import type { ApprovalScope, Decision, ToolCall, ToolReturnStatus } from '../tools/tool-call.ts'

/** A decision as a client gives it. `toolCallId` is the client's text, which may not be a valid id. */
export type GivenDecision =
  | {
      readonly kind: 'APPROVED'
      readonly toolCallId: string
      /** Undefined means the model's arguments. */
      readonly arguments: Json | undefined
      readonly note: string | null
      readonly scope: ApprovalScope
    }
  | { readonly kind: 'DENIED'; readonly toolCallId: string; readonly reason: string | null }
  | {
      readonly kind: 'CLIENT_RETURN'
      readonly toolCallId: string
      readonly status: ToolReturnStatus
      readonly output: string
      /** All parts, in order, if the client gave parts instead of `output`. */
      readonly content?: readonly ContentPart[]
      readonly stdout: readonly string[]
      readonly stderr: readonly string[]
    }

export interface DecisionInput {
  readonly decisions: readonly GivenDecision[]
  readonly followUp: readonly GivenMessage[]
}

/** Each decision with the call that it is about. Undefined if the run has no such call. */
export function withCalls<Given extends { readonly toolCallId: string }>(
  state: Pick<RunState, 'calls'>,
  decisions: readonly Given[],
): { readonly given: Given; readonly call: ToolCall | undefined }[] {
  const byPublicId = new Map(state.calls.map((call) => [encodeId('ToolCall', call.id), call]))
  return decisions.map((given) => ({ given, call: byPublicId.get(given.toolCallId) }))
}

/**
 * Whether the same decision was made before. Making it again succeeds and changes nothing. While a call waits for
 * several approvals, only one by the same actor counts as the same; once it is decided, one by anybody does.
 */
export function isSameDecision(given: GivenDecision, call: ToolCall, actor: Actor): boolean {
  const { decision } = call
  if (given.kind === 'APPROVED' && (!decision || decision.kind === 'APPROVED')) {
    const same = approvalsOf(call).filter(({ scope, note }) => scope === given.scope && note === given.note)
    const own = decision ? same : same.filter((approval) => isSameActor(approval.actor, actor))
    return own.length > 0 && sameJson(given.arguments ?? null, call.editedArguments)
  }
  if (!decision || decision.actor === null || decision.kind !== given.kind) return false
  return given.kind === 'CLIENT_RETURN'
    ? decision.givenHash === hashOfReturn(given)
    : given.kind === 'DENIED' && decision.reason === given.reason
}

/** Whether the actor's follow-up already came with a decision about the call. The same words of others are theirs. */
export function hasFollowUp(call: ToolCall, hash: string, actor: Actor): boolean {
  const made = [call.decision, ...approvalsOf(call), ...(call.approval?.replaced ?? [])]
  return made.some((one) => one?.followUpHash === hash && one.actor !== null && isSameActor(one.actor, actor))
}

function hashOfReturn(given: Extract<GivenDecision, { kind: 'CLIENT_RETURN' }>): string {
  const { status, output, content, stdout, stderr } = given
  return jsonHash({ status, output, stdout, stderr, ...(content && { content }) })
}

export function hashOfFollowUp(followUp: readonly GivenMessage[]): string | undefined {
  return followUp.length === 0 ? undefined : jsonHash(followUp)
}

/** Stores the decisions about waiting calls, none of which is refused. Earlier decisions stay. */
export function applyDecisions(draft: Draft, { decisions, followUp }: DecisionInput, actor: Actor): void {
  const followUpHash = hashOfFollowUp(followUp)
  const deciding = withCalls(draft.state, decisions)
  const repeated =
    followUpHash !== undefined && deciding.some(({ call }) => call && hasFollowUp(call, followUpHash, actor))
  for (const { given, call } of deciding) {
    if (call?.status !== 'PENDING' || isSameDecision(given, call, actor)) continue
    applyDecision(draft, call, given, { actor, ...(followUpHash === undefined ? {} : { followUpHash }) })
  }
  if (followUp.length > 0 && !repeated) {
    const sent = followUp.map((message) => ({ ...message, sentBy: actor }))
    draft.changeRun({ followUps: [...draft.state.run.followUps, ...sent] })
  }
}

type By = { readonly actor: Actor } & Pick<Decision, 'followUpHash'>

function applyDecision(draft: Draft, call: ToolCall, given: GivenDecision, by: By): void {
  switch (given.kind) {
    case 'APPROVED':
      return approve(draft, call, given, by)
    case 'DENIED':
      return deny(draft, call, { reason: given.reason, ...by })
    case 'CLIENT_RETURN': {
      const limit = findTool(draft.state, call.name)?.tool.returnCharLimit ?? toolDefaults.returnCharLimit
      const decision = { ...undecided, kind: 'CLIENT_RETURN', givenHash: hashOfReturn(given), ...by } as const
      draft.decideCall(call.id, decision, {
        status: given.status === 'SUCCESS' ? 'SUCCEEDED' : 'FAILED',
        result: { ...truncateResult(given, limit), durationMs: null },
        finishedAt: draft.at,
        editedArguments: null,
      })
      return
    }
    default:
      given satisfies never
  }
}

const undecided = { reason: null, note: null, scope: null } as const

/** The last approval that a call needs decides it. Earlier ones are kept, and the call keeps waiting. */
function approve(
  draft: Draft,
  call: ToolCall,
  { scope, note, arguments: given }: Extract<GivenDecision, { kind: 'APPROVED' }>,
  by: By,
): void {
  const editedArguments = given ?? null
  const earlier = approvalsBeside(call, { actor: by.actor, edited: editedArguments })
  const { given: counted = [], replaced = [] } = call.approval ?? {}
  const terms = call.approval && {
    ...call.approval,
    given: earlier,
    replaced: [...replaced, ...counted.filter((one) => one.followUpHash && !earlier.includes(one))],
  }
  if (terms && earlier.length + 1 < terms.required) {
    const approval = { scope, note, at: draft.at.toISOString(), ...by }
    const stillNeeded = { ...terms, given: [...earlier, approval] }
    draft.changeCall(call.id, { status: 'PENDING', approval: stillNeeded, editedArguments })
    return
  }
  const decision = { ...undecided, kind: 'APPROVED', scope, note, ...by } as const
  draft.decideCall(call.id, decision, { status: 'READY', approval: terms, editedArguments })
  if (narrowestScope([...earlier, { scope }]) !== 'ONCE') {
    const { approvedTools } = draft.state.run
    draft.changeRun({ approvedTools: [...new Set([...approvedTools, call.name])] })
  }
}

/** The agent's tools that these decisions approve for all future runs of the agent, and that were not approved yet. */
export function toolsApprovedForAgent(before: RunState, after: RunState): AgentTool[] {
  const waited = new Set(before.calls.filter((call) => call.status === 'PENDING').map((call) => call.id))
  const approved = after.calls.filter((call) => waited.has(call.id) && call.decision?.kind === 'APPROVED')
  const tools = approved.flatMap((call) =>
    narrowestScope(approvalsOf(call)) === 'AGENT' ? (findTool(after, call.name) ?? []) : [],
  )
  return [...new Set(tools)].filter(({ approvalOverride }) => approvalOverride !== false)
}

function deny(draft: Draft, call: ToolCall, denial: Pick<Decision, 'reason' | 'actor' | 'followUpHash'>): void {
  const decision = { ...undecided, kind: 'DENIED', ...denial } as const
  draft.decideCall(call.id, decision, {
    status: 'DENIED',
    result: errorResult(denialText(denial.reason)),
    finishedAt: draft.at,
    editedArguments: null,
  })
}

/** The return that the model reads for a call that was not allowed. */
function denialText(reason: string | null): string {
  return reason === null || reason === ''
    ? 'The request to call this tool was denied.'
    : `The request to call this tool was denied. Reason: ${reason}`
}

const expiredReason = 'The approval expired: nobody decided in time.'

/** Denies calls whose approval expired, without an actor. False if there was nothing to deny. */
export function denyExpired(draft: Draft): boolean {
  const expired = draft.state.calls.filter(
    (call) => call.status === 'PENDING' && call.expiresAt !== null && call.expiresAt <= draft.at,
  )
  for (const call of expired) deny(draft, call, { reason: expiredReason, actor: null })
  return expired.length > 0
}

/** After the last decision the run continues, and a worker can claim it again. Returns false if a call still waits. */
export function resumeIfDecided(draft: Draft): boolean {
  const { run, calls } = draft.state
  if (!waitsForCalls(run) || calls.some((call) => call.status === 'PENDING')) return false
  addDecisions(draft)
  draft.changeStep({ status: 'RUNNING' })
  draft.setStatus('RUNNING')
  return true
}
