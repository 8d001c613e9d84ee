import type { SchemaProblem } from '../../util/json-schema.ts'
import { isJsonObject, type Json } from '../../util/json.ts'
import { isSameActor, type Actor } from '../access/actor.ts'
import { problemsOfEdit } from '../tools/call-check.ts'
import {
  hasFollowUp,
  hashOfFollowUp,
  isSameDecision,
  withCalls,
  type DecisionInput,
  type GivenDecision,
} from './decisions.ts'
import { encodeId } from '../ids.ts'
import type { GivenMessage } from '../conversations/message.ts'
import type { RunState } from '../runs/run-state.ts'
import { isDecided, type DecidedCall, type ToolCall } from '../tools/tool-call.ts'

/** `invalidIds` and `expectedIds` are public ids, because clients may send anything. */
export type DecisionRefusal = { readonly message: string } & (
  | { readonly outcome: 'nothing pending' }
  | { readonly outcome: 'invalid ids'; readonly invalidIds: readonly string[]; readonly expectedIds: readonly string[] }
  | { readonly outcome: 'already decided' | 'self approval'; readonly toolCallIds: readonly string[] }
  | {
      readonly outcome: 'invalid arguments'
      readonly toolCallId: string
      readonly problems: readonly SchemaProblem[]
    }
)

interface Deciding {
  readonly given: GivenDecision
  readonly call: ToolCall | undefined
}

/**
 * Why decisions are refused, all together. They are compared with the stored decisions before the run's state is looked
 * at: repeating the same decision is never refused, however far the run has come since.
 */
export function refusalOf(
  state: RunState,
  { decisions, followUp }: DecisionInput,
  actor: Actor,
): DecisionRefusal | undefined {
  const all: readonly Deciding[] = withCalls(state, decisions)
  const ids = decisions.map((given) => given.toolCallId)
  const twice = ids.filter((id, index) => ids.indexOf(id) !== index)
  const open = all.filter(({ given, call }) => !call || !isSameDecision(given, call, actor))
  const pending = state.calls.filter((call) => call.status === 'PENDING')
  // The same decision given twice, about a call that it was made about before, changes as little as given once.
  if (open.length === 0 && (twice.length === 0 || pending.length === 0))
    return refusalOfFollowUp(calls(all), followUp, actor)

  if (pending.length === 0) return refusalOfLate(calls(open))
  const invalid = open.filter(({ call }) => !call || (call.status !== 'PENDING' && !call.decision))
  if (invalid.length > 0 || twice.length > 0) {
    return invalidIds([...new Set([...invalid.map(({ given }) => given.toolCallId), ...twice])], pending)
  }
  const decided = calls(open).filter(isDecided)
  return decided.length > 0 ? alreadyDecided(decided) : refusalOfContent(state, open, actor)
}

/**
 * Nothing waits any more. If a person decided the call, that decision is reported; otherwise there is nothing to
 * report.
 */
function refusalOfLate(open: readonly ToolCall[]): DecisionRefusal {
  const decided = open.filter(isDecided).filter(({ decision }) => decision.actor !== null)
  return decided.length > 0
    ? alreadyDecided(decided)
    : { outcome: 'nothing pending', message: 'No tool call is currently awaiting approval.' }
}

function alreadyDecided(decided: readonly DecidedCall[]): DecisionRefusal {
  const told = decided.map((call) => `${publicId(call)} was ${toldDecision(call)}`).join('; ')
  const message = `A different decision was already made: ${told}. Nothing was changed.`
  return { outcome: 'already decided', message, toolCallIds: decided.map((call) => call.id) }
}

function toldDecision({ decision, decidedAt }: DecidedCall): string {
  const verbs = { APPROVED: 'approved', DENIED: 'denied', CLIENT_RETURN: 'answered' } as const
  const who = decision.actor === null ? 'because its approval expired' : `by ${decision.actor.name}`
  return `${verbs[decision.kind]} ${who} at ${decidedAt.toISOString()}`
}

