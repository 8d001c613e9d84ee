// Generated from schema.graphql by `npm run schema`. Do not edit.

import type {
  ActorKind,
  ApprovalDecisionKind,
  ApprovalScope,
  CancelRunInput,
  ContentKind,
  CreateConversationInput,
  DeltaKind,
  EditMessageInput,
  MessageRole,
  RegenerateInput,
  RetryRunInput,
  RunErrorType,
  RunStatus,
  SendMessageInput,
  StopReason,
  SubmitApprovalsInput,
  ToolCallNeed,
  ToolCallStatus,
  ToolReturnStatus,
  UploadFileInput,
  UpsertAgentInput,
  UpsertToolInput,
} from './schema-types.ts'
import type { TypedDocument } from './typed-document.ts'

export type UsageFields = {
  readonly steps: number
  readonly inputTokens: number
  readonly outputTokens: number
  readonly totalTokens: number
  readonly cachedInputTokens: number
  readonly reasoningTokens: number
  readonly costUsd: number | null
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

export type AttachmentFields = {
  readonly kind: ContentKind
  readonly imageUrl: string | null
  readonly documentUrl: string | null
  readonly file: {
    readonly id: string
    readonly name: string | null
    readonly mediaType: string
    readonly sizeBytes: number
    readonly url: string
  } | null
}

export type ContentFields = {
  readonly kind: ContentKind
  readonly imageUrl: string | null
  readonly documentUrl: string | null
  readonly file: {
    readonly id: string
    readonly name: string | null
    readonly mediaType: string
    readonly sizeBytes: number
    readonly url: string
  } | null
  readonly text: string | null
}

export type QueuedRunFields = {
  readonly id: string
  readonly status: RunStatus
  readonly createdAt: string
  readonly input: readonly {
    readonly role: MessageRole
    readonly text: string
    readonly clientId: string | null
    readonly content: readonly { readonly kind: ContentKind }[]
  }[]
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
    readonly json: unknown
    readonly content: readonly AttachmentFields[]
    readonly stdout: readonly string[]
    readonly stderr: readonly string[]
    readonly truncated: boolean
    readonly durationMs: number | null
  } | null
}

export type ProgressFields = {
  readonly progress: number
  readonly total: number | null
  readonly message: string | null
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
      readonly content: readonly ContentFields[]
      readonly sentBy: { readonly kind: ActorKind; readonly name: string } | null
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
      readonly step: { readonly model: string }
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
      readonly needs: ToolCallNeed | null
      readonly offset: number
      readonly argumentsText: string
    }
  | {
      readonly __typename: 'ToolCallProgressed'
      readonly cursor: string
      readonly runId: string
      readonly at: string
      readonly toolCallId: string
      readonly progress: ProgressFields
    }

export type RunSnapshotData = {
  readonly run: {
    readonly id: string
    readonly status: RunStatus
    readonly stopReason: StopReason | null
    readonly canRetry: boolean
    readonly createdAt: string
    readonly startedAt: string | null
    readonly finishedAt: string | null
    readonly error: RunErrorFields | null
    readonly usage: UsageFields
    readonly lastCursor: string
    readonly conversation: { readonly id: string }
    readonly agent: { readonly id: string; readonly name: string }
  } | null
}
export type RunSnapshotVariables = { readonly id: string }
export const RunSnapshot =
  'query RunSnapshot($id:ID!){run(id:$id){...RunFields lastCursor conversation{id}agent{id name}}}fragment RunFields on Run{id status stopReason canRetry createdAt startedAt finishedAt error{...RunErrorFields}usage{...UsageFields}}fragment RunErrorFields on RunError{type message detail retryable}fragment UsageFields on Usage{steps inputTokens outputTokens totalTokens cachedInputTokens reasoningTokens costUsd}' as TypedDocument<
    RunSnapshotData,
    RunSnapshotVariables
  >

