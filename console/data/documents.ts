// Generated from schema.graphql by `npm run schema`. Do not edit.

import type {
  ApiScope,
  ApprovalDecisionKind,
  ApprovalScope,
  DeltaKind,
  MessageRole,
  RunErrorType,
  RunStatus,
  StopReason,
  ToolCallNeed,
  ToolCallStatus,
  ToolReturnStatus,
} from '../../client/schema-types.ts'
import type { TypedDocument } from '../../client/typed-document.ts'

export type UsageFields = {
  readonly steps: number
  readonly inputTokens: number
  readonly outputTokens: number
  readonly totalTokens: number
  readonly cachedInputTokens: number
  readonly reasoningTokens: number
  readonly costUsd?: undefined
}

export type RunErrorFields = {
  readonly type: RunErrorType
  readonly message: string
  readonly detail: string | null
  readonly retryable: boolean
}

export type RunFields = {
  readonly id: string
  readonly status: RunStatus
  readonly stopReason: StopReason | null
  readonly canRetry: boolean
  readonly createdAt: string
  readonly startedAt: string | null
  readonly finishedAt: string | null
  readonly error: RunErrorFields | null
  readonly usage: UsageFields
}

export type QueuedRunFields = {
  readonly id: string
  readonly status: RunStatus
  readonly createdAt: string
  readonly input: readonly { readonly role: MessageRole; readonly text: string; readonly clientId: string | null }[]
}

export type DecisionFields = {
  readonly toolCallId: string
  readonly kind: ApprovalDecisionKind
  readonly reason: string | null
  readonly note: string | null
  readonly scope: ApprovalScope | null
  readonly editedArguments: unknown
  readonly toolReturn: string | null
  readonly status: ToolReturnStatus | null
  readonly decidedBy: string | null
  readonly decidedAt: string
}

export type ToolCallFields = {
  readonly id: string
  readonly name: string
  readonly argumentsText: string
  readonly arguments: unknown
  readonly editedArguments: unknown
  readonly status: ToolCallStatus
  readonly needs: ToolCallNeed
  readonly approvalsRequired: number
  readonly createdAt: string
  readonly startedAt: string | null
  readonly finishedAt: string | null
  readonly expiresAt: string | null
  readonly run: { readonly id: string }
  readonly decision: DecisionFields | null
  readonly result: {
    readonly status: ToolReturnStatus
    readonly output: string
    readonly stdout: readonly string[]
    readonly stderr: readonly string[]
    readonly truncated: boolean
    readonly durationMs: number | null
  } | null
}

export type MessageFields =
  | {
      readonly __typename: 'ApprovalRequestMessage' | 'ToolCallMessage'
      readonly id: string
      readonly position: number
      readonly clientId: string | null
      readonly inContext: boolean
      readonly createdAt: string
      readonly run: { readonly id: string } | null
      readonly toolCalls: readonly ToolCallFields[]
    }
  | {
      readonly __typename: 'ApprovalResponseMessage' | 'ToolReturnMessage'
      readonly id: string
      readonly position: number
      readonly clientId: string | null
      readonly inContext: boolean
      readonly createdAt: string
      readonly run: { readonly id: string } | null
    }
  | {
      readonly __typename: 'AssistantMessage'
      readonly id: string
      readonly position: number
      readonly clientId: string | null
      readonly inContext: boolean
      readonly createdAt: string
      readonly run: { readonly id: string } | null
      readonly text: string
      readonly interrupted: boolean
    }
  | {
      readonly __typename: 'ReasoningMessage'
      readonly id: string
      readonly position: number
      readonly clientId: string | null
      readonly inContext: boolean
      readonly createdAt: string
      readonly run: { readonly id: string } | null
      readonly text: string
      readonly redacted: boolean
    }
  | {
      readonly __typename: 'SummaryMessage' | 'SystemMessage'
      readonly id: string
      readonly position: number
      readonly clientId: string | null
      readonly inContext: boolean
      readonly createdAt: string
      readonly run: { readonly id: string } | null
      readonly text: string
    }
  | {
      readonly __typename: 'UserMessage'
      readonly id: string
      readonly position: number
      readonly clientId: string | null
      readonly inContext: boolean
      readonly createdAt: string
      readonly run: { readonly id: string } | null
      readonly text: string
      readonly content: readonly { readonly text: string | null; readonly imageUrl: string | null }[]
      readonly sentBy?: undefined
    }

