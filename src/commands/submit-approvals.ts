import { notImplemented } from '../domain/errors.ts'
import type { GivenMessage } from '../domain/message.ts'
import type { ApprovalScope, ToolReturnStatus } from '../domain/tool-call.ts'
import type { Viewer } from '../domain/viewer.ts'
import type { Json } from '../util/json.ts'
import type { CommandContext } from './command-context.ts'

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

export interface SubmitApprovalsInput {
  readonly runId: string
  readonly decisions: readonly GivenDecision[]
  readonly followUp: readonly GivenMessage[]
  readonly idempotencyKey: string | null
}

export interface ArgumentProblem {
  readonly path: string
  readonly message: string
}

export type SubmitApprovalsOutcome =
  | { readonly outcome: 'accepted'; readonly runId: string }
  | { readonly outcome: 'nothing pending'; readonly runId: string }
  | {
      readonly outcome: 'invalid ids'
      readonly message: string
      readonly invalidIds: readonly string[]
      readonly expectedIds: readonly string[]
    }
  | { readonly outcome: 'already decided'; readonly toolCallIds: readonly string[] }
  | {
      readonly outcome: 'invalid arguments'
      readonly toolCallId: string
      readonly problems: readonly ArgumentProblem[]
    }

export function submitApprovals(
  _context: CommandContext,
  _viewer: Viewer,
  _input: SubmitApprovalsInput,
): Promise<SubmitApprovalsOutcome> {
  throw notImplemented('submitApprovals')
}