export type ConversationSnapshotData = {
  readonly conversation: {
    readonly id: string
    readonly title: string | null
    readonly lastCursor: string
    readonly agent: { readonly id: string; readonly name: string }
    readonly latestRun: RunFields | null
    readonly queue: readonly QueuedRunFields[]
    readonly messages: {
      readonly nodes: readonly MessageFields[]
      readonly pageInfo: { readonly hasPreviousPage: boolean; readonly startCursor: string | null }
    }
  } | null
}
export type ConversationSnapshotVariables = { readonly id: string; readonly last: number }
export const ConversationSnapshot =
  'query ConversationSnapshot($id:ID!$last:Int!){conversation(id:$id){id title lastCursor agent{id name}latestRun{...RunFields}queue{...QueuedRunFields}messages(last:$last){nodes{...MessageFields}pageInfo{hasPreviousPage startCursor}}}}fragment RunFields on Run{id status stopReason canRetry createdAt startedAt finishedAt error{...RunErrorFields}usage{...UsageFields}}fragment RunErrorFields on RunError{type message detail retryable}fragment UsageFields on Usage{steps inputTokens outputTokens totalTokens cachedInputTokens reasoningTokens costUsd}fragment QueuedRunFields on Run{id status createdAt input{role text clientId content{kind}}}fragment MessageFields on Message{__typename id position clientId inContext createdAt run{id}...on SystemMessage{text}...on UserMessage{text content{...ContentFields}sentBy{kind name}}...on ReasoningMessage{text redacted}...on AssistantMessage{text interrupted}...on SummaryMessage{text}...on ToolCallMessage{toolCalls{...ToolCallFields}}...on ApprovalRequestMessage{toolCalls{...ToolCallFields}}}fragment ContentFields on ContentPart{...AttachmentFields text}fragment AttachmentFields on ContentPart{kind imageUrl documentUrl file{id name mediaType sizeBytes url}}fragment ToolCallFields on ToolCall{id name argumentsText arguments editedArguments status needs approvalsRequired createdAt startedAt finishedAt expiresAt run{id}decision{...DecisionFields}result{status output json content{...AttachmentFields}stdout stderr truncated durationMs}}fragment DecisionFields on ApprovalDecision{toolCallId kind reason note scope editedArguments toolReturn status decidedBy decidedAt}' as TypedDocument<
    ConversationSnapshotData,
    ConversationSnapshotVariables
  >

export type ConversationOlderData = {
  readonly conversation: {
    readonly messages: {
      readonly nodes: readonly MessageFields[]
      readonly pageInfo: { readonly hasPreviousPage: boolean; readonly startCursor: string | null }
    }
  } | null
}
export type ConversationOlderVariables = {
  readonly id: string
  readonly last: number
  readonly before?: string | null | undefined
}
export const ConversationOlder =
  'query ConversationOlder($id:ID!$last:Int!$before:String){conversation(id:$id){messages(last:$last before:$before){nodes{...MessageFields}pageInfo{hasPreviousPage startCursor}}}}fragment MessageFields on Message{__typename id position clientId inContext createdAt run{id}...on SystemMessage{text}...on UserMessage{text content{...ContentFields}sentBy{kind name}}...on ReasoningMessage{text redacted}...on AssistantMessage{text interrupted}...on SummaryMessage{text}...on ToolCallMessage{toolCalls{...ToolCallFields}}...on ApprovalRequestMessage{toolCalls{...ToolCallFields}}}fragment ContentFields on ContentPart{...AttachmentFields text}fragment AttachmentFields on ContentPart{kind imageUrl documentUrl file{id name mediaType sizeBytes url}}fragment ToolCallFields on ToolCall{id name argumentsText arguments editedArguments status needs approvalsRequired createdAt startedAt finishedAt expiresAt run{id}decision{...DecisionFields}result{status output json content{...AttachmentFields}stdout stderr truncated durationMs}}fragment DecisionFields on ApprovalDecision{toolCallId kind reason note scope editedArguments toolReturn status decidedBy decidedAt}' as TypedDocument<
    ConversationOlderData,
    ConversationOlderVariables
  >

export type MessagesInContextData = {
  readonly conversation: {
    readonly messages: { readonly nodes: readonly { readonly id: string; readonly inContext: boolean }[] }
  } | null
}
export type MessagesInContextVariables = { readonly id: string }
export const MessagesInContext =
  'query MessagesInContext($id:ID!){conversation(id:$id){messages(last:200){nodes{id inContext}}}}' as TypedDocument<
    MessagesInContextData,
    MessagesInContextVariables
  >