/**
 * A follow-up comes with a decision. If all decisions were made before, the follow-up either came with one of them, or
 * it is too late, because the model may have been called already. It is refused rather than lost.
 */
function refusalOfFollowUp(
  decided: readonly ToolCall[],
  followUp: readonly GivenMessage[],
  actor: Actor,
): DecisionRefusal | undefined {
  const hash = hashOfFollowUp(followUp)
  if (hash === undefined || decided.some((call) => hasFollowUp(call, hash, actor))) return undefined
  const message =
    'These decisions were already made, without this follow-up of yours, so it was not stored. Send it with `sendMessage`, or with the decision about a call that still waits.'
  return { outcome: 'already decided', message, toolCallIds: decided.map((call) => call.id) }
}

function refusalOfContent(state: RunState, open: readonly Deciding[], actor: Actor): DecisionRefusal | undefined {
  const approved = open.flatMap(({ given, call }) => (given.kind === 'APPROVED' && call ? [{ given, call }] : []))
  const ofClient = approved.map(({ call }) => call).filter(isOfClient)
  if (ofClient.length > 0) return clientMustReturn(state, ofClient)
  const { sentBy } = state.run
  const ownRun = sentBy !== null && isSameActor(sentBy, actor)
  const barred = approved.map(({ call }) => call).filter((call) => ownRun && call.approval?.excludesSender)
  if (barred.length > 0) return selfApproval(barred)

  for (const { given, call } of approved) {
    const problems = given.arguments === undefined ? [] : problemsOfArguments(state, call, given.arguments)
    const message = `The edited arguments of ${publicId(call)} do not match the tool's schema or the tool rules. Nothing was changed.`
    if (problems.length > 0) return { outcome: 'invalid arguments', message, toolCallId: call.id, problems }
  }
  return undefined
}

function selfApproval(barred: readonly ToolCall[]): DecisionRefusal {
  const ids = barred.map(publicId).join(', ')
  const message = `You started this run, and its tool excludes the sender from approving: ${ids}. Somebody else must approve. Nothing was changed.`
  return { outcome: 'self approval', message, toolCallIds: barred.map((call) => call.id) }
}

/** A tool takes an object, even if its schema does not say so. */
function problemsOfArguments(state: RunState, call: ToolCall, edited: Json): readonly SchemaProblem[] {
  if (!isJsonObject(edited)) return [{ path: '', message: 'must be object' }]
  return problemsOfEdit(state, { ...call, arguments: edited })
}

function isOfClient(call: ToolCall): boolean {
  return call.needs === 'CLIENT_EXECUTION'
}

/** A call of a client tool cannot be approved, because the server cannot run it. */
function clientMustReturn(state: RunState, ofClient: readonly ToolCall[]): DecisionRefusal {
  const names = [...new Set(ofClient.map((call) => call.name))].join(', ')
  const ids = ofClient.map(publicId)
  return {
    outcome: 'invalid ids',
    message: `Invalid tool call IDs: ${ids.join(', ')}. The client runs ${names} itself: send the result as \`toolReturn\`, or \`deny\` the call.`,
    invalidIds: ids,
    expectedIds: state.calls.filter((call) => call.status === 'PENDING').map(publicId),
  }
}

function invalidIds(ids: readonly string[], pending: readonly ToolCall[]): DecisionRefusal {
  const expectedIds = pending.map(publicId)
  return {
    outcome: 'invalid ids',
    message: `Invalid tool call IDs: ${ids.map((id) => id.slice(0, 100)).join(', ')}. Expected each of these at most once: ${expectedIds.join(', ')}.`,
    invalidIds: ids,
    expectedIds,
  }
}

function calls(deciding: readonly Deciding[]): ToolCall[] {
  return [...new Set(deciding.flatMap(({ call }) => call ?? []))]
}

function publicId(call: ToolCall): string {
  return encodeId('ToolCall', call.id)
}
