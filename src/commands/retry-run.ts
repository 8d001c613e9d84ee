import { notImplemented } from '../domain/errors.ts'
import type { Viewer } from '../domain/viewer.ts'
import type { CommandContext } from './command-context.ts'

export type RetryRunOutcome =
  | { readonly outcome: 'accepted'; readonly runId: string }
  | { readonly outcome: 'not retryable'; readonly runId: string; readonly message: string }
  | { readonly outcome: 'busy'; readonly runId: string }

export function retryRun(
  _context: CommandContext,
  _viewer: Viewer,
  _input: { readonly runId: string },
): Promise<RetryRunOutcome> {
  throw notImplemented('retryRun')
}