export type SentMessagesData = {
  readonly viewer: { readonly actor: { readonly kind: ActorKind; readonly id: string } }
  readonly conversation: {
    readonly latestRun: { readonly id: string; readonly status: RunStatus } | null
    readonly messages: {
      readonly nodes: readonly (
        | {
            readonly __typename:
              | 'ApprovalRequestMessage'
              | 'ApprovalResponseMessage'
              | 'AssistantMessage'
              | 'ReasoningMessage'
              | 'SummaryMessage'
              | 'ToolCallMessage'
              | 'ToolReturnMessage'
            readonly id: string
            readonly clientId: string | null
            readonly run: { readonly id: string; readonly status: RunStatus } | null
          }
        | {
            readonly __typename: 'SystemMessage'
            readonly id: string
            readonly clientId: string | null
            readonly run: { readonly id: string; readonly status: RunStatus } | null
            readonly text: string
          }
        | {
            readonly __typename: 'UserMessage'
            readonly id: string
            readonly clientId: string | null
            readonly run: { readonly id: string; readonly status: RunStatus } | null
            readonly text: string
            readonly sentBy: { readonly kind: ActorKind; readonly id: string } | null
          }
      )[]
    }
  } | null
}
export type SentMessagesVariables = { readonly id: string }
export const SentMessages =
  'query SentMessages($id:ID!){viewer{actor{kind id}}conversation(id:$id){latestRun{id status}messages(last:200 filter:{types:[USER SYSTEM]}){nodes{__typename id clientId run{id status}...on UserMessage{text sentBy{kind id}}...on SystemMessage{text}}}}}' as TypedDocument<
    SentMessagesData,
    SentMessagesVariables
  >

export type FindConversationData = { readonly conversations: { readonly nodes: readonly { readonly id: string }[] } }
export type FindConversationVariables = { readonly agentId: string; readonly metadata: unknown }
export const FindConversation =
  'query FindConversation($agentId:ID!$metadata:JSON!){conversations(first:1 filter:{agentIds:[$agentId]metadataContains:$metadata}){nodes{id}}}' as TypedDocument<
    FindConversationData,
    FindConversationVariables
  >

export type WhoAmIData = { readonly viewer: { readonly actor: { readonly kind: ActorKind; readonly id: string } } }
export type WhoAmIVariables = Record<string, never>
export const WhoAmI = 'query WhoAmI{viewer{actor{kind id}}}' as TypedDocument<WhoAmIData, WhoAmIVariables>

export type RunEventsData = { readonly runEvents: RunEventFields }
export type RunEventsVariables = { readonly runId: string; readonly after?: string | null | undefined }
export const RunEvents =
  'subscription RunEvents($runId:ID!$after:EventCursor){runEvents(runId:$runId after:$after){...RunEventFields}}fragment RunEventFields on RunEvent{__typename cursor runId at ...on RunEntry{seq}...on RunStatusChanged{status stopReason error{...RunErrorFields}usage{...UsageFields}}...on StepStarted{stepId index}...on StepRestarted{stepId attempt}...on StepFinished{step{model}}...on TextDelta{stepId messageId kind offset text}...on ToolCallDelta{stepId toolCallId name needs offset argumentsText}...on MessageAdded{message{...MessageFields}}...on ToolCallChanged{toolCallStatus toolCall{...ToolCallFields}}...on ToolCallProgressed{toolCallId progress{...ProgressFields}}...on ChildRunStarted{child{id}}}fragment RunErrorFields on RunError{type message detail retryable}fragment UsageFields on Usage{steps inputTokens outputTokens totalTokens cachedInputTokens reasoningTokens costUsd}fragment MessageFields on Message{__typename id position clientId inContext createdAt run{id}...on SystemMessage{text}...on UserMessage{text content{...ContentFields}sentBy{kind name}}...on ReasoningMessage{text redacted}...on AssistantMessage{text interrupted}...on SummaryMessage{text}...on ToolCallMessage{toolCalls{...ToolCallFields}}...on ApprovalRequestMessage{toolCalls{...ToolCallFields}}}fragment ContentFields on ContentPart{...AttachmentFields text}fragment AttachmentFields on ContentPart{kind imageUrl documentUrl file{id name mediaType sizeBytes url}}fragment ToolCallFields on ToolCall{id name argumentsText arguments editedArguments status needs approvalsRequired createdAt startedAt finishedAt expiresAt run{id}decision{...DecisionFields}result{status output json content{...AttachmentFields}stdout stderr truncated durationMs}}fragment DecisionFields on ApprovalDecision{toolCallId kind reason note scope editedArguments toolReturn status decidedBy decidedAt}fragment ProgressFields on ToolCallProgress{progress total message}' as TypedDocument<
    RunEventsData,
    RunEventsVariables
  >

