import type { RunWait as DomainRunWait } from '../domain/approvals/approval.ts'
import {
  sumOfTokens,
  type RunError as DomainRunError,
  type RunErrorType,
  type RunStatus as DomainRunStatus,
  type StopReason as DomainStopReason,
  type Usage as DomainUsage,
} from '../domain/run.ts'
import { builder } from './builder.ts'

type Described<Value extends string> = Readonly<Record<Value, { readonly description: string }>>

export const RunStatus = builder.enumType('RunStatus', {
  description: 'State of a run.',
  values: {
    QUEUED: { description: 'Accepted. Waits for a worker, or for earlier runs of its conversation.' },
    RUNNING: { description: 'In progress.' },
    AWAITING_APPROVAL: { description: 'Paused. Waits for `submitApprovals` without occupying a worker.' },
    CANCELLING: {
      description: 'A cancel was accepted and the worker is stopping. Streams do not announce this status.',
    },
    COMPLETED: { description: 'Ended with an answer, or at a limit that was set for it.' },
    FAILED: { description: 'Ended with an error.' },
    CANCELLED: { description: 'Ended by a cancel.' },
  } satisfies Described<DomainRunStatus>,
})

export const RunWait = builder.enumType('RunWait', {
  description: 'What a paused run waits for.',
  values: {
    APPROVAL: { description: 'A decision about a tool call.' },
    CLIENT_RESULT: { description: 'The result of a tool call that a client runs.' },
  } satisfies Described<DomainRunWait>,
})

export const StopReason = builder.enumType('StopReason', {
  description: 'Why a run paused or ended.',
  values: {
    END_TURN: { description: 'The model answered without calling another tool.' },
    REQUIRES_APPROVAL: { description: 'The run waits for decisions or for results of client tools.' },
    CANCELLED: { description: 'The run was cancelled.' },
    MAX_STEPS: { description: 'The run reached its maximum number of steps.' },
    MAX_TOKENS_EXCEEDED: { description: "The model's answer reached its maximum length." },
    TOOL_RULE: { description: 'A TERMINAL tool rule ended the run.' },
    INVALID_TOOL_CALL: { description: "Arguments prefilled by a tool rule do not match the tool's schema." },
    INVALID_LLM_RESPONSE: { description: "The model's response could not be used." },
    RESPONSE_SCHEMA_NOT_SATISFIED: {
      description: 'The answer did not satisfy the response schema, even after the model was told what is wrong.',
    },
    LLM_API_ERROR: { description: 'The provider failed or refused the request.' },
    CONTEXT_WINDOW_OVERFLOW_IN_SYSTEM_PROMPT: {
      description: 'The system prompt alone is larger than the context window.',
    },
    CONTEXT_WINDOW_OVERFLOW_IN_INPUT: {
      description: "The run's input does not fit into the context window, even after compaction.",
    },
    BUDGET_EXCEEDED: { description: 'A budget that applies to the run is used up.' },
    ERROR: { description: 'Any other failure.' },
  } satisfies Described<DomainStopReason>,
})

const RunErrorTypeEnum = builder.enumType('RunErrorType', {
  description: 'Kind of failure.',
  values: {
    LLM_ERROR: { description: 'The provider failed, or its response could not be used.' },
    LLM_TIMEOUT: { description: 'The provider did not answer in time.' },
    LLM_RATE_LIMIT: { description: 'The provider limited the rate of requests.' },
    LLM_AUTHENTICATION: { description: 'The provider rejected the credentials.' },
    LLM_BAD_REQUEST: { description: 'The provider rejected the request.' },
    LLM_CONTEXT_WINDOW: { description: "The request is larger than the model's context window." },
    INTERNAL_ERROR: { description: 'The server itself failed.' },
  } satisfies Described<RunErrorType>,
})

export const RunError = builder.objectRef<DomainRunError>('RunError')
RunError.implement({
  description: 'Why a run or step failed.',
  fields: (t) => ({
    type: t.expose('type', { type: RunErrorTypeEnum, description: 'Kind of failure.' }),
    message: t.exposeString('message', { description: 'What happened, in one sentence.' }),
    detail: t.exposeString('detail', {
      nullable: true,
      description: 'What the provider said. Null if it said nothing.',
    }),
    retryable: t.exposeBoolean('retryable', { description: 'Whether a retry may succeed.' }),
  }),
})

export const Usage = builder.objectRef<DomainUsage & { readonly steps: number }>('Usage')
Usage.implement({
  description: 'Model usage. Failed and cancelled requests and summaries are included.',
  fields: (t) => ({
    steps: t.exposeInt('steps', { description: 'Number of model requests.' }),
    inputTokens: t.exposeInt('inputTokens', { description: 'Tokens sent to the model.' }),
    outputTokens: t.exposeInt('outputTokens', { description: 'Tokens written by the model, including reasoning.' }),
    totalTokens: t.int({
      description: 'Sum of `inputTokens` and `outputTokens`.',
      resolve: (usage) => sumOfTokens(usage.inputTokens, usage.outputTokens),
    }),
    cachedInputTokens: t.exposeInt('cachedInputTokens', {
      description: "Input tokens that were read from the provider's cache.",
    }),
    reasoningTokens: t.exposeInt('reasoningTokens', { description: 'Output tokens that were reasoning.' }),
    costUsd: t.exposeFloat('costUsd', {
      nullable: true,
      description: 'Cost in US dollars. Null if the price of a model that was used is not known.',
    }),
  }),
})
