import type { SchemaProblem } from '../util/json-schema.ts'
import { isJsonObject, type Json } from '../util/json.ts'
import { problemsOfEdit } from './call-check.ts'
import { hashOfFollowUp, isSameDecision, type GivenDecision } from './decisions.ts'
import { encodeId } from './ids.ts'
import type { GivenMessage } from './message.ts'
import type { RunState } from './run-state.ts'
import type { ToolCall } from './tool-call.ts'

export type DecisionRefusal =
  | { readonly outcome: 'nothing pending' }
  | {
      readonly outcome: 'invalid ids'
      readonly message: string
      readonly invalidIds: readonly string[]
      readonly expectedIds: readonly string[]
    }
  | { readonly outcome: 'already decided'; readonly message: string; readonly toolCallIds: readonly string[] }
  | {
      readonly outcome: 'invalid arguments'
      readonly toolCallId: string
      readonly problems: readonly SchemaProblem[]
    }

export interface GivenDecisions {
  readonly decisions: readonly GivenDecision[]
  readonly followUp: readonly GivenMessage[]
}

/**
 * Why decisions are not taken, none of them. They are compared with what is stored before the run's state is looked
 * at: who decides the same again is not refused, however far the run has come since.
 */
export function refusalOf(state: RunState, { decisions, followUp }: GivenDecisions): DecisionRefusal | undefined {
  const byId = new Map(state.calls.map((call) => [call.id, call]))
  const ids = decisions.map((given) => given.toolCallId)
  const twice = ids.filter((id, index) => ids.indexOf(id) !== index)
  const open = decisions.filter((given) => {
    const call = byId.get(given.toolCallId)
    return !call || !isSameDecision(given, call)
  })
  if (open.length === 0 && twice.length === 0) return refusalOfFollowUp(ids, followUp, byId)

  const pending = state.calls.filter((call) => call.status === 'PENDING')
  if (pending.length === 0) return { outcome: 'nothing pending' }
  const invalid = open.filter(({ toolCallId }) => {
    const call = byId.get(toolCallId)
    return !call || (call.status !== 'PENDING' && !call.decision)
  })
  if (invalid.length > 0 || twice.length > 0) {
    return invalidIds([...new Set([...invalid.map((given) => given.toolCallId), ...twice])], pending)
  }
  const decided = open.filter((given) => byId.get(given.toolCallId)!.decision)
  if (decided.length > 0) {
    return {
      outcome: 'already decided',
      message: 'A different decision was already taken. Nothing was applied.',
      toolCallIds: decided.map((given) => given.toolCallId),
    }
  }
  return refusalOfContent(state, open, byId)
}

/**
 * A follow-up comes with a decision. Where all of them were taken before, it either came with them then, or it has no
 * place: the model may have been asked already. It is refused rather than lost.
 */
function refusalOfFollowUp(
  ids: readonly string[],
  followUp: readonly GivenMessage[],
  byId: ReadonlyMap<string, ToolCall>,
): DecisionRefusal | undefined {
  const hash = hashOfFollowUp(followUp)
  if (hash === undefined || ids.some((id) => byId.get(id)!.decision!.followUpHash === hash)) return undefined
  return {
    outcome: 'already decided',
    message:
      'These decisions were already taken, without this follow-up. It was not applied: send it with `sendMessage`, or with the decision about a call that still waits.',
    toolCallIds: ids,
  }
}

function refusalOfContent(
  state: RunState,
  decisions: readonly GivenDecision[],
  byId: ReadonlyMap<string, ToolCall>,
): DecisionRefusal | undefined {
  const approved = decisions.filter((given) => given.kind === 'APPROVED')
  const ofClient = approved.map((given) => byId.get(given.toolCallId)!).filter(isOfClient)
  if (ofClient.length > 0) return clientMustReturn(state, ofClient)

  for (const given of approved) {
    const call = byId.get(given.toolCallId)!
    const problems = given.arguments === undefined ? [] : problemsOfArguments(state, call, given.arguments)
    if (problems.length > 0) return { outcome: 'invalid arguments', toolCallId: call.id, problems }
  }
  return undefined
}

/** A tool takes an object, also where its schema does not say so. */
function problemsOfArguments(state: RunState, call: ToolCall, edited: Json): readonly SchemaProblem[] {
  if (!isJsonObject(edited)) return [{ path: '', message: 'must be object' }]
  return problemsOfEdit(state, { ...call, arguments: edited })
}

function isOfClient(call: ToolCall): boolean {
  return call.needs === 'CLIENT_EXECUTION'
}

/** A call of a client tool cannot be approved: nobody here could run it. */
function clientMustReturn(state: RunState, calls: readonly ToolCall[]): DecisionRefusal {
  const names = [...new Set(calls.map((call) => call.name))].join(', ')
  return {
    outcome: 'invalid ids',
    message: `Invalid tool call IDs: ${show(calls)}. The client runs ${names} itself: send what came of it as \`toolReturn\`, or \`deny\` the call.`,
    invalidIds: calls.map((call) => call.id),
    expectedIds: state.calls.filter((call) => call.status === 'PENDING' && !isOfClient(call)).map((call) => call.id),
  }
}

function invalidIds(ids: readonly string[], pending: readonly ToolCall[]): DecisionRefusal {
  return {
    outcome: 'invalid ids',
    message: `Invalid tool call IDs: ${show(ids.map((id) => ({ id })))}. Expected each once, out of: ${show(pending)}.`,
    invalidIds: ids,
    expectedIds: pending.map((call) => call.id),
  }
}

function show(calls: readonly { readonly id: string }[]): string {
  return calls.map(({ id }) => encodeId('ToolCall', id)).join(', ')
}
