import { keysOf, type Json, type JsonObject } from '../../util/json.ts'
import type { Actor } from '../access/actor.ts'
import type { CompactionSettings } from '../agents/agent.ts'
import type { GivenMessage } from '../conversations/message.ts'
import type { Usage } from '../models/usage.ts'

export type EndedStatus = 'COMPLETED' | 'FAILED' | 'CANCELLED'
/** The stored statuses. A run that is RUNNING and has been asked to stop is shown as CANCELLING. */
export type StoredRunStatus = 'QUEUED' | 'RUNNING' | 'AWAITING_APPROVAL' | EndedStatus
export type RunStatus = StoredRunStatus | 'CANCELLING'

/** What becomes of a run that stops for this reason. */
export const statusOfStopReason = {
  END_TURN: 'COMPLETED',
  REQUIRES_APPROVAL: 'AWAITING_APPROVAL',
  CANCELLED: 'CANCELLED',
  MAX_STEPS: 'COMPLETED',
  MAX_TOKENS_EXCEEDED: 'COMPLETED',
  TOOL_RULE: 'COMPLETED',
  INVALID_TOOL_CALL: 'FAILED',
  INVALID_LLM_RESPONSE: 'FAILED',
  RESPONSE_SCHEMA_NOT_SATISFIED: 'FAILED',
  LLM_API_ERROR: 'FAILED',
  CONTEXT_WINDOW_OVERFLOW_IN_SYSTEM_PROMPT: 'FAILED',
  CONTEXT_WINDOW_OVERFLOW_IN_INPUT: 'FAILED',
  BUDGET_EXCEEDED: 'COMPLETED',
  ERROR: 'FAILED',
} as const satisfies Readonly<Record<string, EndedStatus | 'AWAITING_APPROVAL'>>

export type StopReason = keyof typeof statusOfStopReason
export const stopReasons: readonly StopReason[] = keysOf(statusOfStopReason)

export type RunErrorType =
  | 'LLM_ERROR'
  | 'LLM_TIMEOUT'
  | 'LLM_RATE_LIMIT'
  | 'LLM_AUTHENTICATION'
  | 'LLM_BAD_REQUEST'
  | 'LLM_CONTEXT_WINDOW'
  | 'INTERNAL_ERROR'

export interface RunError {
  readonly type: RunErrorType
  readonly message: string
  readonly detail: string | null
  readonly retryable: boolean
}

export interface ClientTool {
  readonly name: string
  readonly description: string
  readonly parameters: JsonObject
}

/** What the client asked for, exactly as it was sent. */
export interface RunRequest {
  readonly messages: readonly GivenMessage[]
  readonly clientTools: readonly ClientTool[]
  /** The schema of the final answer. Undefined means the agent's schema, null means free text. */
  readonly responseSchema?: Json
  /** COMPACTION: settings for this run only. */
  readonly compaction?: CompactionSettings
  /** SLEEPTIME: the agent whose conversations the run reads. */
  readonly foregroundAgentId?: string
}

export type RunKind = 'TURN' | 'COMPACTION' | 'SLEEPTIME'

/**
 * Set if the run was retried after other runs had held the conversation, so that it got a new `hold`: the places that
 * it had before, and the first entry that belongs to the new place.
 */
export interface Resumed {
  readonly holds: readonly number[]
  readonly seq: number
}

/** A run without its contents (`RunContents`), which lists omit because they can be large. */
export interface Run {
  readonly id: string
  readonly tenantId: string
  readonly agentId: string
  readonly conversationId: string
  /** Its place among the conversation's runs: 1, 2, 3 … in the order in which they were accepted. */
  readonly number: number
  /**
   * Its place among the runs that held the conversation. Null while it waits, and forever if it was cancelled while
   * waiting.
   */
  readonly hold: number | null
  /**
   * The place of the run before it on its branch, or a place that no run has if it is the first. Null if `hold` is
   * null.
   */
  readonly previousHold: number | null
  readonly resumed: Resumed | null
  readonly kind: RunKind
  readonly parentId: string | null
  /** The schedule that started the run. It may have been deleted. Null if none did. */
  readonly scheduleId: string | null
  /** Who started the run. Null for background runs. */
  readonly sentBy: Actor | null
  readonly maxSteps: number
  readonly maxTotalTokens: number | null
  readonly status: StoredRunStatus
  readonly stopReason: StopReason | null
  readonly error: RunError | null
  /** Whether the last answer satisfies the response schema. False if no schema applies. */
  readonly hasOutput: boolean
  readonly nextSeq: number
  /**
   * The run's messages have the positions from `firstPosition` up to but not including `nextPosition`. If it was
   * retried after other branches had continued, their messages are in between.
   */
  readonly firstPosition: number | null
  readonly nextPosition: number | null
  readonly attempts: number
  readonly cancelRequestedAt: Date | null
  /** Who cancelled the run, or sent the message that interrupted it. */
  readonly cancelledBy: Actor | null
  readonly usage: Usage
  readonly steps: number
  readonly createdAt: Date
  readonly updatedAt: Date
  readonly startedAt: Date | null
  readonly finishedAt: Date | null
}

/** What the client sent with a run. Never changes. */
export interface RunContents {
  readonly request: RunRequest
  readonly metadata: JsonObject
}

export function hasEnded(status: RunStatus): status is EndedStatus {
  return status === 'COMPLETED' || status === 'FAILED' || status === 'CANCELLED'
}

export function shownStatus(run: Pick<Run, 'status' | 'cancelRequestedAt'>): RunStatus {
  return run.status === 'RUNNING' && run.cancelRequestedAt ? 'CANCELLING' : run.status
}

type Pause = Pick<Run, 'status' | 'stopReason'>

/** No call of such a run waits. */
export function waitsForBudget({ status, stopReason }: Pause): boolean {
  return status === 'AWAITING_APPROVAL' && stopReason === 'BUDGET_EXCEEDED'
}

/** Whether calls of the run wait, for people or for clients. */
export function waitsForCalls(run: Pause): boolean {
  return run.status === 'AWAITING_APPROVAL' && !waitsForBudget(run)
}

/**
 * Which status may follow which. Every statement that changes a status takes the statuses that it may change from here.
 * An ended run never changes again, except that `retryRun` continues a FAILED one.
 */
export const transitions: Readonly<Record<StoredRunStatus, readonly StoredRunStatus[]>> = {
  QUEUED: ['RUNNING', 'CANCELLED', 'FAILED'],
  RUNNING: ['AWAITING_APPROVAL', 'COMPLETED', 'FAILED', 'CANCELLED'],
  AWAITING_APPROVAL: ['RUNNING', 'CANCELLED', 'FAILED'],
  COMPLETED: [],
  FAILED: ['QUEUED'],
  CANCELLED: [],
}

export const runDefaults = { maxSteps: 50 } as const
