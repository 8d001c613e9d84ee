import type { Json } from '../util/json.ts'
import { sameJson } from '../util/json.ts'
import type { ApprovalScope, ToolCall, ToolReturnStatus } from './tool-call.ts'

/** What a client says about one call that waits. */
export type GivenDecision =
  | {
      readonly kind: 'APPROVED'
      readonly toolCallId: string
      /** Undefined: as the model wrote them. */
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

/** Whether the same thing was decided before: then deciding it again succeeds and changes nothing. */
export function isSameDecision(given: GivenDecision, call: ToolCall): boolean {
  const { decision } = call
  if (!decision || decision.kind !== given.kind) return false
  switch (given.kind) {
    case 'APPROVED':
      return decision.scope === given.scope && sameJson(given.arguments ?? null, call.editedArguments)
    case 'DENIED':
      return decision.reason === given.reason
    case 'CLIENT_RETURN':
      // What was stored may have been cut to the tool's limit.
      return (
        call.result?.status === given.status &&
        (call.result.truncated
          ? given.output.startsWith(call.result.output.slice(0, 1_000))
          : call.result.output === given.output)
      )
    default:
      return given satisfies never
  }
}

/** What the model reads of a call that was not allowed. */
export function denialText(reason: string | null): string {
  return reason === null || reason === ''
    ? 'The request to call this tool was denied.'
    : `The request to call this tool was denied. Reason: ${reason}`
}
