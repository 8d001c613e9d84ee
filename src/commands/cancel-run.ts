import { notImplemented } from '../domain/errors.ts'
import type { Viewer } from '../domain/viewer.ts'
import type { CommandContext } from './command-context.ts'

export type CancelRunInput =
  { readonly runId: string } | { readonly agentId: string } | { readonly conversationId: string }

export type CancelRunOutcome =
  | { readonly outcome: 'cancelled'; readonly runId: string }
  | { readonly outcome: 'finished'; readonly runId: string }
  | { readonly outcome: 'nothing to cancel' }

/** Answers when the run has ended, or after two seconds. */
export function cancelRun(
  _context: CommandContext,
  _viewer: Viewer,
  _input: CancelRunInput,
): Promise<CancelRunOutcome> {
  throw notImplemented('cancelRun')
}
