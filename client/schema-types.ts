// Generated from schema.graphql by `npm run schema`. Do not edit.

export type ActorKind = 'KEY' | 'OPEN' | 'PERSON'

export type ApiScope = 'APPROVE' | 'MANAGE' | 'READ' | 'RUN'

export type ApprovalDecisionKind = 'APPROVED' | 'CLIENT_RETURN' | 'DENIED'

export type ApprovalScope = 'AGENT' | 'ONCE' | 'RUN'

export type BudgetPeriod = 'DAY' | 'MONTH' | 'TOTAL'

export type CompactionMode = 'ALL' | 'SLIDING_WINDOW'

export type ContentKind = 'DOCUMENT' | 'IMAGE' | 'TEXT'

export type ConversationOrder = 'CREATED' | 'LAST_ACTIVITY'

export type DeltaKind = 'ASSISTANT' | 'REASONING'

export type EventType =
  | 'BRANCH_CHANGED'
  | 'CHILD_RUN_STARTED'
  | 'MESSAGE_ADDED'
  | 'QUEUE_CHANGED'
  | 'RUN_STATUS_CHANGED'
  | 'STEP_FINISHED'
  | 'STEP_RESTARTED'
  | 'STEP_STARTED'
  | 'TEXT_DELTA'
  | 'TOOL_CALL_CHANGED'
  | 'TOOL_CALL_DELTA'
  | 'TOOL_CALL_PROGRESSED'

export type MessageRole = 'SYSTEM' | 'USER'

export type MessageType =
  | 'APPROVAL_REQUEST'
  | 'APPROVAL_RESPONSE'
  | 'ASSISTANT'
  | 'REASONING'
  | 'SUMMARY'
  | 'SYSTEM'
  | 'TOOL_CALL'
  | 'TOOL_RETURN'
  | 'USER'

export type MissedSchedule = 'ONCE' | 'SKIP'

export type ModelCapability = 'DOCUMENTS' | 'IMAGES' | 'REASONING' | 'STRUCTURED_OUTPUT' | 'TOOLS'

export type ReasoningEffort = 'HIGH' | 'LOW' | 'MEDIUM' | 'MINIMAL'

export type RunErrorType =
  | 'INTERNAL_ERROR'
  | 'LLM_AUTHENTICATION'
  | 'LLM_BAD_REQUEST'
  | 'LLM_CONTEXT_WINDOW'
  | 'LLM_ERROR'
  | 'LLM_RATE_LIMIT'
  | 'LLM_TIMEOUT'

export type RunStatus = 'AWAITING_APPROVAL' | 'CANCELLED' | 'CANCELLING' | 'COMPLETED' | 'FAILED' | 'QUEUED' | 'RUNNING'

export type RunWait = 'APPROVAL' | 'BUDGET' | 'CLIENT_RESULT'

export type StepStatus = 'CANCELLED' | 'COMPLETED' | 'FAILED' | 'PAUSED' | 'RUNNING'

export type StopReason =
  | 'BUDGET_EXCEEDED'
  | 'CANCELLED'
  | 'CONTEXT_WINDOW_OVERFLOW_IN_INPUT'
  | 'CONTEXT_WINDOW_OVERFLOW_IN_SYSTEM_PROMPT'
  | 'END_TURN'
  | 'ERROR'
  | 'INVALID_LLM_RESPONSE'
  | 'INVALID_TOOL_CALL'
  | 'LLM_API_ERROR'
  | 'MAX_STEPS'
  | 'MAX_TOKENS_EXCEEDED'
  | 'REQUIRES_APPROVAL'
  | 'RESPONSE_SCHEMA_NOT_SATISFIED'
  | 'TOOL_RULE'

export type ToolCallNeed = 'APPROVAL' | 'CLIENT_EXECUTION' | 'NOTHING'

export type ToolCallStatus = 'CANCELLED' | 'DENIED' | 'FAILED' | 'PENDING' | 'READY' | 'RUNNING' | 'SUCCEEDED'

export type ToolKind = 'BUILTIN' | 'CLIENT' | 'HTTP' | 'JAVASCRIPT' | 'MCP'

export type ToolReturnStatus = 'ERROR' | 'SUCCESS'

export type ToolRuleKind =
  | 'CHILDREN'
  | 'CONDITIONAL'
  | 'CONTINUE'
  | 'MAX_CALLS'
  | 'PARENT'
  | 'REQUIRED_BEFORE_EXIT'
  | 'REQUIRES_APPROVAL'
  | 'RUN_FIRST'
  | 'TERMINAL'