export type ConversationEventsData = {
  readonly conversationEvents:
    | {
        readonly __typename: 'BranchChanged'
        readonly cursor: string
        readonly lastSharedMessage: { readonly id: string; readonly position: number } | null
      }
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
    | { readonly __typename: 'QueueChanged'; readonly cursor: string; readonly queue: readonly QueuedRunFields[] }
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
        readonly step: { readonly model: string }
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
        readonly needs: ToolCallNeed | null
        readonly offset: number
        readonly argumentsText: string
      }
    | {
        readonly __typename: 'ToolCallProgressed'
        readonly cursor: string
        readonly runId: string
        readonly at: string
        readonly toolCallId: string
        readonly progress: ProgressFields
      }
}
export type ConversationEventsVariables = { readonly conversationId: string; readonly after: string }
export const ConversationEvents =
  'subscription ConversationEvents($conversationId:ID!$after:EventCursor!){conversationEvents(conversationId:$conversationId after:$after){__typename cursor ...on RunEvent{...RunEventFields}...on QueueChanged{queue{...QueuedRunFields}}...on BranchChanged{lastSharedMessage{id position}}}}fragment RunEventFields on RunEvent{__typename cursor runId at ...on RunEntry{seq}...on RunStatusChanged{status stopReason error{...RunErrorFields}usage{...UsageFields}}...on StepStarted{stepId index}...on StepRestarted{stepId attempt}...on StepFinished{step{model}}...on TextDelta{stepId messageId kind offset text}...on ToolCallDelta{stepId toolCallId name needs offset argumentsText}...on MessageAdded{message{...MessageFields}}...on ToolCallChanged{toolCallStatus toolCall{...ToolCallFields}}...on ToolCallProgressed{toolCallId progress{...ProgressFields}}...on ChildRunStarted{child{id}}}fragment RunErrorFields on RunError{type message detail retryable}fragment UsageFields on Usage{steps inputTokens outputTokens totalTokens cachedInputTokens reasoningTokens costUsd}fragment MessageFields on Message{__typename id position clientId inContext createdAt run{id}...on SystemMessage{text}...on UserMessage{text content{...ContentFields}sentBy{kind name}}...on ReasoningMessage{text redacted}...on AssistantMessage{text interrupted}...on SummaryMessage{text}...on ToolCallMessage{toolCalls{...ToolCallFields}}...on ApprovalRequestMessage{toolCalls{...ToolCallFields}}}fragment ContentFields on ContentPart{...AttachmentFields text}fragment AttachmentFields on ContentPart{kind imageUrl documentUrl file{id name mediaType sizeBytes url}}fragment ToolCallFields on ToolCall{id name argumentsText arguments editedArguments status needs approvalsRequired createdAt startedAt finishedAt expiresAt run{id}decision{...DecisionFields}result{status output json content{...AttachmentFields}stdout stderr truncated durationMs}}fragment DecisionFields on ApprovalDecision{toolCallId kind reason note scope editedArguments toolReturn status decidedBy decidedAt}fragment ProgressFields on ToolCallProgress{progress total message}fragment QueuedRunFields on Run{id status createdAt input{role text clientId content{kind}}}' as TypedDocument<
    ConversationEventsData,
    ConversationEventsVariables
  >