export type RunEventFields =
  | {
      readonly __typename: 'ChildRunStarted'
      readonly cursor: string
      readonly runId: string
      readonly at: string
      readonly seq: number
      readonly child: { readonly id: string }
    }
  | {
      readonly __typename: 'MessageAdded'
      readonly cursor: string
      readonly runId: string
      readonly at: string
      readonly seq: number
      readonly message: MessageFields
    }
  | {
      readonly __typename: 'RunStatusChanged'
      readonly cursor: string
      readonly runId: string
      readonly at: string
      readonly seq: number
      readonly status: RunStatus
      readonly stopReason: StopReason | null
      readonly error: RunErrorFields | null
      readonly usage: UsageFields
    }
  | {
      readonly __typename: 'StepFinished'
      readonly cursor: string
      readonly runId: string
      readonly at: string
      readonly seq: number
    }
  | {
      readonly __typename: 'StepRestarted'
      readonly cursor: string
      readonly runId: string
      readonly at: string
      readonly seq: number
      readonly stepId: string
      readonly attempt: number
    }
  | {
      readonly __typename: 'StepStarted'
      readonly cursor: string
      readonly runId: string
      readonly at: string
      readonly seq: number
      readonly stepId: string
      readonly index: number
    }
  | {
      readonly __typename: 'TextDelta'
      readonly cursor: string
      readonly runId: string
      readonly at: string
      readonly stepId: string
      readonly messageId: string
      readonly kind: DeltaKind
      readonly offset: number
      readonly text: string
    }
  | {
      readonly __typename: 'ToolCallChanged'
      readonly cursor: string
      readonly runId: string
      readonly at: string
      readonly seq: number
      readonly toolCallStatus: ToolCallStatus
      readonly toolCall: ToolCallFields
    }
  | {
      readonly __typename: 'ToolCallDelta'
      readonly cursor: string
      readonly runId: string
      readonly at: string
      readonly stepId: string
      readonly toolCallId: string
      readonly name: string
      readonly offset: number
      readonly argumentsText: string
    }

export type InboxCallFields = {
  readonly id: string
  readonly name: string
  readonly argumentsText: string
  readonly arguments: unknown
  readonly editedArguments: unknown
  readonly status: ToolCallStatus
  readonly needs: ToolCallNeed
  readonly approvalsRequired: number
  readonly createdAt: string
  readonly startedAt: string | null
  readonly finishedAt: string | null
  readonly expiresAt: string | null
  readonly run: { readonly id: string }
  readonly decision: DecisionFields | null
  readonly result: {
    readonly status: ToolReturnStatus
    readonly output: string
    readonly stdout: readonly string[]
    readonly stderr: readonly string[]
    readonly truncated: boolean
    readonly durationMs: number | null
  } | null
  readonly approvals: readonly { readonly decidedBy: string | null; readonly decidedAt: string }[]
  readonly agent: { readonly id: string; readonly name: string }
  readonly conversation: { readonly id: string; readonly title: string | null }
  readonly tool: { readonly id: string; readonly description: string; readonly parameters: unknown } | null
}

export type ViewerData = {
  readonly viewer: { readonly keyName: string; readonly scopes: readonly ApiScope[]; readonly tenantId: string }
}
export type ViewerVariables = Record<string, never>
export const Viewer = 'query Viewer{viewer{keyName scopes tenantId}}' as TypedDocument<ViewerData, ViewerVariables>