export type UsageDimension = 'ACTOR' | 'AGENT' | 'MODEL'

export type UsageInterval = 'ALL' | 'DAY' | 'HOUR' | 'MONTH'

export type WebhookDeliveryStatus = 'DEAD' | 'DELIVERED' | 'PENDING'

export type WebhookEvent =
  | 'APPROVAL_DECIDED'
  | 'APPROVAL_EXPIRED'
  | 'APPROVAL_REQUESTED'
  | 'BUDGET_REACHED'
  | 'CLIENT_CALL_REQUESTED'
  | 'PING'
  | 'RUN_ENDED'
  | 'SCHEDULE_FAILED'

export type WhenBudgetReached = 'ASK' | 'STOP'

export type WhenBusy = 'ENQUEUE' | 'INTERRUPT' | 'REJECT'

export interface AddMcpServerInput {
  readonly headers?: unknown
  readonly name: string
  readonly requiresApproval?: boolean | null | undefined
  readonly url: string
}

export interface AddPassagesInput {
  readonly agentId: string
  readonly idempotencyKey?: string | null | undefined
  readonly passages: readonly PassageInput[]
}

export interface AgentFilter {
  readonly key?: string | null | undefined
  readonly nameContains?: string | null | undefined
  readonly tags?: readonly string[] | null | undefined
}

export interface AgentToolInput {
  readonly approvalOverride?: boolean | null | undefined
  readonly toolId?: string | null | undefined
  readonly toolName?: string | null | undefined
}

export type ApprovalDecisionInput =
  { readonly approve: ApproveInput } | { readonly deny: DenyInput } | { readonly toolReturn: ClientToolReturnInput }

export interface ApproveInput {
  readonly arguments?: unknown
  readonly note?: string | null | undefined
  readonly scope?: ApprovalScope | undefined
  readonly toolCallId: string
}

export interface ArchiveConversationInput {
  readonly id: string
}

export interface AttachBlockInput {
  readonly agentId: string
  readonly blockId: string
}

export interface AttachToolInput {
  readonly agentId: string
  readonly approvalOverride?: boolean | null | undefined
  readonly toolId?: string | null | undefined
  readonly toolName?: string | null | undefined
}

export interface AuditLogFilter {
  readonly actions?: readonly string[] | null | undefined
  readonly actorId?: string | null | undefined
  readonly since?: string | null | undefined
  readonly subjectId?: string | null | undefined
  readonly until?: string | null | undefined
}

export interface BlockFilter {
  readonly label?: string | null | undefined
}

export type CancelRunInput =
  { readonly agentId: string } | { readonly conversationId: string } | { readonly runId: string }

export interface ClaimToolCallInput {
  readonly claimantId: string
  readonly leaseMs?: number | undefined
  readonly toolCallId: string
}

export interface ClearConversationInput {
  readonly id: string
}

export interface ClientToolInput {
  readonly description?: string | null | undefined
  readonly name: string
  readonly parameters?: unknown
}

export interface ClientToolReturnInput {
  readonly content?: readonly ContentPartInput[] | null | undefined
  readonly output?: string | null | undefined
  readonly status: ToolReturnStatus
  readonly stderr?: readonly string[] | null | undefined
  readonly stdout?: readonly string[] | null | undefined
  readonly toolCallId: string
}

export interface CompactConversationInput {
  readonly compaction?: CompactionSettingsInput | null | undefined
  readonly conversationId: string
  readonly waitMs?: number | undefined
  readonly whenBusy?: WhenBusy | undefined
}

export interface CompactionSettingsInput {
  readonly keepRatio?: number | null | undefined
  readonly mode?: CompactionMode | null | undefined
  readonly model?: string | null | undefined
  readonly prompt?: string | null | undefined
}

export type ContentPartInput =
  | { readonly documentUrl: string }
  | { readonly fileId: string }
  | { readonly imageUrl: string }
  | { readonly text: string }

export interface ContinueRunInput {
  readonly allowTokens?: number | null | undefined
  readonly allowUsd?: number | null | undefined
  readonly idempotencyKey?: string | null | undefined
  readonly runId: string
}

export interface ConversationFilter {
  readonly activeSince?: string | null | undefined
  readonly agentIds?: readonly string[] | null | undefined
  readonly archived?: boolean | null | undefined
  readonly metadataContains?: unknown
  readonly titleContains?: string | null | undefined
}