export type WaitingFields = {
  readonly approvals: readonly { readonly decidedBy: string | null; readonly decidedAt: string }[]
  readonly tool: {
    readonly id: string
    readonly description: string
    readonly parameters: unknown
    readonly requiresApproval: boolean
    readonly approvalCondition: unknown
    readonly approvalExcludesSender: boolean
  } | null
  readonly run: { readonly sentBy: { readonly name: string } | null }
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
  readonly run: { readonly id: string; readonly sentBy: { readonly name: string } | null }
  readonly decision: DecisionFields | null
  readonly result: {
    readonly status: ToolReturnStatus
    readonly output: string
    readonly json: unknown
    readonly content: readonly AttachmentFields[]
    readonly stdout: readonly string[]
    readonly stderr: readonly string[]
    readonly truncated: boolean
    readonly durationMs: number | null
  } | null
  readonly approvals: readonly { readonly decidedBy: string | null; readonly decidedAt: string }[]
  readonly tool: {
    readonly id: string
    readonly description: string
    readonly parameters: unknown
    readonly requiresApproval: boolean
    readonly approvalCondition: unknown
    readonly approvalExcludesSender: boolean
  } | null
  readonly agent: { readonly id: string; readonly name: string }
  readonly conversation: { readonly id: string; readonly title: string | null }
}

export type InboxData = {
  readonly approvalInbox:
    | { readonly __typename: 'InboxAdded' | 'InboxRemoved'; readonly toolCall: InboxCallFields }
    | {
        readonly __typename: 'InboxSnapshot'
        readonly totalCount: number
        readonly toolCalls: readonly InboxCallFields[]
      }
}
export type InboxVariables = { readonly needs: readonly ToolCallNeed[] }
export const Inbox =
  'subscription Inbox($needs:[ToolCallNeed!]!){approvalInbox(needs:$needs){__typename ...on InboxSnapshot{totalCount toolCalls{...InboxCallFields}}...on InboxAdded{toolCall{...InboxCallFields}}...on InboxRemoved{toolCall{...InboxCallFields}}}}fragment InboxCallFields on ToolCall{...ToolCallFields ...WaitingFields agent{id name}conversation{id title}}fragment ToolCallFields on ToolCall{id name argumentsText arguments editedArguments status needs approvalsRequired createdAt startedAt finishedAt expiresAt run{id}decision{...DecisionFields}result{status output json content{...AttachmentFields}stdout stderr truncated durationMs}}fragment DecisionFields on ApprovalDecision{toolCallId kind reason note scope editedArguments toolReturn status decidedBy decidedAt}fragment AttachmentFields on ContentPart{kind imageUrl documentUrl file{id name mediaType sizeBytes url}}fragment WaitingFields on ToolCall{approvals{decidedBy decidedAt}tool{id description parameters requiresApproval approvalCondition approvalExcludesSender}run{sentBy{name}}}' as TypedDocument<
    InboxData,
    InboxVariables
  >

export type CallChangesData = { readonly runEvents: {} | { readonly toolCall: ToolCallFields } }
export type CallChangesVariables = { readonly runId: string }
export const CallChanges =
  'subscription CallChanges($runId:ID!){runEvents(runId:$runId deltas:false messageTypes:[]){...on ToolCallChanged{toolCall{...ToolCallFields}}}}fragment ToolCallFields on ToolCall{id name argumentsText arguments editedArguments status needs approvalsRequired createdAt startedAt finishedAt expiresAt run{id}decision{...DecisionFields}result{status output json content{...AttachmentFields}stdout stderr truncated durationMs}}fragment DecisionFields on ApprovalDecision{toolCallId kind reason note scope editedArguments toolReturn status decidedBy decidedAt}fragment AttachmentFields on ContentPart{kind imageUrl documentUrl file{id name mediaType sizeBytes url}}' as TypedDocument<
    CallChangesData,
    CallChangesVariables
  >

export type FindAgentData = {
  readonly agents: {
    readonly nodes: readonly { readonly id: string; readonly mainConversation: { readonly id: string } }[]
  }
}
export type FindAgentVariables = { readonly key: string }
export const FindAgent =
  'query FindAgent($key:String!){agents(first:1 filter:{key:$key}){nodes{id mainConversation{id}}}}' as TypedDocument<
    FindAgentData,
    FindAgentVariables
  >

