import type { RunWait as DomainRunWait } from '../../domain/approvals/approval.ts'
import { sumOfTokens, type Usage as DomainUsage } from '../../domain/models/usage.ts'
import type {
  RunError as DomainRunError,
  RunErrorType,
  RunStatus as DomainRunStatus,
  StopReason as DomainStopReason,
} from '../../domain/runs/run.ts'
import { builder } from '../builder.ts'
import { describedEnum } from '../described-enum.ts'
import { boolean, float, implement, int, of, string } from '../fields.ts'

export const RunStatus = describedEnum<DomainRunStatus>('RunStatus', 'State of a run.', {
  QUEUED: 'Accepted. Waits for a worker, or for earlier runs of its conversation.',
  RUNNING: 'In progress.',
  AWAITING_APPROVAL:
    'Paused. Waits for `submitApprovals`, or for `continueRun` if a budget is used up, without occupying a worker.',
  CANCELLING: 'A cancel was accepted and the worker is stopping. Streams do not announce this status.',
  COMPLETED: 'Ended with an answer, or at a limit that was set for it.',
  FAILED: 'Ended with an error.',
  CANCELLED: 'Ended by a cancel.',
})

export const RunWait = describedEnum<DomainRunWait>('RunWait', 'What a paused run waits for.', {
  APPROVAL: 'A decision about a tool call.',
  CLIENT_RESULT: 'The result of a tool call that a client runs.',
  BUDGET: 'The budget is used up: `continueRun`.',
})

export const StopReason = describedEnum<DomainStopReason>('StopReason', 'Why a run paused or ended.', {
  END_TURN: 'The model answered without calling another tool.',
  REQUIRES_APPROVAL: 'The run waits for decisions or for results of client tools.',
  CANCELLED: 'The run was cancelled.',
  MAX_STEPS: 'The run reached its maximum number of steps.',
  MAX_TOKENS_EXCEEDED: "The model's answer reached its maximum length.",
  TOOL_RULE: 'A TERMINAL tool rule ended the run.',
  INVALID_TOOL_CALL: "Arguments prefilled by a tool rule do not match the tool's schema.",
  INVALID_LLM_RESPONSE: "The model's response could not be used.",
  RESPONSE_SCHEMA_NOT_SATISFIED:
    'The answer did not satisfy the response schema, even after the model was told what is wrong.',
  LLM_API_ERROR: 'The provider failed or refused the request.',
  CONTEXT_WINDOW_OVERFLOW_IN_SYSTEM_PROMPT: 'The system prompt alone is larger than the context window.',
  CONTEXT_WINDOW_OVERFLOW_IN_INPUT: "The run's input does not fit into the context window, even after compaction.",
  BUDGET_EXCEEDED: 'A budget that applies to the run is used up.',
  ERROR: 'Any other failure.',
})

const RunErrorTypeEnum = describedEnum<RunErrorType>('RunErrorType', 'Kind of failure.', {
  LLM_ERROR: 'The provider failed, or its response could not be used.',
  LLM_TIMEOUT: 'The provider did not answer in time.',
  LLM_RATE_LIMIT: 'The provider limited the rate of requests.',
  LLM_AUTHENTICATION: 'The provider rejected the credentials.',
  LLM_BAD_REQUEST: 'The provider rejected the request.',
  LLM_CONTEXT_WINDOW: "The request is larger than the model's context window.",
  INTERNAL_ERROR: 'The server itself failed.',
})

export const RunError = builder.objectRef<DomainRunError>('RunError')
implement(RunError, {
  description: 'Why a run or step failed.',
  fields: () => ({
    type: of(RunErrorTypeEnum)('Kind of failure.'),
    message: string('What happened, in one sentence.'),
    detail: string.orNull('What the provider said. Null if it said nothing.'),
    retryable: boolean('Whether a retry may succeed.'),
  }),
})

export const Usage = builder.objectRef<DomainUsage & { readonly steps: number }>('Usage')
implement(Usage, {
  description: 'Model usage. Failed and cancelled requests and summaries are included.',
  fields: (t) => ({
    steps: int('Number of model requests.'),
    inputTokens: int('Tokens sent to the model.'),
    outputTokens: int('Tokens written by the model, including reasoning.'),
    totalTokens: t.int({
      description: 'Sum of `inputTokens` and `outputTokens`.',
      resolve: (usage) => sumOfTokens(usage.inputTokens, usage.outputTokens),
    }),
    cachedInputTokens: int("Input tokens that were read from the provider's cache."),
    reasoningTokens: int('Output tokens that were reasoning.'),
    costUsd: float.orNull('Cost in US dollars. Null if the price of a model that was used is not known.'),
  }),
})
