import { encodeCursor } from './cursor.ts'
import type { RunError, StopReason, StoredRunStatus, Usage } from './run.ts'
import type { ToolCallNeed, ToolCallStatus } from './tool-call.ts'

/**
 * An entry of a run's log, as it is stored: what happened, by the ids of what it happened to. The row that packs
 * the entries of one checkpoint has their first `seq` and the time.
 */
export type LogEntry =
  | {
      readonly type: 'status'
      readonly status: StoredRunStatus
      readonly stopReason: StopReason | null
      readonly error: RunError | null
      readonly usage: Usage & { readonly steps: number }
    }
  | { readonly type: 'stepStarted'; readonly index: number }
  | { readonly type: 'stepRestarted'; readonly index: number; readonly attempt: number }
  | { readonly type: 'stepFinished'; readonly index: number }
  | {
      readonly type: 'message'
      readonly id: string
      /** Where its text, or each of its calls, stood in the live step; absent where it was not streamed. */
      readonly items?: readonly number[]
    }
  | { readonly type: 'call'; readonly id: string; readonly status: ToolCallStatus }
  | { readonly type: 'child'; readonly runId: string }

export const deltaKinds = ['ASSISTANT', 'REASONING'] as const
export type DeltaKind = (typeof deltaKinds)[number]

interface EventBase {
  /** Encoded: see domain/cursor.ts. */
  readonly cursor: string
  readonly runId: string
  readonly at: Date
}

/** What a reader of a run's stream is sent. */
export type RunEvent =
  | (EventBase & { readonly type: 'entry'; readonly seq: number; readonly entry: LogEntry })
  | (EventBase & {
      readonly type: 'text'
      readonly kind: DeltaKind
      readonly messageId: string
      readonly stepIndex: number
      readonly offset: number
      readonly text: string
    })
  | (EventBase & {
      readonly type: 'call'
      readonly toolCallId: string
      readonly stepIndex: number
      readonly name: string
      readonly needs: ToolCallNeed | null
      readonly offset: number
      readonly argumentsText: string
    })

/** The entries of one checkpoint as their readers are sent them. */
export function toEntryEvents(
  runId: string,
  { firstSeq, at, entries }: { readonly firstSeq: number; readonly at: Date; readonly entries: readonly LogEntry[] },
): Extract<RunEvent, { readonly type: 'entry' }>[] {
  return entries.map((entry, index) => {
    const seq = firstSeq + index
    return { type: 'entry', cursor: encodeCursor({ runId, seq, item: 0, offset: 0 }), runId, at, seq, entry }
  })
}