export type UpsertAgentData = {
  readonly upsertAgent: {
    readonly agent: {
      readonly id: string
      readonly mainConversation: { readonly id: string }
      readonly sleeptime: { readonly id: string } | null
    }
  } | null
}
export type UpsertAgentVariables = { readonly input: UpsertAgentInput }
export const UpsertAgent =
  'mutation UpsertAgent($input:UpsertAgentInput!){upsertAgent(input:$input){agent{id mainConversation{id}sleeptime{id}}}}' as TypedDocument<
    UpsertAgentData,
    UpsertAgentVariables
  >

export type UpsertToolData = { readonly upsertTool: { readonly tool: { readonly id: string } } | null }
export type UpsertToolVariables = { readonly input: UpsertToolInput }
export const UpsertTool =
  'mutation UpsertTool($input:UpsertToolInput!){upsertTool(input:$input){tool{id}}}' as TypedDocument<
    UpsertToolData,
    UpsertToolVariables
  >

export type CreateConversationData = {
  readonly createConversation: { readonly conversation: { readonly id: string } } | null
}
export type CreateConversationVariables = { readonly input: CreateConversationInput }
export const CreateConversation =
  'mutation CreateConversation($input:CreateConversationInput!){createConversation(input:$input){conversation{id}}}' as TypedDocument<
    CreateConversationData,
    CreateConversationVariables
  >

export type SendMessageData = {
  readonly sendMessage:
    | { readonly __typename: 'ConversationBusyRefusal' | 'PendingApprovalRefusal'; readonly message: string }
    | { readonly __typename: 'SendMessageSuccess'; readonly run: RunFields }
    | null
}
export type SendMessageVariables = { readonly input: SendMessageInput }
export const SendMessage =
  'mutation SendMessage($input:SendMessageInput!){sendMessage(input:$input){__typename ...on SendMessageSuccess{run{...RunFields}}...on Refusal{message}}}fragment RunFields on Run{id status stopReason canRetry createdAt startedAt finishedAt error{...RunErrorFields}usage{...UsageFields}}fragment RunErrorFields on RunError{type message detail retryable}fragment UsageFields on Usage{steps inputTokens outputTokens totalTokens cachedInputTokens reasoningTokens costUsd}' as TypedDocument<
    SendMessageData,
    SendMessageVariables
  >

export type RegenerateData = {
  readonly regenerate:
    | { readonly __typename: 'ConversationBusyRefusal' | 'PendingApprovalRefusal'; readonly message: string }
    | { readonly __typename: 'RegenerateSuccess'; readonly run: RunFields }
    | null
}
export type RegenerateVariables = { readonly input: RegenerateInput }
export const Regenerate =
  'mutation Regenerate($input:RegenerateInput!){regenerate(input:$input){__typename ...on RegenerateSuccess{run{...RunFields}}...on Refusal{message}}}fragment RunFields on Run{id status stopReason canRetry createdAt startedAt finishedAt error{...RunErrorFields}usage{...UsageFields}}fragment RunErrorFields on RunError{type message detail retryable}fragment UsageFields on Usage{steps inputTokens outputTokens totalTokens cachedInputTokens reasoningTokens costUsd}' as TypedDocument<
    RegenerateData,
    RegenerateVariables
  >

export type EditMessageData = {
  readonly editMessage:
    | { readonly __typename: 'ConversationBusyRefusal' | 'PendingApprovalRefusal'; readonly message: string }
    | { readonly __typename: 'EditMessageSuccess'; readonly run: RunFields }
    | null
}
export type EditMessageVariables = { readonly input: EditMessageInput }
export const EditMessage =
  'mutation EditMessage($input:EditMessageInput!){editMessage(input:$input){__typename ...on EditMessageSuccess{run{...RunFields}}...on Refusal{message}}}fragment RunFields on Run{id status stopReason canRetry createdAt startedAt finishedAt error{...RunErrorFields}usage{...UsageFields}}fragment RunErrorFields on RunError{type message detail retryable}fragment UsageFields on Usage{steps inputTokens outputTokens totalTokens cachedInputTokens reasoningTokens costUsd}' as TypedDocument<
    EditMessageData,
    EditMessageVariables
  >