export interface CreateAgentInput {
  readonly blockIds?: readonly string[] | null | undefined
  readonly blocks?: readonly CreateBlockInput[] | null | undefined
  readonly compaction?: CompactionSettingsInput | null | undefined
  readonly description?: string | null | undefined
  readonly embeddingModel?: string | null | undefined
  readonly idempotencyKey?: string | null | undefined
  readonly includeBaseTools?: boolean | undefined
  readonly instructions?: string | undefined
  readonly keepRequests?: boolean | null | undefined
  readonly metadata?: unknown
  readonly model: string
  readonly modelSettings?: ModelSettingsInput | null | undefined
  readonly name: string
  readonly tags?: readonly string[] | null | undefined
  readonly tellTimes?: boolean | null | undefined
  readonly timezone?: string | null | undefined
  readonly toolRules?: readonly ToolRuleInput[] | null | undefined
  readonly tools?: readonly AgentToolInput[] | null | undefined
}

export interface CreateApiKeyInput {
  readonly expiresAt?: string | null | undefined
  readonly name: string
  readonly scopes: readonly ApiScope[]
}

export interface CreateBlockInput {
  readonly charLimit?: number | null | undefined
  readonly description?: string | null | undefined
  readonly idempotencyKey?: string | null | undefined
  readonly label: string
  readonly readOnly?: boolean | null | undefined
  readonly value: string
}

export interface CreateBudgetInput {
  readonly actorId?: string | null | undefined
  readonly agentId?: string | null | undefined
  readonly idempotencyKey?: string | null | undefined
  readonly limitTokens?: number | null | undefined
  readonly limitUsd?: number | null | undefined
  readonly period: BudgetPeriod
  readonly whenReached?: WhenBudgetReached | null | undefined
}

export interface CreateConversationInput {
  readonly agentId: string
  readonly idempotencyKey?: string | null | undefined
  readonly isolatedBlockLabels?: readonly string[] | null | undefined
  readonly metadata?: unknown
  readonly title?: string | null | undefined
}

export interface CreateDecisionLinkInput {
  readonly personId: string
  readonly personName: string
  readonly toolCallId: string
  readonly validForMs?: number | null | undefined
}

export interface CreateScheduleInput {
  readonly agentId: string
  readonly at?: string | null | undefined
  readonly conversationId?: string | null | undefined
  readonly cron?: string | null | undefined
  readonly enabled?: boolean | null | undefined
  readonly idempotencyKey?: string | null | undefined
  readonly messages: readonly NewMessageInput[]
  readonly missed?: MissedSchedule | null | undefined
  readonly name: string
  readonly timezone?: string | null | undefined
}

export interface CreateSleeptimeGroupInput {
  readonly agentId: string
  readonly frequency?: number | undefined
  readonly idempotencyKey?: string | null | undefined
  readonly sleeptimeAgentIds?: readonly string[] | null | undefined
}

export interface CreateTokenInput {
  readonly allowedAgentIds?: readonly string[] | null | undefined
  readonly allowedConversationIds?: readonly string[] | null | undefined
  readonly expiresInSeconds?: number | undefined
  readonly name?: string | null | undefined
  readonly scopes: readonly ApiScope[]
  readonly subject: string
}

export interface CreateWebhookInput {
  readonly agentIds?: readonly string[] | null | undefined
  readonly events: readonly WebhookEvent[]
  readonly headers?: unknown
  readonly idempotencyKey?: string | null | undefined
  readonly url: string
}

export interface DeleteAgentInput {
  readonly id: string
}

export interface DeleteBlockInput {
  readonly id: string
}

export interface DeleteBudgetInput {
  readonly id: string
}

export interface DeleteConversationInput {
  readonly id: string
}

export interface DeletePassagesInput {
  readonly ids: readonly string[]
}

export interface DeleteScheduleInput {
  readonly id: string
}

export interface DeleteSleeptimeGroupInput {
  readonly id: string
}

export interface DeleteToolInput {
  readonly id: string
}

export interface DeleteWebhookInput {
  readonly id: string
}

export interface DenyInput {
  readonly reason?: string | null | undefined
  readonly toolCallId: string
}

export interface DetachBlockInput {
  readonly agentId: string
  readonly blockId: string
}

export interface DetachToolInput {
  readonly agentId: string
  readonly toolId: string
}

export interface EditMessageInput {
  readonly idempotencyKey?: string | null | undefined
  readonly message: NewMessageInput
  readonly messageId: string
  readonly waitMs?: number | undefined
}

export interface ForkConversationInput {
  readonly idempotencyKey?: string | null | undefined
  readonly messageId: string
  readonly metadata?: unknown
  readonly title?: string | null | undefined
}

export interface HttpToolInput {
  readonly headers?: unknown
  readonly url: string
}

