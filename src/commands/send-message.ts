import { notImplemented } from '../domain/errors.ts'
import type { GivenMessage } from '../domain/message.ts'
import type { ClientTool } from '../domain/run.ts'
import type { Viewer } from '../domain/viewer.ts'
import type { JsonObject } from '../util/json.ts'
import type { CommandContext } from './command-context.ts'

export type WhenBusy = 'REJECT' | 'ENQUEUE' | 'INTERRUPT'

export interface SendMessageInput {
  readonly to: { readonly agentId: string } | { readonly conversationId: string }
  readonly messages: readonly GivenMessage[]
  readonly clientTools: readonly ClientTool[]
  readonly maxSteps: number | null
  readonly maxTotalTokens: number | null
  readonly whenBusy: WhenBusy
  readonly idempotencyKey: string | null
  readonly metadata: JsonObject
}

export type SendMessageOutcome =
  | { readonly outcome: 'accepted'; readonly runId: string }
  /** The active run waits for approval. */
  | { readonly outcome: 'pending approval'; readonly runId: string }
  | { readonly outcome: 'busy'; readonly runId: string }

export function sendMessage(
  _context: CommandContext,
  _viewer: Viewer,
  _input: SendMessageInput,
): Promise<SendMessageOutcome> {
  throw notImplemented('sendMessage')
}
