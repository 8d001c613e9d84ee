import type { Json, JsonObject } from '../util/json.ts'
import type { Actor } from './access/actor.ts'
import type { CompactionSettings } from './agent.ts'
import type { GivenMessage } from './conversations/message.ts'

/** The stored statuses. A run that is RUNNING and has been asked to stop is shown as CANCELLING. */
export const storedRunStatuses = ['QUEUED', 'RUNNING', 'AWAITING_APPROVAL', 'COMPLETED', 'FAILED', 'CANCELLED'] as const
export type StoredRunStatus = (typeof storedRunStatuses)[number]
export type RunStatus = StoredRunStatus | 'CANCELLING'

export const stopReasons = [
  'END_TURN',
  'REQUIRES_APPROVAL',
  'CANCELLED',
  'MAX_STEPS',
  'MAX_TOKENS_EXCEEDED',
  'TOOL_RULE',
  'INVALID_TOOL_CALL',
  'INVALID_LLM_RESPONSE',
  'RESPONSE_SCHEMA_NOT_SATISFIED',
  'LLM_API_ERROR',
  'CONTEXT_WINDOW_OVERFLOW_IN_SYSTEM_PROMPT',
  'CONTEXT_WINDOW_OVERFLOW_IN_INPUT',
  'BUDGET_EXCEEDED',
  'ERROR',
] as const
export type StopReason = (typeof stopReasons)[number]

export const runErrorTypes = [
  'LLM_ERROR',
  'LLM_TIMEOUT',
  'LLM_RATE_LIMIT',
  'LLM_AUTHENTICATION',
  'LLM_BAD_REQUEST',
  'LLM_CONTEXT_WINDOW',
  'INTERNAL_ERROR',
] as const
export type RunErrorType = (typeof runErrorTypes)[number]

export interface RunError {
  readonly type: RunErrorType
  readonly message: string
  readonly detail: string | null
  readonly retryable: boolean
}

/** Tokens as a provider counts them. */
export interface TokenCounts {
  readonly inputTokens: number
  readonly outputTokens: number
  readonly cachedInputTokens: number
  readonly reasoningTokens: number
  /** Input tokens that were written to the provider's cache, if that has a price of its own. Not stored. */
  readonly cacheWriteTokens?: number
}

export interface Usage extends Omit<TokenCounts, 'cacheWriteTokens'> {
  /** Null if the price of a model that was used is not known. */
  readonly costUsd: number | null
}

export const noUsage: Usage = {
  inputTokens: 0,
  outputTokens: 0,
  cachedInputTokens: 0,
  reasoningTokens: 0,
  costUsd: 0,
}

export function sumOfUsage(one: Usage, other: Usage): Usage {
  return {
    inputTokens: sumOfTokens(one.inputTokens, other.inputTokens),
    outputTokens: sumOfTokens(one.outputTokens, other.outputTokens),
    cachedInputTokens: sumOfTokens(one.cachedInputTokens, other.cachedInputTokens),
    reasoningTokens: sumOfTokens(one.reasoningTokens, other.reasoningTokens),
    costUsd: one.costUsd === null || other.costUsd === null ? null : one.costUsd + other.costUsd,
  }
}

/** The largest token count that the API and the database can hold. A larger sum is capped here. */
const maxTokens = 2 ** 31 - 1

export function sumOfTokens(one: number, other: number): number {
  return Math.min(countOf(one) + countOf(other), maxTokens)
}

/** Providers may report anything. A value that is not a count becomes 0. */
function countOf(tokens: number): number {
  return tokens > 0 ? Math.min(Math.floor(tokens), maxTokens) : 0
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

export const runKinds = ['TURN', 'COMPACTION', 'SLEEPTIME'] as const
export type RunKind = (typeof runKinds)[number]

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

export const endedStatuses = ['COMPLETED', 'FAILED', 'CANCELLED'] as const satisfies readonly StoredRunStatus[]
export type EndedStatus = (typeof endedStatuses)[number]

export function hasEnded(status: RunStatus): status is EndedStatus {
  return (endedStatuses as readonly RunStatus[]).includes(status)
}

export function shownStatus(run: Pick<Run, 'status' | 'cancelRequestedAt'>): RunStatus {
  return run.status === 'RUNNING' && run.cancelRequestedAt ? 'CANCELLING' : run.status
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

export function statusOfStopReason(reason: StopReason): EndedStatus | 'AWAITING_APPROVAL' {
  switch (reason) {
    case 'END_TURN':
    case 'TOOL_RULE':
    case 'MAX_STEPS':
    case 'MAX_TOKENS_EXCEEDED':
    case 'BUDGET_EXCEEDED':
      return 'COMPLETED'
    case 'CANCELLED':
      return 'CANCELLED'
    case 'REQUIRES_APPROVAL':
      return 'AWAITING_APPROVAL'
    case 'INVALID_TOOL_CALL':
    case 'INVALID_LLM_RESPONSE':
    case 'RESPONSE_SCHEMA_NOT_SATISFIED':
    case 'LLM_API_ERROR':
    case 'CONTEXT_WINDOW_OVERFLOW_IN_SYSTEM_PROMPT':
    case 'CONTEXT_WINDOW_OVERFLOW_IN_INPUT':
    case 'ERROR':
      return 'FAILED'
    default:
      return reason satisfies never
  }
}

export const runDefaults = { maxSteps: 50 } as const