export interface ImportAgentInput {
  readonly document: unknown
  readonly idempotencyKey?: string | null | undefined
}

export interface JavaScriptToolInput {
  readonly source: string
}

export interface MessageFilter {
  readonly types?: readonly MessageType[] | null | undefined
}

export interface ModelSettingsInput {
  readonly contextWindow?: number | null | undefined
  readonly fallbacks?: readonly string[] | null | undefined
  readonly maxOutputTokens?: number | null | undefined
  readonly parallelToolCalls?: boolean | null | undefined
  readonly reasoningBudget?: number | null | undefined
  readonly reasoningEffort?: ReasoningEffort | null | undefined
  readonly responseSchema?: unknown
  readonly temperature?: number | null | undefined
}

export interface NewMessageInput {
  readonly clientId?: string | null | undefined
  readonly content?: readonly ContentPartInput[] | null | undefined
  readonly role?: MessageRole | undefined
  readonly text?: string | null | undefined
}

export interface PassageInput {
  readonly metadata?: unknown
  readonly tags?: readonly string[] | null | undefined
  readonly text: string
}

export interface RefreshMcpServerInput {
  readonly id: string
}

export interface RegenerateInput {
  readonly idempotencyKey?: string | null | undefined
  readonly runId: string
  readonly waitMs?: number | undefined
}

export interface RemoveMcpServerInput {
  readonly id: string
}

export interface ResendWebhookDeliveryInput {
  readonly deliveryId: string
}

export interface RetryRunInput {
  readonly runId: string
}

export interface RevokeApiKeyInput {
  readonly id: string
}

export interface RotateWebhookSecretInput {
  readonly id: string
}

export interface RunFilter {
  readonly agentIds?: readonly string[] | null | undefined
  readonly background?: boolean | null | undefined
  readonly conversationId?: string | null | undefined
  readonly createdAfter?: string | null | undefined
  readonly createdBefore?: string | null | undefined
  readonly metadataContains?: unknown
  readonly models?: readonly string[] | null | undefined
  readonly sentBy?: string | null | undefined
  readonly statuses?: readonly RunStatus[] | null | undefined
  readonly stopReasons?: readonly StopReason[] | null | undefined
  readonly waitingFor?: readonly RunWait[] | null | undefined
}

export interface SelectBranchInput {
  readonly runId: string
}

export interface SendMessageInput {
  readonly clientTools?: readonly ClientToolInput[] | null | undefined
  readonly idempotencyKey?: string | null | undefined
  readonly maxSteps?: number | null | undefined
  readonly maxTotalTokens?: number | null | undefined
  readonly messages: readonly NewMessageInput[]
  readonly metadata?: unknown
  readonly responseSchema?: unknown
  readonly to: SendMessageTarget
  readonly waitMs?: number | undefined
  readonly whenBusy?: WhenBusy | undefined
}

export type SendMessageTarget = { readonly agentId: string } | { readonly conversationId: string }

export interface SetToolApprovalInput {
  readonly agentId: string
  readonly requiresApproval?: boolean | null | undefined
  readonly toolId: string
}

export interface SubmitApprovalsInput {
  readonly decisions: readonly ApprovalDecisionInput[]
  readonly followUp?: readonly NewMessageInput[] | null | undefined
  readonly idempotencyKey?: string | null | undefined
  readonly runId: string
  readonly waitMs?: number | undefined
}

export interface TestWebhookInput {
  readonly id: string
}

export interface ToolCallFilter {
  readonly agentIds?: readonly string[] | null | undefined
  readonly conversationId?: string | null | undefined
  readonly createdAfter?: string | null | undefined
  readonly createdBefore?: string | null | undefined
  readonly decidedBy?: string | null | undefined
  readonly needs?: readonly ToolCallNeed[] | null | undefined
  readonly runId?: string | null | undefined
  readonly statuses?: readonly ToolCallStatus[] | null | undefined
  readonly toolNames?: readonly string[] | null | undefined
}

export interface ToolFilter {
  readonly kinds?: readonly ToolKind[] | null | undefined
  readonly nameContains?: string | null | undefined
  readonly names?: readonly string[] | null | undefined
}

export type ToolImplementationInput =
  { readonly client: boolean } | { readonly http: HttpToolInput } | { readonly javascript: JavaScriptToolInput }

export interface ToolRuleInput {
  readonly children?: readonly string[] | null | undefined
  readonly defaultChild?: string | null | undefined
  readonly kind: ToolRuleKind
  readonly maxCalls?: number | null | undefined
  readonly outputMapping?: unknown
  readonly prefilledArguments?: unknown
  readonly requireMapping?: boolean | null | undefined
  readonly tool: string
}

