import type { Json } from '../../util/json.ts'
import type { Actor } from '../access/actor.ts'
import type { ContentPart } from '../conversations/content.ts'

export type ToolCallStatus = 'PENDING' | 'READY' | 'RUNNING' | 'SUCCEEDED' | 'FAILED' | 'DENIED' | 'CANCELLED'
export type ToolCallNeed = 'NOTHING' | 'APPROVAL' | 'CLIENT_EXECUTION'

/** From the narrowest to the widest. */
export const approvalScopes = ['ONCE', 'RUN', 'AGENT'] as const
export type ApprovalScope = (typeof approvalScopes)[number]

export type ToolReturnStatus = 'SUCCESS' | 'ERROR'

/** The outcome of a call. Its name and ids are on the call. */
export interface ToolResult {
  readonly status: ToolReturnStatus
  /** The text of the result. */
  readonly output: string
  /** All parts, in order, if some are not text. `output` is the text among them. */
  readonly content?: readonly ContentPart[]
  /** The tool's structured result, if it differs from the JSON in `output`. */
  readonly json?: Json
  readonly stdout: readonly string[]
  readonly stderr: readonly string[]
  readonly truncated: boolean
  readonly durationMs: number | null
}

/** The decision. Edited arguments and a client's result are on the call itself. */
export interface Decision {
  readonly kind: 'APPROVED' | 'DENIED' | 'CLIENT_RETURN'
  readonly reason: string | null
  readonly scope: ApprovalScope | null
  /** APPROVED: what the model is told together with the result. */
  readonly note: string | null
  /** Null if the approval expired. */
  readonly actor: Actor | null
  /** CLIENT_RETURN: hash of the result that the client sent, because the stored result may have been cut. */
  readonly givenHash?: string
  /** The hash of the follow-up that came with it. */
  readonly followUpHash?: string
}

/** One of several approvals that a call needs. */
export interface Approval {
  readonly actor: Actor
  readonly scope: ApprovalScope
  readonly note: string | null
  /** ISO 8601, in UTC. */
  readonly at: string
  /** The hash of the follow-up that came with it. */
  readonly followUpHash?: string
}

/** What a call needs beyond one approval by anybody, taken from its tool when the call was made. */
export interface ApprovalTerms {
  readonly required: number
  readonly excludesSender: boolean
  /** Approvals so far, oldest first, without the one that decided the call. All are for the same arguments. */
  readonly given: readonly Approval[]
  /** Approvals that no longer count. They are kept if a follow-up came with them, which must not be stored again. */
  readonly replaced?: readonly Approval[]
}

/** A client's temporary right to execute a client tool's call. */
export interface ToolCallClaim {
  readonly claimantId: string
  readonly claimedBy: Actor
  /** ISO 8601, in UTC. */
  readonly expiresAt: string
}

/** What a running call last reported. It is never stored. */
export interface ToolCallProgress {
  readonly progress: number
  readonly total: number | null
  readonly message: string | null
}

export interface ToolCall {
  readonly id: string
  readonly tenantId: string
  readonly runId: string
  readonly stepIndex: number
  /** Its place among the step's calls, from 0. */
  readonly ordinal: number
  readonly providerCallId: string
  readonly name: string
  readonly argumentsText: string
  /** Null if the text is not JSON. */
  readonly arguments: Json
  readonly editedArguments: Json
  readonly needs: ToolCallNeed
  readonly status: ToolCallStatus
  /** Null means one approval by anybody, or that the call needs none. */
  readonly approval: ApprovalTerms | null
  readonly claim: ToolCallClaim | null
  readonly decision: Decision | null
  readonly decidedAt: Date | null
  readonly result: ToolResult | null
  readonly createdAt: Date
  readonly expiresAt: Date | null
  readonly startedAt: Date | null
  readonly finishedAt: Date | null
}

export type DecidedCall = ToolCall & { readonly decision: Decision; readonly decidedAt: Date }

export function isDecided(call: ToolCall): call is DecidedCall {
  return call.decision !== null && call.decidedAt !== null
}

/** The arguments of a call: those that the model wrote, those that are used, and those that a person edited. */
export type ToolCallArguments = Pick<ToolCall, 'argumentsText' | 'arguments' | 'editedArguments'>

/** A call without its arguments and its result, which lists omit because they can be large. */
export interface ToolCallOutline extends Omit<ToolCall, keyof ToolCallArguments | 'result'> {
  readonly hasResult: boolean
}

/** Whether the call ran, on the server or in a client, successfully or not. A denied or refused call did not. */
export function hasRun(call: Pick<ToolCall, 'status' | 'startedAt' | 'decision'>): boolean {
  if (call.status === 'SUCCEEDED') return true
  return call.status === 'FAILED' && (call.startedAt !== null || call.decision?.kind === 'CLIENT_RETURN')
}

export function isSettled(call: Pick<ToolCall, 'status'>): boolean {
  return ['SUCCEEDED', 'FAILED', 'DENIED', 'CANCELLED'].includes(call.status)
}