export type UploadFileData = {
  readonly uploadFile: {
    readonly file: {
      readonly id: string
      readonly name: string | null
      readonly mediaType: string
      readonly sizeBytes: number
      readonly url: string
    }
  } | null
}
export type UploadFileVariables = { readonly input: UploadFileInput }
export const UploadFile =
  'mutation UploadFile($input:UploadFileInput!){uploadFile(input:$input){file{id name mediaType sizeBytes url}}}' as TypedDocument<
    UploadFileData,
    UploadFileVariables
  >

export type SubmitApprovalsData = {
  readonly submitApprovals:
    | {
        readonly __typename: 'AlreadyDecidedRefusal'
        readonly message: string
        readonly decisions: readonly DecisionFields[]
      }
    | {
        readonly __typename: 'InvalidArgumentsRefusal'
        readonly message: string
        readonly problems: readonly { readonly path: string; readonly message: string }[]
      }
    | {
        readonly __typename: 'InvalidToolCallIdsRefusal' | 'NoPendingApprovalRefusal' | 'SelfApprovalRefusal'
        readonly message: string
      }
    | { readonly __typename: 'SubmitApprovalsSuccess'; readonly run: RunFields }
    | null
}
export type SubmitApprovalsVariables = { readonly input: SubmitApprovalsInput }
export const SubmitApprovals =
  'mutation SubmitApprovals($input:SubmitApprovalsInput!){submitApprovals(input:$input){__typename ...on SubmitApprovalsSuccess{run{...RunFields}}...on Refusal{message}...on AlreadyDecidedRefusal{decisions{...DecisionFields}}...on InvalidArgumentsRefusal{problems{path message}}}}fragment RunFields on Run{id status stopReason canRetry createdAt startedAt finishedAt error{...RunErrorFields}usage{...UsageFields}}fragment RunErrorFields on RunError{type message detail retryable}fragment UsageFields on Usage{steps inputTokens outputTokens totalTokens cachedInputTokens reasoningTokens costUsd}fragment DecisionFields on ApprovalDecision{toolCallId kind reason note scope editedArguments toolReturn status decidedBy decidedAt}' as TypedDocument<
    SubmitApprovalsData,
    SubmitApprovalsVariables
  >

export type CancelRunData = {
  readonly cancelRun:
    | { readonly __typename: 'CancelRunSuccess'; readonly run: RunFields }
    | { readonly __typename: 'NothingToCancelRefusal' | 'RunFinishedRefusal'; readonly message: string }
    | null
}
export type CancelRunVariables = { readonly input: CancelRunInput }
export const CancelRun =
  'mutation CancelRun($input:CancelRunInput!){cancelRun(input:$input){__typename ...on CancelRunSuccess{run{...RunFields}}...on Refusal{message}}}fragment RunFields on Run{id status stopReason canRetry createdAt startedAt finishedAt error{...RunErrorFields}usage{...UsageFields}}fragment RunErrorFields on RunError{type message detail retryable}fragment UsageFields on Usage{steps inputTokens outputTokens totalTokens cachedInputTokens reasoningTokens costUsd}' as TypedDocument<
    CancelRunData,
    CancelRunVariables
  >

export type RetryRunData = {
  readonly retryRun:
    | { readonly __typename: 'ConversationBusyRefusal' | 'RunNotRetryableRefusal'; readonly message: string }
    | { readonly __typename: 'RetryRunSuccess'; readonly run: RunFields }
    | null
}
export type RetryRunVariables = { readonly input: RetryRunInput }
export const RetryRun =
  'mutation RetryRun($input:RetryRunInput!){retryRun(input:$input){__typename ...on RetryRunSuccess{run{...RunFields}}...on Refusal{message}}}fragment RunFields on Run{id status stopReason canRetry createdAt startedAt finishedAt error{...RunErrorFields}usage{...UsageFields}}fragment RunErrorFields on RunError{type message detail retryable}fragment UsageFields on Usage{steps inputTokens outputTokens totalTokens cachedInputTokens reasoningTokens costUsd}' as TypedDocument<
    RetryRunData,
    RetryRunVariables
  >