export interface TriggerScheduleInput {
  readonly id: string
}

export interface UnarchiveConversationInput {
  readonly id: string
}

export interface UpdateAgentInput {
  readonly blockIds?: readonly string[] | null | undefined
  readonly compaction?: CompactionSettingsInput | null | undefined
  readonly description?: string | null | undefined
  readonly embeddingModel?: string | null | undefined
  readonly id: string
  readonly instructions?: string | null | undefined
  readonly keepRequests?: boolean | null | undefined
  readonly metadata?: unknown
  readonly model?: string | null | undefined
  readonly modelSettings?: ModelSettingsInput | null | undefined
  readonly name?: string | null | undefined
  readonly tags?: readonly string[] | null | undefined
  readonly tellTimes?: boolean | null | undefined
  readonly timezone?: string | null | undefined
  readonly toolRules?: readonly ToolRuleInput[] | null | undefined
  readonly tools?: readonly AgentToolInput[] | null | undefined
}

export interface UpdateBlockInput {
  readonly charLimit?: number | null | undefined
  readonly description?: string | null | undefined
  readonly expectedVersion?: number | null | undefined
  readonly id: string
  readonly label?: string | null | undefined
  readonly readOnly?: boolean | null | undefined
  readonly value?: string | null | undefined
}

export interface UpdateBudgetInput {
  readonly id: string
  readonly limitTokens?: number | null | undefined
  readonly limitUsd?: number | null | undefined
  readonly whenReached?: WhenBudgetReached | null | undefined
}

export interface UpdateConversationInput {
  readonly id: string
  readonly metadata?: unknown
  readonly title?: string | null | undefined
}

export interface UpdateScheduleInput {
  readonly at?: string | null | undefined
  readonly conversationId?: string | null | undefined
  readonly cron?: string | null | undefined
  readonly enabled?: boolean | null | undefined
  readonly id: string
  readonly messages?: readonly NewMessageInput[] | null | undefined
  readonly missed?: MissedSchedule | null | undefined
  readonly name?: string | null | undefined
  readonly timezone?: string | null | undefined
}

export interface UpdateSleeptimeGroupInput {
  readonly frequency?: number | null | undefined
  readonly id: string
  readonly sleeptimeAgentIds?: readonly string[] | null | undefined
}

export interface UpdateToolInput {
  readonly approvalCondition?: unknown
  readonly approvalExcludesSender?: boolean | null | undefined
  readonly approvalTimeoutMs?: number | null | undefined
  readonly approvalsRequired?: number | null | undefined
  readonly description?: string | null | undefined
  readonly id: string
  readonly idempotent?: boolean | null | undefined
  readonly implementation?: ToolImplementationInput | null | undefined
  readonly parallel?: boolean | null | undefined
  readonly parameters?: unknown
  readonly requiresApproval?: boolean | null | undefined
  readonly returnCharLimit?: number | null | undefined
  readonly tags?: readonly string[] | null | undefined
  readonly timeoutMs?: number | null | undefined
}

export interface UpdateWebhookInput {
  readonly agentIds?: readonly string[] | null | undefined
  readonly enabled?: boolean | null | undefined
  readonly events?: readonly WebhookEvent[] | null | undefined
  readonly headers?: unknown
  readonly id: string
  readonly url?: string | null | undefined
}

export interface UploadFileInput {
  readonly conversationId: string
  readonly dataUrl: string
  readonly name?: string | null | undefined
}

export interface UpsertAgentInput {
  readonly agent: CreateAgentInput
  readonly key: string
}

export interface UpsertToolInput {
  readonly approvalCondition?: unknown
  readonly approvalExcludesSender?: boolean | null | undefined
  readonly approvalTimeoutMs?: number | null | undefined
  readonly approvalsRequired?: number | null | undefined
  readonly description?: string | null | undefined
  readonly idempotent?: boolean | null | undefined
  readonly implementation: ToolImplementationInput
  readonly name: string
  readonly parallel?: boolean | null | undefined
  readonly parameters?: unknown
  readonly requiresApproval?: boolean | null | undefined
  readonly returnCharLimit?: number | null | undefined
  readonly tags?: readonly string[] | null | undefined
  readonly timeoutMs?: number | null | undefined
}

export interface UsageInput {
  readonly agentIds?: readonly string[] | null | undefined
  readonly from: string
  readonly groupBy?: readonly UsageDimension[] | null | undefined
  readonly interval: UsageInterval
  readonly to: string
}
