import type { RunWait as DomainRunWait } from '../domain/approval.ts'
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
  description: 'Where a run stands.',
  values: {
    QUEUED: { description: 'Accepted; waits for a worker, or for the runs of its conversation that go before it.' },
    RUNNING: { description: 'A worker drives it, or takes it up again as soon as one is free.' },
    AWAITING_APPROVAL: { description: 'Paused: it holds no worker and waits for `submitApprovals`.' },
    CANCELLING: {
      description:
        'A cancel was accepted and its worker is winding down. Not announced in the stream, which has one final status.',
    },
    COMPLETED: { description: 'Ended as it should, or at a limit that was set for it.' },
    FAILED: { description: 'Ended by an error, which `error` tells.' },
    CANCELLED: { description: 'Ended by `cancelRun`, or by a message sent with INTERRUPT.' },
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
    END_TURN: { description: 'The model answered and called no further tool.' },
    REQUIRES_APPROVAL: { description: 'It waits for decisions, or for the results of client tools.' },
    CANCELLED: { description: 'It was cancelled.' },
    MAX_STEPS: { description: 'It took as many steps as it may.' },
    MAX_TOKENS_EXCEEDED: { description: 'The model reached the longest answer it may give.' },
    TOOL_RULE: { description: 'A tool was called after which a tool rule ends the run.' },
    INVALID_TOOL_CALL: { description: 'A call could not be made: arguments that a rule fixes do not fit the tool.' },
    INVALID_LLM_RESPONSE: { description: 'The model answered in a way that makes no sense.' },
    LLM_API_ERROR: { description: "The model's provider failed or refused." },
    CONTEXT_WINDOW_OVERFLOW_IN_SYSTEM_PROMPT: {
      description: "The system prompt alone is larger than the context window: compaction can't help.",
    },
    BUDGET_EXCEEDED: { description: 'A budget set on the run was used up.' },
    ERROR: { description: 'Any other failure.' },
  } satisfies Described<DomainStopReason>,
})

const RunErrorTypeEnum = builder.enumType('RunErrorType', {
  description: 'What kind of failure ended a run or step.',
  values: {
    LLM_ERROR: { description: "The model's provider failed." },
    LLM_TIMEOUT: { description: "The model's provider did not answer in time." },
    LLM_RATE_LIMIT: { description: "The model's provider asks for fewer requests." },
    LLM_AUTHENTICATION: { description: "The model's provider does not take the key." },
    LLM_BAD_REQUEST: { description: "The model's provider refuses the request." },
    LLM_CONTEXT_WINDOW: { description: 'The context is longer than the model takes.' },
    INTERNAL_ERROR: { description: 'The server failed.' },
  } satisfies Described<RunErrorType>,
})

export const RunError = builder.objectRef<DomainRunError>('RunError')
RunError.implement({
  description: 'A failure that ended a run or step.',
  fields: (t) => ({
    type: t.expose('type', { type: RunErrorTypeEnum, description: 'What kind of failure it is.' }),
    message: t.exposeString('message', { description: 'What happened, in a sentence.' }),
    detail: t.exposeString('detail', {
      nullable: true,
      description: 'What the provider said about it. Null where it said nothing.',
    }),
    retryable: t.exposeBoolean('retryable', { description: 'True where the same run may succeed if retried.' }),
  }),
})

export const Usage = builder.objectRef<DomainUsage & { readonly steps: number }>('Usage')
Usage.implement({
  description: 'What was used of models.',
  fields: (t) => ({
    steps: t.exposeInt('steps', { description: 'How many model requests were made.' }),
    inputTokens: t.exposeInt('inputTokens', { description: 'Tokens that were sent to the model.' }),
    outputTokens: t.exposeInt('outputTokens', { description: 'Tokens that the model wrote, reasoning included.' }),
    totalTokens: t.int({
      description: 'Tokens sent and written together.',
      resolve: (usage) => sumOfTokens(usage.inputTokens, usage.outputTokens),
    }),
    cachedInputTokens: t.exposeInt('cachedInputTokens', {
      description: "Those of the input tokens that came from the provider's cache.",
    }),
    reasoningTokens: t.exposeInt('reasoningTokens', { description: 'Those of the output tokens that were reasoning.' }),
  }),
})
