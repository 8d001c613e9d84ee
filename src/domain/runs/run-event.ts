import { encodeCursor } from '../cursor.ts'
import type { MessageType } from '../conversations/message.ts'
import type { RunError, StopReason, StoredRunStatus } from './run.ts'
import type { Usage } from '../models/usage.ts'
import type { ToolCallNeed, ToolCallProgress, ToolCallStatus } from '../tools/tool-call.ts'

/**
 * A stored entry of a run's log: what happened, and the ids of what it happened to. The entries of one checkpoint share
 * a row, which has their first `seq` and their time.
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
      /** The indexes of its text, or of each of its calls, in the live step. Absent if it was not streamed. */
      readonly items?: readonly number[]
    }
  | { readonly type: 'call'; readonly id: string; readonly status: ToolCallStatus }
  | { readonly type: 'child'; readonly runId: string }

export type DeltaKind = 'ASSISTANT' | 'REASONING'

interface EventBase {
  /** Encoded: see domain/cursor.ts. */
  readonly cursor: string
  readonly runId: string
  readonly at: Date
}

/** What the reader of a run's stream receives. */
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
  | (EventBase & { readonly type: 'progress'; readonly toolCallId: string; readonly progress: ToolCallProgress })

type DeltaEvent = Extract<RunEvent, { readonly type: 'text' | 'call' }>

/** What the reader of a conversation's stream receives: events of its runs, and changes of its queue and branch. */
export type ConversationEvent =
  | RunEvent
  | {
      readonly type: 'queue'
      readonly cursor: string
      readonly at: Date
      /** The runs of the queue that the cursor names. */
      readonly runIds: readonly string[]
    }
  | {
      readonly type: 'branch'
      readonly cursor: string
      readonly at: Date
      /** Null if no message stays on the current branch. */
      readonly lastSharedMessageId: string | null
    }

export const eventTypes = [
  'RUN_STATUS_CHANGED',
  'STEP_STARTED',
  'STEP_FINISHED',
  'STEP_RESTARTED',
  'TEXT_DELTA',
  'TOOL_CALL_DELTA',
  'MESSAGE_ADDED',
  'TOOL_CALL_CHANGED',
  'TOOL_CALL_PROGRESSED',
  'CHILD_RUN_STARTED',
  'QUEUE_CHANGED',
  'BRANCH_CHANGED',
] as const
export type EventType = (typeof eventTypes)[number]

const typesOfEntries = {
  status: 'RUN_STATUS_CHANGED',
  stepStarted: 'STEP_STARTED',
  stepRestarted: 'STEP_RESTARTED',
  stepFinished: 'STEP_FINISHED',
  message: 'MESSAGE_ADDED',
  call: 'TOOL_CALL_CHANGED',
  child: 'CHILD_RUN_STARTED',
} as const satisfies Record<LogEntry['type'], EventType>

/** Types of the events that are in a run's log. */
export const storedEventTypes: readonly EventType[] = Object.values(typesOfEntries)

const typesOfOthers = {
  text: 'TEXT_DELTA',
  call: 'TOOL_CALL_DELTA',
  progress: 'TOOL_CALL_PROGRESSED',
  queue: 'QUEUE_CHANGED',
  branch: 'BRANCH_CHANGED',
} as const satisfies Record<Exclude<ConversationEvent['type'], 'entry'>, EventType>

export function eventTypeOf(event: ConversationEvent): EventType {
  return event.type === 'entry' ? typesOfEntries[event.entry.type] : typesOfOthers[event.type]
}

/** The events that a reader asked for. */
export interface EventFilter {
  /** Whether to send live text in addition to stored entries. */
  readonly deltas: boolean
  /** Undefined for all types. */
  readonly types?: ReadonlySet<EventType> | undefined
  /** Undefined for messages of all types. Does not concern events that are about no message. */
  readonly messageTypes?: ReadonlySet<MessageType> | undefined
}

/** The types of message that a piece of live text may become a part of. */
export function messageTypesOfDelta(delta: DeltaEvent): readonly MessageType[] {
  if (delta.type === 'text') return [delta.kind]
  if (delta.needs === null) return ['TOOL_CALL', 'APPROVAL_REQUEST']
  return [delta.needs === 'NOTHING' ? 'TOOL_CALL' : 'APPROVAL_REQUEST']
}

export function wantsDeltas({ deltas, types }: EventFilter): boolean {
  return deltas && (types === undefined || types.has('TEXT_DELTA') || types.has('TOOL_CALL_DELTA'))
}

export function wantsProgress({ deltas, types }: EventFilter): boolean {
  return deltas && (types === undefined || types.has('TOOL_CALL_PROGRESSED'))
}

/** The entries of one checkpoint as readers receive them. */
export function toEntryEvents(
  { id: runId, conversationId }: { readonly id: string; readonly conversationId: string },
  { firstSeq, at, entries }: { readonly firstSeq: number; readonly at: Date; readonly entries: readonly LogEntry[] },
): Extract<RunEvent, { readonly type: 'entry' }>[] {
  return entries.map((entry, index) => {
    const seq = firstSeq + index
    const cursor = encodeCursor(conversationId, { runId, seq, item: 0, offset: 0 })
    return { type: 'entry', cursor, runId, at, seq, entry }
  })
}
