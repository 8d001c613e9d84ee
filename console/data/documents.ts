// Generated from schema.graphql by `npm run schema`. Do not edit.

import type {
  UsageFields,
  RunErrorFields,
  AttachmentFields,
  DecisionFields,
  ToolCallFields,
  InboxCallFields,
} from '../../client/documents.ts'
import type {
  ActorKind,
  AddMcpServerInput,
  AddPassagesInput,
  AgentFilter,
  ApiScope,
  ArchiveConversationInput,
  AuditLogFilter,
  BudgetPeriod,
  ClearConversationInput,
  CompactConversationInput,
  CompactionMode,
  ContinueRunInput,
  ConversationFilter,
  CreateAgentInput,
  CreateApiKeyInput,
  CreateBlockInput,
  CreateBudgetInput,
  CreateScheduleInput,
  CreateSleeptimeGroupInput,
  CreateWebhookInput,
  DeleteAgentInput,
  DeleteBlockInput,
  DeleteBudgetInput,
  DeleteConversationInput,
  DeletePassagesInput,
  DeleteScheduleInput,
  DeleteSleeptimeGroupInput,
  DeleteToolInput,
  DeleteWebhookInput,
  ForkConversationInput,
  MissedSchedule,
  ModelCapability,
  ReasoningEffort,
  RefreshMcpServerInput,
  RemoveMcpServerInput,
  ResendWebhookDeliveryInput,
  RevokeApiKeyInput,
  RotateWebhookSecretInput,
  RunErrorType,
  RunFilter,
  RunStatus,
  SelectBranchInput,
  SendMessageInput,
  StepStatus,
  StopReason,
  TestWebhookInput,
  ToolCallNeed,
  ToolCallStatus,
  ToolFilter,
  ToolKind,
  ToolReturnStatus,
  ToolRuleKind,
  TriggerScheduleInput,
  UnarchiveConversationInput,
  UpdateAgentInput,
  UpdateBlockInput,
  UpdateBudgetInput,
  UpdateConversationInput,
  UpdateScheduleInput,
  UpdateSleeptimeGroupInput,
  UpdateToolInput,
  UpdateWebhookInput,
  UsageInput,
  WebhookDeliveryStatus,
  WebhookEvent,
  WhenBudgetReached,
} from '../../client/schema-types.ts'
import type { TypedDocument } from '../../client/typed-document.ts'

export type ViewerData = {
  readonly viewer: {
    readonly actor: { readonly kind: ActorKind; readonly name: string }
    readonly scopes: readonly ApiScope[]
    readonly tenantId: string
  }
}
export type ViewerVariables = Record<string, never>
export const Viewer = 'query Viewer{viewer{actor{kind name}scopes tenantId}}' as TypedDocument<
  ViewerData,
  ViewerVariables
>

export type AgentsData = {
  readonly agents: {
    readonly totalCount: number
    readonly nodes: readonly {
      readonly id: string
      readonly name: string
      readonly description: string | null
      readonly model: string
      readonly updatedAt: string
      readonly runs: {
        readonly nodes: readonly { readonly id: string; readonly status: RunStatus; readonly updatedAt: string }[]
      }
    }[]
    readonly pageInfo: { readonly hasNextPage: boolean; readonly endCursor: string | null }
  }
}
export type AgentsVariables = {
  readonly first: number
  readonly after?: string | null | undefined
  readonly filter?: AgentFilter | null | undefined
}
export const Agents =
  'query Agents($first:Int!$after:String$filter:AgentFilter){agents(first:$first after:$after filter:$filter){totalCount nodes{id name description model updatedAt runs(first:1){nodes{id status updatedAt}}}pageInfo{hasNextPage endCursor}}}' as TypedDocument<
    AgentsData,
    AgentsVariables
  >

export type JumpData = {
  readonly agents: { readonly nodes: readonly { readonly id: string; readonly name: string }[] }
  readonly conversations: {
    readonly nodes: readonly {
      readonly id: string
      readonly title: string | null
      readonly agent: { readonly name: string }
      readonly latestRun: { readonly input: readonly { readonly text: string }[] } | null
    }[]
  }
}
export type JumpVariables = { readonly text?: string | null | undefined }
export const Jump =
  'query Jump($text:String){agents(first:6 filter:{nameContains:$text}){nodes{id name}}conversations(first:6 orderBy:LAST_ACTIVITY filter:{titleContains:$text}){nodes{id title agent{name}latestRun{input{text}}}}}' as TypedDocument<
    JumpData,
    JumpVariables
  >

export type AgentNamesData = {
  readonly agents: { readonly nodes: readonly { readonly id: string; readonly name: string }[] }
}
export type AgentNamesVariables = Record<string, never>
export const AgentNames = 'query AgentNames{agents(first:200){nodes{id name}}}' as TypedDocument<
  AgentNamesData,
  AgentNamesVariables
>

export type BlockFields = {
  readonly id: string
  readonly label: string
  readonly value: string
  readonly description: string | null
  readonly charLimit: number
  readonly version: number
  readonly readOnly: boolean
  readonly updatedAt: string
}

export type AgentSettings = {
  readonly id: string
  readonly name: string
  readonly description: string | null
  readonly instructions: string
  readonly model: string
  readonly tags: readonly string[]
  readonly timezone: string
  readonly embeddingModel: string | null
  readonly metadata: unknown
  readonly modelSettings: {
    readonly temperature: number | null
    readonly maxOutputTokens: number | null
    readonly contextWindow: number | null
    readonly parallelToolCalls: boolean
    readonly reasoningEffort: ReasoningEffort | null
    readonly reasoningBudget: number | null
    readonly responseSchema: unknown
    readonly fallbacks: readonly string[]
  }
  readonly keepRequests: boolean
  readonly tellTimes: boolean
  readonly tools: readonly { readonly approvalOverride: boolean | null; readonly tool: ToolOption }[]
  readonly toolRules: readonly {
    readonly kind: ToolRuleKind
    readonly tool: string
    readonly children: readonly string[] | null
    readonly maxCalls: number | null
    readonly outputMapping: unknown
    readonly defaultChild: string | null
    readonly requireMapping: boolean | null
    readonly prefilledArguments: unknown
  }[]
  readonly blocks: readonly BlockFields[]
  readonly compaction: {
    readonly mode: CompactionMode
    readonly model: string | null
    readonly prompt: string | null
    readonly keepRatio: number
  }
  readonly sleeptime: {
    readonly id: string
    readonly frequency: number
    readonly sleeptimeAgents: readonly { readonly id: string; readonly name: string }[]
  } | null
}

export type AgentFormData = { readonly agent: AgentSettings | null }
export type AgentFormVariables = { readonly id: string }
export const AgentForm =
  'query AgentForm($id:ID!){agent(id:$id){...AgentSettings}}fragment AgentSettings on Agent{id name description instructions model tags timezone embeddingModel metadata modelSettings{temperature maxOutputTokens contextWindow parallelToolCalls reasoningEffort reasoningBudget responseSchema fallbacks}keepRequests tellTimes tools{approvalOverride tool{...ToolOption}}toolRules{kind tool children maxCalls outputMapping defaultChild requireMapping prefilledArguments}blocks{...BlockFields}compaction{mode model prompt keepRatio}sleeptime{id frequency sleeptimeAgents{id name}}}fragment ToolOption on Tool{id name description kind requiresApproval approvalCondition}fragment BlockFields on Block{id label value description charLimit version readOnly updatedAt}' as TypedDocument<
    AgentFormData,
    AgentFormVariables
  >

export type AgentFormChoicesData = {
  readonly models: readonly {
    readonly handle: string
    readonly provider: string
    readonly contextWindow: number
    readonly isConfigured: boolean
  }[]
  readonly blocks: {
    readonly nodes: readonly {
      readonly id: string
      readonly label: string
      readonly description: string | null
      readonly value: string
    }[]
  }
}
export type AgentFormChoicesVariables = Record<string, never>
export const AgentFormChoices =
  'query AgentFormChoices{models{handle provider contextWindow isConfigured}blocks(first:200){nodes{id label description value}}}' as TypedDocument<
    AgentFormChoicesData,
    AgentFormChoicesVariables
  >

export type ToolOption = {
  readonly id: string
  readonly name: string
  readonly description: string
  readonly kind: ToolKind
  readonly requiresApproval: boolean
  readonly approvalCondition: unknown
}

export type ToolOptionsData = {
  readonly tools: {
    readonly totalCount: number
    readonly nodes: readonly ToolOption[]
    readonly pageInfo: { readonly hasNextPage: boolean; readonly endCursor: string | null }
  }
}
export type ToolOptionsVariables = {
  readonly first: number
  readonly after?: string | null | undefined
  readonly filter?: ToolFilter | null | undefined
}
export const ToolOptions =
  'query ToolOptions($first:Int!$after:String$filter:ToolFilter){tools(first:$first after:$after filter:$filter){totalCount nodes{...ToolOption}pageInfo{hasNextPage endCursor}}}fragment ToolOption on Tool{id name description kind requiresApproval approvalCondition}' as TypedDocument<
    ToolOptionsData,
    ToolOptionsVariables
  >

export type ChosenToolsData = {
  readonly nodes: readonly (
    | {}
    | {
        readonly id: string
        readonly name: string
        readonly description: string
        readonly kind: ToolKind
        readonly requiresApproval: boolean
        readonly approvalCondition: unknown
      }
    | null
  )[]
}
export type ChosenToolsVariables = { readonly ids: readonly string[] }
export const ChosenTools =
  'query ChosenTools($ids:[ID!]!){nodes(ids:$ids){...on Tool{...ToolOption}}}fragment ToolOption on Tool{id name description kind requiresApproval approvalCondition}' as TypedDocument<
    ChosenToolsData,
    ChosenToolsVariables
  >

export type AgentMainData = { readonly agent: { readonly mainConversation: { readonly id: string } } | null }
export type AgentMainVariables = { readonly id: string }
export const AgentMain = 'query AgentMain($id:ID!){agent(id:$id){mainConversation{id}}}' as TypedDocument<
  AgentMainData,
  AgentMainVariables
>

export type CreateAgentData = {
  readonly createAgent: {
    readonly agent: { readonly id: string; readonly mainConversation: { readonly id: string } }
  } | null
}
export type CreateAgentVariables = { readonly input: CreateAgentInput }
export const CreateAgent =
  'mutation CreateAgent($input:CreateAgentInput!){createAgent(input:$input){agent{id mainConversation{id}}}}' as TypedDocument<
    CreateAgentData,
    CreateAgentVariables
  >

export type UpdateAgentData = { readonly updateAgent: { readonly agent: { readonly id: string } } | null }
export type UpdateAgentVariables = { readonly input: UpdateAgentInput }
export const UpdateAgent =
  'mutation UpdateAgent($input:UpdateAgentInput!){updateAgent(input:$input){agent{id}}}' as TypedDocument<
    UpdateAgentData,
    UpdateAgentVariables
  >

export type DeleteAgentData = { readonly deleteAgent: { readonly deletedId: string } | null }
export type DeleteAgentVariables = { readonly input: DeleteAgentInput }
export const DeleteAgent =
  'mutation DeleteAgent($input:DeleteAgentInput!){deleteAgent(input:$input){deletedId}}' as TypedDocument<
    DeleteAgentData,
    DeleteAgentVariables
  >

export type CreateSleeptimeGroupData = {
  readonly createSleeptimeGroup: { readonly group: { readonly id: string } } | null
}
export type CreateSleeptimeGroupVariables = { readonly input: CreateSleeptimeGroupInput }
export const CreateSleeptimeGroup =
  'mutation CreateSleeptimeGroup($input:CreateSleeptimeGroupInput!){createSleeptimeGroup(input:$input){group{id}}}' as TypedDocument<
    CreateSleeptimeGroupData,
    CreateSleeptimeGroupVariables
  >

export type UpdateSleeptimeGroupData = {
  readonly updateSleeptimeGroup: { readonly group: { readonly id: string } } | null
}
export type UpdateSleeptimeGroupVariables = { readonly input: UpdateSleeptimeGroupInput }
export const UpdateSleeptimeGroup =
  'mutation UpdateSleeptimeGroup($input:UpdateSleeptimeGroupInput!){updateSleeptimeGroup(input:$input){group{id}}}' as TypedDocument<
    UpdateSleeptimeGroupData,
    UpdateSleeptimeGroupVariables
  >

export type DeleteSleeptimeGroupData = { readonly deleteSleeptimeGroup: { readonly deletedId: string } | null }
export type DeleteSleeptimeGroupVariables = { readonly input: DeleteSleeptimeGroupInput }
export const DeleteSleeptimeGroup =
  'mutation DeleteSleeptimeGroup($input:DeleteSleeptimeGroupInput!){deleteSleeptimeGroup(input:$input){deletedId}}' as TypedDocument<
    DeleteSleeptimeGroupData,
    DeleteSleeptimeGroupVariables
  >

export type ConversationRow = {
  readonly id: string
  readonly title: string | null
  readonly lastActivityAt: string
  readonly archivedAt: string | null
  readonly activeRun: { readonly id: string; readonly status: RunStatus } | null
  readonly latestRun: { readonly id: string; readonly input: readonly { readonly text: string }[] } | null
}

export type ConversationAgentData = {
  readonly agent: {
    readonly id: string
    readonly name: string
    readonly model: string
    readonly tools: readonly {
      readonly tool: {
        readonly name: string
        readonly kind: ToolKind
        readonly parameters: unknown
        readonly requiresApproval: boolean
      }
    }[]
    readonly mainConversation: { readonly id: string }
  } | null
}
export type ConversationAgentVariables = { readonly agentId: string }
export const ConversationAgent =
  'query ConversationAgent($agentId:ID!){agent(id:$agentId){id name model tools{tool{name kind parameters requiresApproval}}mainConversation{id}}}' as TypedDocument<
    ConversationAgentData,
    ConversationAgentVariables
  >

export type ConversationListData = {
  readonly agent: {
    readonly conversations: {
      readonly totalCount: number
      readonly nodes: readonly ConversationRow[]
      readonly pageInfo: { readonly hasNextPage: boolean; readonly endCursor: string | null }
    }
  } | null
}
export type ConversationListVariables = {
  readonly agentId: string
  readonly first: number
  readonly after?: string | null | undefined
  readonly filter?: ConversationFilter | null | undefined
}
export const ConversationList =
  'query ConversationList($agentId:ID!$first:Int!$after:String$filter:ConversationFilter){agent(id:$agentId){conversations(first:$first after:$after orderBy:LAST_ACTIVITY filter:$filter){totalCount nodes{...ConversationRow}pageInfo{hasNextPage endCursor}}}}fragment ConversationRow on Conversation{id title lastActivityAt archivedAt activeRun{id status}latestRun{id input{text}}}' as TypedDocument<
    ConversationListData,
    ConversationListVariables
  >

export type TurnFields = {
  readonly id: string
  readonly status: RunStatus
  readonly startedAt: string | null
  readonly finishedAt: string | null
  readonly error: { readonly message: string } | null
  readonly usage: { readonly totalTokens: number; readonly costUsd: number | null }
  readonly versions: readonly { readonly id: string; readonly input: readonly { readonly text: string }[] }[]
}

export type ConversationTurnsData = {
  readonly conversation: {
    readonly id: string
    readonly title: string | null
    readonly lastActivityAt: string
    readonly archivedAt: string | null
    readonly activeRun: { readonly id: string; readonly status: RunStatus } | null
    readonly latestRun: { readonly id: string; readonly input: readonly { readonly text: string }[] } | null
    readonly runs: { readonly nodes: readonly TurnFields[] }
  } | null
}
export type ConversationTurnsVariables = { readonly id: string }
export const ConversationTurns =
  'query ConversationTurns($id:ID!){conversation(id:$id){...ConversationRow runs(first:100){nodes{...TurnFields}}}}fragment ConversationRow on Conversation{id title lastActivityAt archivedAt activeRun{id status}latestRun{id input{text}}}fragment TurnFields on Run{id status startedAt finishedAt error{message}usage{totalTokens costUsd}versions{id input{text}}}' as TypedDocument<
    ConversationTurnsData,
    ConversationTurnsVariables
  >

export type OlderTurnsData = {
  readonly nodes: readonly (
    | {}
    | {
        readonly id: string
        readonly status: RunStatus
        readonly startedAt: string | null
        readonly finishedAt: string | null
        readonly error: { readonly message: string } | null
        readonly usage: { readonly totalTokens: number; readonly costUsd: number | null }
        readonly versions: readonly { readonly id: string; readonly input: readonly { readonly text: string }[] }[]
      }
    | null
  )[]
}
export type OlderTurnsVariables = { readonly ids: readonly string[] }
export const OlderTurns =
  'query OlderTurns($ids:[ID!]!){nodes(ids:$ids){...on Run{...TurnFields}}}fragment TurnFields on Run{id status startedAt finishedAt error{message}usage{totalTokens costUsd}versions{id input{text}}}' as TypedDocument<
    OlderTurnsData,
    OlderTurnsVariables
  >

export type SelectBranchData = {
  readonly selectBranch:
    | { readonly __typename: 'ConversationBusyRefusal' | 'PendingApprovalRefusal'; readonly message: string }
    | { readonly __typename: 'SelectBranchSuccess' }
    | null
}
export type SelectBranchVariables = { readonly input: SelectBranchInput }
export const SelectBranch =
  'mutation SelectBranch($input:SelectBranchInput!){selectBranch(input:$input){__typename ...on Refusal{message}}}' as TypedDocument<
    SelectBranchData,
    SelectBranchVariables
  >

export type ForkConversationData = {
  readonly forkConversation:
    | { readonly __typename: 'ConversationBusyRefusal' | 'PendingApprovalRefusal'; readonly message: string }
    | { readonly __typename: 'ForkConversationSuccess'; readonly conversation: { readonly id: string } }
    | null
}
export type ForkConversationVariables = { readonly input: ForkConversationInput }
export const ForkConversation =
  'mutation ForkConversation($input:ForkConversationInput!){forkConversation(input:$input){__typename ...on ForkConversationSuccess{conversation{id}}...on Refusal{message}}}' as TypedDocument<
    ForkConversationData,
    ForkConversationVariables
  >

export type ClearConversationData = {
  readonly clearConversation:
    | { readonly __typename: 'ClearConversationSuccess' }
    | { readonly __typename: 'ConversationBusyRefusal' | 'PendingApprovalRefusal'; readonly message: string }
    | null
}
export type ClearConversationVariables = { readonly input: ClearConversationInput }
export const ClearConversation =
  'mutation ClearConversation($input:ClearConversationInput!){clearConversation(input:$input){__typename ...on Refusal{message}}}' as TypedDocument<
    ClearConversationData,
    ClearConversationVariables
  >

export type ArchiveConversationData = {
  readonly archiveConversation: { readonly conversation: { readonly id: string } } | null
}
export type ArchiveConversationVariables = { readonly input: ArchiveConversationInput }
export const ArchiveConversation =
  'mutation ArchiveConversation($input:ArchiveConversationInput!){archiveConversation(input:$input){conversation{id}}}' as TypedDocument<
    ArchiveConversationData,
    ArchiveConversationVariables
  >

export type UnarchiveConversationData = {
  readonly unarchiveConversation: { readonly conversation: { readonly id: string } } | null
}
export type UnarchiveConversationVariables = { readonly input: UnarchiveConversationInput }
export const UnarchiveConversation =
  'mutation UnarchiveConversation($input:UnarchiveConversationInput!){unarchiveConversation(input:$input){conversation{id}}}' as TypedDocument<
    UnarchiveConversationData,
    UnarchiveConversationVariables
  >

export type WaitingCallData = {
  readonly node:
    | {}
    | {
        readonly id: string
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
    | null
}
export type WaitingCallVariables = { readonly id: string }
export const WaitingCall =
  'query WaitingCall($id:ID!){node(id:$id){...on ToolCall{id ...WaitingFields}}}fragment WaitingFields on ToolCall{approvals{decidedBy decidedAt}tool{id description parameters requiresApproval approvalCondition approvalExcludesSender}run{sentBy{name}}}' as TypedDocument<
    WaitingCallData,
    WaitingCallVariables
  >

export type DecidedCallsData = {
  readonly toolCalls: {
    readonly nodes: readonly InboxCallFields[]
    readonly pageInfo: { readonly hasPreviousPage: boolean }
  }
}
export type DecidedCallsVariables = { readonly since: string }
export const DecidedCalls =
  'query DecidedCalls($since:DateTime!){toolCalls(last:200 filter:{needs:[APPROVAL CLIENT_EXECUTION]statuses:[READY RUNNING SUCCEEDED FAILED DENIED]createdAfter:$since}){nodes{...InboxCallFields}pageInfo{hasPreviousPage}}}fragment InboxCallFields on ToolCall{...ToolCallFields ...WaitingFields agent{id name}conversation{id title}}fragment ToolCallFields on ToolCall{id name argumentsText arguments editedArguments status needs approvalsRequired createdAt startedAt finishedAt expiresAt run{id}decision{...DecisionFields}result{status output json content{...AttachmentFields}stdout stderr truncated durationMs}}fragment DecisionFields on ApprovalDecision{toolCallId kind reason note scope editedArguments toolReturn status decidedBy decidedAt}fragment AttachmentFields on ContentPart{kind imageUrl documentUrl file{id name mediaType sizeBytes url}}fragment WaitingFields on ToolCall{approvals{decidedBy decidedAt}tool{id description parameters requiresApproval approvalCondition approvalExcludesSender}run{sentBy{name}}}' as TypedDocument<
    DecidedCallsData,
    DecidedCallsVariables
  >

export type ConversationContextData = {
  readonly conversation: {
    readonly id: string
    readonly blocks: readonly BlockFields[]
    readonly agent: { readonly id: string; readonly blocks: readonly BlockFields[] }
    readonly context: {
      readonly systemPrompt: string
      readonly tokens: {
        readonly window: number
        readonly total: number
        readonly instructions: number
        readonly blocks: number
        readonly tools: number
        readonly summary: number
        readonly messages: number
      }
    }
  } | null
}
export type ConversationContextVariables = { readonly id: string }
export const ConversationContext =
  'query ConversationContext($id:ID!){conversation(id:$id){id blocks{...BlockFields}agent{id blocks{...BlockFields}}context{systemPrompt tokens{window total instructions blocks tools summary messages}}}}fragment BlockFields on Block{id label value description charLimit version readOnly updatedAt}' as TypedDocument<
    ConversationContextData,
    ConversationContextVariables
  >

export type UpdateConversationData = {
  readonly updateConversation: { readonly conversation: { readonly id: string; readonly title: string | null } } | null
}
export type UpdateConversationVariables = { readonly input: UpdateConversationInput }
export const UpdateConversation =
  'mutation UpdateConversation($input:UpdateConversationInput!){updateConversation(input:$input){conversation{id title}}}' as TypedDocument<
    UpdateConversationData,
    UpdateConversationVariables
  >

export type DeleteConversationData = { readonly deleteConversation: { readonly deletedId: string } | null }
export type DeleteConversationVariables = { readonly input: DeleteConversationInput }
export const DeleteConversation =
  'mutation DeleteConversation($input:DeleteConversationInput!){deleteConversation(input:$input){deletedId}}' as TypedDocument<
    DeleteConversationData,
    DeleteConversationVariables
  >

export type CompactConversationData = {
  readonly compactConversation:
    | { readonly __typename: 'CompactConversationSuccess' }
    | { readonly __typename: 'ConversationBusyRefusal' | 'PendingApprovalRefusal'; readonly message: string }
    | null
}
export type CompactConversationVariables = { readonly input: CompactConversationInput }
export const CompactConversation =
  'mutation CompactConversation($input:CompactConversationInput!){compactConversation(input:$input){__typename ...on Refusal{message}}}' as TypedDocument<
    CompactConversationData,
    CompactConversationVariables
  >

export type RunRow = {
  readonly id: string
  readonly status: RunStatus
  readonly stopReason: StopReason | null
  readonly createdAt: string
  readonly startedAt: string | null
  readonly finishedAt: string | null
  readonly updatedAt: string
  readonly agent: { readonly id: string; readonly name: string }
  readonly conversation: { readonly id: string; readonly title: string | null }
  readonly input: readonly { readonly text: string }[]
  readonly error: { readonly message: string } | null
  readonly usage: UsageFields
}

export type RunsData = {
  readonly runs: {
    readonly totalCount: number
    readonly nodes: readonly RunRow[]
    readonly pageInfo: { readonly hasNextPage: boolean; readonly endCursor: string | null }
  }
}
export type RunsVariables = {
  readonly first: number
  readonly after?: string | null | undefined
  readonly filter?: RunFilter | null | undefined
}
export const Runs =
  'query Runs($first:Int!$after:String$filter:RunFilter){runs(first:$first after:$after filter:$filter){totalCount nodes{...RunRow}pageInfo{hasNextPage endCursor}}}fragment RunRow on Run{id status stopReason createdAt startedAt finishedAt updatedAt agent{id name}conversation{id title}input{text}error{message}usage{...UsageFields}}fragment UsageFields on Usage{steps inputTokens outputTokens totalTokens cachedInputTokens reasoningTokens costUsd}' as TypedDocument<
    RunsData,
    RunsVariables
  >

export type RunChangesData = { readonly runChanges: RunRow }
export type RunChangesVariables = { readonly since: string; readonly agentIds?: readonly string[] | null | undefined }
export const RunChanges =
  'subscription RunChanges($since:DateTime!$agentIds:[ID!]){runChanges(since:$since agentIds:$agentIds){...RunRow}}fragment RunRow on Run{id status stopReason createdAt startedAt finishedAt updatedAt agent{id name}conversation{id title}input{text}error{message}usage{...UsageFields}}fragment UsageFields on Usage{steps inputTokens outputTokens totalTokens cachedInputTokens reasoningTokens costUsd}' as TypedDocument<
    RunChangesData,
    RunChangesVariables
  >

export type StepRow = {
  readonly id: string
  readonly index: number
  readonly model: string
  readonly status: StepStatus
  readonly stopReason: StopReason | null
  readonly createdAt: string
  readonly finishedAt: string | null
  readonly error: RunErrorFields | null
  readonly usage: UsageFields
  readonly metrics: {
    readonly timeToFirstTokenMs: number | null
    readonly modelMs: number | null
    readonly toolsMs: number | null
    readonly totalMs: number | null
  }
  readonly failedModels: readonly { readonly model: string; readonly error: { readonly message: string } }[]
  readonly messages: readonly (
    | {
        readonly __typename:
          | 'ApprovalRequestMessage'
          | 'ApprovalResponseMessage'
          | 'SummaryMessage'
          | 'SystemMessage'
          | 'ToolCallMessage'
          | 'ToolReturnMessage'
          | 'UserMessage'
      }
    | { readonly __typename: 'AssistantMessage' | 'ReasoningMessage'; readonly text: string }
  )[]
  readonly toolCalls: readonly {
    readonly id: string
    readonly name: string
    readonly argumentsText: string
    readonly editedArguments: unknown
    readonly status: ToolCallStatus
    readonly needs: ToolCallNeed
    readonly createdAt: string
    readonly startedAt: string | null
    readonly finishedAt: string | null
    readonly decision: DecisionFields | null
    readonly result: {
      readonly status: ToolReturnStatus
      readonly output: string
      readonly content: readonly AttachmentFields[]
    } | null
  }[]
}

export type StepExchangeData = {
  readonly node: {} | { readonly id: string; readonly request: unknown; readonly response: unknown } | null
}
export type StepExchangeVariables = { readonly id: string }
export const StepExchange =
  'query StepExchange($id:ID!){node(id:$id){...on Step{id request response}}}' as TypedDocument<
    StepExchangeData,
    StepExchangeVariables
  >

export type RunPageData = {
  readonly run: {
    readonly id: string
    readonly status: RunStatus
    readonly stopReason: StopReason | null
    readonly createdAt: string
    readonly startedAt: string | null
    readonly finishedAt: string | null
    readonly updatedAt: string
    readonly agent: { readonly id: string; readonly name: string }
    readonly conversation: { readonly id: string; readonly title: string | null }
    readonly input: readonly { readonly text: string }[]
    readonly error: {
      readonly message: string
      readonly type: RunErrorType
      readonly detail: string | null
      readonly retryable: boolean
    } | null
    readonly usage: UsageFields
    readonly canRetry: boolean
    readonly attempts: number
    readonly maxSteps: number
    readonly answer: string | null
    readonly metadata: unknown
    readonly parent: { readonly id: string; readonly agent: { readonly id: string; readonly name: string } } | null
    readonly children: readonly {
      readonly id: string
      readonly status: RunStatus
      readonly agent: { readonly id: string; readonly name: string }
    }[]
    readonly steps: readonly StepRow[]
    readonly sentBy: { readonly kind: ActorKind; readonly name: string } | null
    readonly cancelledBy: { readonly kind: ActorKind; readonly name: string } | null
  } | null
}
export type RunPageVariables = { readonly id: string }
export const RunPage =
  'query RunPage($id:ID!){run(id:$id){...RunRow canRetry attempts maxSteps answer metadata error{...RunErrorFields}parent{id agent{id name}}children{id status agent{id name}}steps{...StepRow}sentBy{kind name}cancelledBy{kind name}}}fragment RunRow on Run{id status stopReason createdAt startedAt finishedAt updatedAt agent{id name}conversation{id title}input{text}error{message}usage{...UsageFields}}fragment UsageFields on Usage{steps inputTokens outputTokens totalTokens cachedInputTokens reasoningTokens costUsd}fragment RunErrorFields on RunError{type message detail retryable}fragment StepRow on Step{id index model status stopReason createdAt finishedAt error{...RunErrorFields}usage{...UsageFields}metrics{timeToFirstTokenMs modelMs toolsMs totalMs}failedModels{model error{message}}messages{__typename ...on AssistantMessage{text}...on ReasoningMessage{text}}toolCalls{id name argumentsText editedArguments status needs createdAt startedAt finishedAt decision{...DecisionFields}result{status output content{...AttachmentFields}}}}fragment DecisionFields on ApprovalDecision{toolCallId kind reason note scope editedArguments toolReturn status decidedBy decidedAt}fragment AttachmentFields on ContentPart{kind imageUrl documentUrl file{id name mediaType sizeBytes url}}' as TypedDocument<
    RunPageData,
    RunPageVariables
  >

export type ToolRow = {
  readonly id: string
  readonly name: string
  readonly description: string
  readonly kind: ToolKind
  readonly parameters: unknown
  readonly requiresApproval: boolean
  readonly approvalCondition: unknown
  readonly approvalTimeoutMs: number | null
  readonly parallel: boolean
  readonly idempotent: boolean
  readonly returnCharLimit: number
  readonly timeoutMs: number
  readonly tags: readonly string[]
  readonly source: string | null
  readonly url: string | null
  readonly headerNames: readonly string[] | null
  readonly updatedAt: string
  readonly mcpServer: { readonly id: string; readonly name: string } | null
}

export type ToolsData = {
  readonly tools: {
    readonly nodes: readonly ToolRow[]
    readonly pageInfo: { readonly hasNextPage: boolean; readonly endCursor: string | null }
  }
}
export type ToolsVariables = {
  readonly first: number
  readonly after?: string | null | undefined
  readonly filter?: ToolFilter | null | undefined
}
export const Tools =
  'query Tools($first:Int!$after:String$filter:ToolFilter){tools(first:$first after:$after filter:$filter){nodes{...ToolRow}pageInfo{hasNextPage endCursor}}}fragment ToolRow on Tool{id name description kind parameters requiresApproval approvalCondition approvalTimeoutMs parallel idempotent returnCharLimit timeoutMs tags source url headerNames updatedAt mcpServer{id name}}' as TypedDocument<
    ToolsData,
    ToolsVariables
  >

export type ToolNamedData = { readonly tools: { readonly nodes: readonly { readonly id: string }[] } }
export type ToolNamedVariables = { readonly name: string }
export const ToolNamed =
  'query ToolNamed($name:String!){tools(first:1 filter:{names:[$name]}){nodes{id}}}' as TypedDocument<
    ToolNamedData,
    ToolNamedVariables
  >

export type McpServersData = {
  readonly mcpServers: {
    readonly nodes: readonly {
      readonly id: string
      readonly name: string
      readonly url: string
      readonly lastError: string | null
      readonly tools: readonly { readonly id: string }[]
    }[]
  }
}
export type McpServersVariables = Record<string, never>
export const McpServers =
  'query McpServers{mcpServers(first:200){nodes{id name url lastError tools{id}}}}' as TypedDocument<
    McpServersData,
    McpServersVariables
  >

export type UpdateToolData = { readonly updateTool: { readonly tool: { readonly id: string } } | null }
export type UpdateToolVariables = { readonly input: UpdateToolInput }
export const UpdateTool =
  'mutation UpdateTool($input:UpdateToolInput!){updateTool(input:$input){tool{id}}}' as TypedDocument<
    UpdateToolData,
    UpdateToolVariables
  >

export type DeleteToolData = { readonly deleteTool: { readonly deletedId: string } | null }
export type DeleteToolVariables = { readonly input: DeleteToolInput }
export const DeleteTool =
  'mutation DeleteTool($input:DeleteToolInput!){deleteTool(input:$input){deletedId}}' as TypedDocument<
    DeleteToolData,
    DeleteToolVariables
  >

export type AddMcpServerData = { readonly addMcpServer: { readonly server: { readonly id: string } } | null }
export type AddMcpServerVariables = { readonly input: AddMcpServerInput }
export const AddMcpServer =
  'mutation AddMcpServer($input:AddMcpServerInput!){addMcpServer(input:$input){server{id}}}' as TypedDocument<
    AddMcpServerData,
    AddMcpServerVariables
  >

export type RefreshMcpServerData = {
  readonly refreshMcpServer: { readonly server: { readonly id: string; readonly lastError: string | null } } | null
}
export type RefreshMcpServerVariables = { readonly input: RefreshMcpServerInput }
export const RefreshMcpServer =
  'mutation RefreshMcpServer($input:RefreshMcpServerInput!){refreshMcpServer(input:$input){server{id lastError}}}' as TypedDocument<
    RefreshMcpServerData,
    RefreshMcpServerVariables
  >

export type RemoveMcpServerData = { readonly removeMcpServer: { readonly deletedId: string } | null }
export type RemoveMcpServerVariables = { readonly input: RemoveMcpServerInput }
export const RemoveMcpServer =
  'mutation RemoveMcpServer($input:RemoveMcpServerInput!){removeMcpServer(input:$input){deletedId}}' as TypedDocument<
    RemoveMcpServerData,
    RemoveMcpServerVariables
  >

export type LeftTrialsData = {
  readonly agents: { readonly nodes: readonly { readonly id: string; readonly createdAt: string }[] }
}
export type LeftTrialsVariables = Record<string, never>
export const LeftTrials =
  'query LeftTrials{agents(first:50 filter:{tags:["console-trial"]}){nodes{id createdAt}}}' as TypedDocument<
    LeftTrialsData,
    LeftTrialsVariables
  >

export type TryToolData = {
  readonly sendMessage:
    | { readonly __typename: 'ConversationBusyRefusal' | 'PendingApprovalRefusal'; readonly message: string }
    | {
        readonly __typename: 'SendMessageSuccess'
        readonly run: {
          readonly id: string
          readonly status: RunStatus
          readonly error: { readonly message: string } | null
          readonly steps: readonly { readonly toolCalls: readonly ToolCallFields[] }[]
        }
      }
    | null
  readonly deleteAgent: { readonly deletedId: string } | null
}
export type TryToolVariables = { readonly input: SendMessageInput; readonly agentId: string }
export const TryTool =
  'mutation TryTool($input:SendMessageInput!$agentId:ID!){sendMessage(input:$input){__typename ...on SendMessageSuccess{run{id status error{message}steps{toolCalls{...ToolCallFields}}}}...on Refusal{message}}deleteAgent(input:{id:$agentId}){deletedId}}fragment ToolCallFields on ToolCall{id name argumentsText arguments editedArguments status needs approvalsRequired createdAt startedAt finishedAt expiresAt run{id}decision{...DecisionFields}result{status output json content{...AttachmentFields}stdout stderr truncated durationMs}}fragment DecisionFields on ApprovalDecision{toolCallId kind reason note scope editedArguments toolReturn status decidedBy decidedAt}fragment AttachmentFields on ContentPart{kind imageUrl documentUrl file{id name mediaType sizeBytes url}}' as TypedDocument<
    TryToolData,
    TryToolVariables
  >

export type BlocksData = {
  readonly blocks: {
    readonly nodes: readonly {
      readonly id: string
      readonly label: string
      readonly value: string
      readonly description: string | null
      readonly charLimit: number
      readonly version: number
      readonly readOnly: boolean
      readonly updatedAt: string
      readonly agents: readonly { readonly id: string; readonly name: string }[]
    }[]
    readonly pageInfo: { readonly hasNextPage: boolean; readonly endCursor: string | null }
  }
}
export type BlocksVariables = { readonly first: number; readonly after?: string | null | undefined }
export const Blocks =
  'query Blocks($first:Int!$after:String){blocks(first:$first after:$after){nodes{...BlockFields agents{id name}}pageInfo{hasNextPage endCursor}}}fragment BlockFields on Block{id label value description charLimit version readOnly updatedAt}' as TypedDocument<
    BlocksData,
    BlocksVariables
  >

export type CreateBlockData = { readonly createBlock: { readonly block: BlockFields } | null }
export type CreateBlockVariables = { readonly input: CreateBlockInput }
export const CreateBlock =
  'mutation CreateBlock($input:CreateBlockInput!){createBlock(input:$input){block{...BlockFields}}}fragment BlockFields on Block{id label value description charLimit version readOnly updatedAt}' as TypedDocument<
    CreateBlockData,
    CreateBlockVariables
  >

export type UpdateBlockData = {
  readonly updateBlock:
    | { readonly __typename: 'BlockChangedRefusal'; readonly message: string; readonly block: BlockFields }
    | { readonly __typename: 'UpdateBlockSuccess'; readonly block: BlockFields }
    | null
}
export type UpdateBlockVariables = { readonly input: UpdateBlockInput }
export const UpdateBlock =
  'mutation UpdateBlock($input:UpdateBlockInput!){updateBlock(input:$input){__typename ...on UpdateBlockSuccess{block{...BlockFields}}...on BlockChangedRefusal{message block{...BlockFields}}}}fragment BlockFields on Block{id label value description charLimit version readOnly updatedAt}' as TypedDocument<
    UpdateBlockData,
    UpdateBlockVariables
  >

export type DeleteBlockData = { readonly deleteBlock: { readonly deletedId: string } | null }
export type DeleteBlockVariables = { readonly input: DeleteBlockInput }
export const DeleteBlock =
  'mutation DeleteBlock($input:DeleteBlockInput!){deleteBlock(input:$input){deletedId}}' as TypedDocument<
    DeleteBlockData,
    DeleteBlockVariables
  >

export type SettingsData = {
  readonly models: readonly {
    readonly handle: string
    readonly provider: string
    readonly contextWindow: number
    readonly isConfigured: boolean
    readonly capabilities: readonly ModelCapability[]
  }[]
}
export type SettingsVariables = Record<string, never>
export const Settings =
  'query Settings{models{handle provider contextWindow isConfigured capabilities}}' as TypedDocument<
    SettingsData,
    SettingsVariables
  >

export type ApiKeysData = {
  readonly apiKeys: readonly {
    readonly id: string
    readonly name: string
    readonly scopes: readonly ApiScope[]
    readonly createdAt: string
    readonly lastUsedAt: string | null
    readonly revokedAt: string | null
    readonly expiresAt: string | null
  }[]
}
export type ApiKeysVariables = Record<string, never>
export const ApiKeys =
  'query ApiKeys{apiKeys{id name scopes createdAt lastUsedAt revokedAt expiresAt}}' as TypedDocument<
    ApiKeysData,
    ApiKeysVariables
  >

export type WorkersData = {
  readonly workers: readonly {
    readonly id: string
    readonly hostname: string
    readonly version: string
    readonly capacity: number
    readonly activeRunCount: number
    readonly startedAt: string
    readonly lastSeenAt: string
  }[]
}
export type WorkersVariables = Record<string, never>
export const Workers =
  'query Workers{workers{id hostname version capacity activeRunCount startedAt lastSeenAt}}' as TypedDocument<
    WorkersData,
    WorkersVariables
  >

export type CreateApiKeyData = {
  readonly createApiKey: { readonly secret: string; readonly apiKey: { readonly id: string } } | null
}
export type CreateApiKeyVariables = { readonly input: CreateApiKeyInput }
export const CreateApiKey =
  'mutation CreateApiKey($input:CreateApiKeyInput!){createApiKey(input:$input){secret apiKey{id}}}' as TypedDocument<
    CreateApiKeyData,
    CreateApiKeyVariables
  >

export type RevokeApiKeyData = { readonly revokeApiKey: { readonly apiKey: { readonly id: string } } | null }
export type RevokeApiKeyVariables = { readonly input: RevokeApiKeyInput }
export const RevokeApiKey =
  'mutation RevokeApiKey($input:RevokeApiKeyInput!){revokeApiKey(input:$input){apiKey{id}}}' as TypedDocument<
    RevokeApiKeyData,
    RevokeApiKeyVariables
  >

export type AuditLogData = {
  readonly auditLog: {
    readonly totalCount: number
    readonly nodes: readonly {
      readonly id: string
      readonly at: string
      readonly action: string
      readonly subjectId: string
      readonly before: unknown
      readonly after: unknown
      readonly actor: { readonly kind: ActorKind; readonly name: string } | null
    }[]
    readonly pageInfo: { readonly hasNextPage: boolean; readonly endCursor: string | null }
  }
}
export type AuditLogVariables = {
  readonly first: number
  readonly after?: string | null | undefined
  readonly filter?: AuditLogFilter | null | undefined
}
export const AuditLog =
  'query AuditLog($first:Int!$after:String$filter:AuditLogFilter){auditLog(first:$first after:$after filter:$filter){totalCount nodes{id at action subjectId before after actor{kind name}}pageInfo{hasNextPage endCursor}}}' as TypedDocument<
    AuditLogData,
    AuditLogVariables
  >

export type PassageFields = {
  readonly id: string
  readonly text: string
  readonly tags: readonly string[]
  readonly embedded: boolean
  readonly createdAt: string
}

export type ArchiveData = {
  readonly agent: {
    readonly id: string
    readonly name: string
    readonly embeddingModel: string | null
    readonly passages: {
      readonly totalCount: number
      readonly nodes: readonly PassageFields[]
      readonly pageInfo: { readonly hasNextPage: boolean; readonly endCursor: string | null }
    }
  } | null
}
export type ArchiveVariables = {
  readonly id: string
  readonly first: number
  readonly after?: string | null | undefined
}
export const Archive =
  'query Archive($id:ID!$first:Int!$after:String){agent(id:$id){id name embeddingModel passages(first:$first after:$after){totalCount nodes{...PassageFields}pageInfo{hasNextPage endCursor}}}}fragment PassageFields on Passage{id text tags embedded createdAt}' as TypedDocument<
    ArchiveData,
    ArchiveVariables
  >

export type SearchArchiveData = {
  readonly agent: { readonly searchPassages: readonly { readonly passage: PassageFields }[] } | null
}
export type SearchArchiveVariables = { readonly id: string; readonly query: string }
export const SearchArchive =
  'query SearchArchive($id:ID!$query:String!){agent(id:$id){searchPassages(query:$query first:50){passage{...PassageFields}}}}fragment PassageFields on Passage{id text tags embedded createdAt}' as TypedDocument<
    SearchArchiveData,
    SearchArchiveVariables
  >

export type AddPassagesData = { readonly addPassages: { readonly passages: readonly PassageFields[] } | null }
export type AddPassagesVariables = { readonly input: AddPassagesInput }
export const AddPassages =
  'mutation AddPassages($input:AddPassagesInput!){addPassages(input:$input){passages{...PassageFields}}}fragment PassageFields on Passage{id text tags embedded createdAt}' as TypedDocument<
    AddPassagesData,
    AddPassagesVariables
  >

export type DeletePassagesData = { readonly deletePassages: { readonly deletedIds: readonly string[] } | null }
export type DeletePassagesVariables = { readonly input: DeletePassagesInput }
export const DeletePassages =
  'mutation DeletePassages($input:DeletePassagesInput!){deletePassages(input:$input){deletedIds}}' as TypedDocument<
    DeletePassagesData,
    DeletePassagesVariables
  >

export type SchedulesData = {
  readonly schedules: {
    readonly totalCount: number
    readonly nodes: readonly {
      readonly id: string
      readonly name: string
      readonly agent: { readonly id: string; readonly name: string }
      readonly cron: string | null
      readonly timezone: string
      readonly at: string | null
      readonly messages: readonly { readonly text: string }[]
      readonly missed: MissedSchedule
      readonly enabled: boolean
      readonly nextTimes: readonly string[]
      readonly lastError: string | null
      readonly runs: {
        readonly nodes: readonly { readonly id: string; readonly status: RunStatus; readonly createdAt: string }[]
      }
    }[]
    readonly pageInfo: { readonly hasNextPage: boolean; readonly endCursor: string | null }
  }
}
export type SchedulesVariables = { readonly first: number; readonly after?: string | null | undefined }
export const Schedules =
  'query Schedules($first:Int!$after:String){schedules(first:$first after:$after){totalCount nodes{id name agent{id name}cron timezone at messages{text}missed enabled nextTimes lastError runs(first:1){nodes{id status createdAt}}}pageInfo{hasNextPage endCursor}}}' as TypedDocument<
    SchedulesData,
    SchedulesVariables
  >

export type CreateScheduleData = { readonly createSchedule: { readonly schedule: { readonly id: string } } | null }
export type CreateScheduleVariables = { readonly input: CreateScheduleInput }
export const CreateSchedule =
  'mutation CreateSchedule($input:CreateScheduleInput!){createSchedule(input:$input){schedule{id}}}' as TypedDocument<
    CreateScheduleData,
    CreateScheduleVariables
  >

export type UpdateScheduleData = { readonly updateSchedule: { readonly schedule: { readonly id: string } } | null }
export type UpdateScheduleVariables = { readonly input: UpdateScheduleInput }
export const UpdateSchedule =
  'mutation UpdateSchedule($input:UpdateScheduleInput!){updateSchedule(input:$input){schedule{id}}}' as TypedDocument<
    UpdateScheduleData,
    UpdateScheduleVariables
  >

export type DeleteScheduleData = { readonly deleteSchedule: { readonly deletedId: string } | null }
export type DeleteScheduleVariables = { readonly input: DeleteScheduleInput }
export const DeleteSchedule =
  'mutation DeleteSchedule($input:DeleteScheduleInput!){deleteSchedule(input:$input){deletedId}}' as TypedDocument<
    DeleteScheduleData,
    DeleteScheduleVariables
  >

export type TriggerScheduleData = { readonly triggerSchedule: { readonly run: { readonly id: string } } | null }
export type TriggerScheduleVariables = { readonly input: TriggerScheduleInput }
export const TriggerSchedule =
  'mutation TriggerSchedule($input:TriggerScheduleInput!){triggerSchedule(input:$input){run{id}}}' as TypedDocument<
    TriggerScheduleData,
    TriggerScheduleVariables
  >

export type UsageBucketsData = {
  readonly usage: readonly {
    readonly from: string
    readonly agent: { readonly id: string; readonly name: string } | null
    readonly model: string | null
    readonly actor: { readonly id: string; readonly name: string } | null
    readonly runs: number
    readonly failedRuns: number
    readonly runP50Ms: number | null
    readonly runP95Ms: number | null
    readonly usage: { readonly totalTokens: number; readonly costUsd: number | null }
  }[]
}
export type UsageBucketsVariables = { readonly input: UsageInput }
export const UsageBuckets =
  'query UsageBuckets($input:UsageInput!){usage(input:$input){from agent{id name}model actor{id name}runs failedRuns runP50Ms runP95Ms usage{totalTokens costUsd}}}' as TypedDocument<
    UsageBucketsData,
    UsageBucketsVariables
  >

export type BudgetsData = {
  readonly budgets: readonly {
    readonly id: string
    readonly agent: { readonly id: string; readonly name: string } | null
    readonly actorId: string | null
    readonly period: BudgetPeriod
    readonly limitUsd: number | null
    readonly limitTokens: number | null
    readonly spentUsd: number
    readonly spentTokens: number
    readonly resetsAt: string | null
    readonly whenReached: WhenBudgetReached
    readonly unpricedModels: readonly string[]
  }[]
}
export type BudgetsVariables = Record<string, never>
export const Budgets =
  'query Budgets{budgets{id agent{id name}actorId period limitUsd limitTokens spentUsd spentTokens resetsAt whenReached unpricedModels}}' as TypedDocument<
    BudgetsData,
    BudgetsVariables
  >

export type CreateBudgetData = { readonly createBudget: { readonly budget: { readonly id: string } } | null }
export type CreateBudgetVariables = { readonly input: CreateBudgetInput }
export const CreateBudget =
  'mutation CreateBudget($input:CreateBudgetInput!){createBudget(input:$input){budget{id}}}' as TypedDocument<
    CreateBudgetData,
    CreateBudgetVariables
  >

export type UpdateBudgetData = { readonly updateBudget: { readonly budget: { readonly id: string } } | null }
export type UpdateBudgetVariables = { readonly input: UpdateBudgetInput }
export const UpdateBudget =
  'mutation UpdateBudget($input:UpdateBudgetInput!){updateBudget(input:$input){budget{id}}}' as TypedDocument<
    UpdateBudgetData,
    UpdateBudgetVariables
  >

export type DeleteBudgetData = { readonly deleteBudget: { readonly deletedId: string } | null }
export type DeleteBudgetVariables = { readonly input: DeleteBudgetInput }
export const DeleteBudget =
  'mutation DeleteBudget($input:DeleteBudgetInput!){deleteBudget(input:$input){deletedId}}' as TypedDocument<
    DeleteBudgetData,
    DeleteBudgetVariables
  >

export type BudgetWaitsData = {
  readonly runs: {
    readonly totalCount: number
    readonly nodes: readonly {
      readonly id: string
      readonly updatedAt: string
      readonly agent: { readonly id: string; readonly name: string }
      readonly conversation: { readonly id: string; readonly title: string | null }
      readonly usage: { readonly totalTokens: number; readonly costUsd: number | null }
    }[]
  }
}
export type BudgetWaitsVariables = Record<string, never>
export const BudgetWaits =
  'query BudgetWaits{runs(first:50 filter:{waitingFor:[BUDGET]}){totalCount nodes{id updatedAt agent{id name}conversation{id title}usage{totalTokens costUsd}}}}' as TypedDocument<
    BudgetWaitsData,
    BudgetWaitsVariables
  >

export type ContinueRunData = { readonly continueRun: {} | { readonly message: string } | null }
export type ContinueRunVariables = { readonly input: ContinueRunInput }
export const ContinueRun =
  'mutation ContinueRun($input:ContinueRunInput!){continueRun(input:$input){...on Refusal{message}}}' as TypedDocument<
    ContinueRunData,
    ContinueRunVariables
  >

export type WebhookRow = {
  readonly id: string
  readonly url: string
  readonly events: readonly WebhookEvent[]
  readonly agentIds: readonly string[] | null
  readonly enabled: boolean
  readonly headerNames: readonly string[]
  readonly lastError: string | null
}

export type WebhooksData = {
  readonly webhooks: {
    readonly nodes: readonly WebhookRow[]
    readonly pageInfo: { readonly hasNextPage: boolean; readonly endCursor: string | null }
  }
}
export type WebhooksVariables = { readonly first: number; readonly after?: string | null | undefined }
export const Webhooks =
  'query Webhooks($first:Int!$after:String){webhooks(first:$first after:$after){nodes{...WebhookRow}pageInfo{hasNextPage endCursor}}}fragment WebhookRow on Webhook{id url events agentIds enabled headerNames lastError}' as TypedDocument<
    WebhooksData,
    WebhooksVariables
  >

export type DeliveryRow = {
  readonly id: string
  readonly event: WebhookEvent
  readonly status: WebhookDeliveryStatus
  readonly attempts: number
  readonly nextAttemptAt: string | null
  readonly responseStatus: number | null
  readonly error: string | null
  readonly payload: unknown
  readonly createdAt: string
  readonly deliveredAt: string | null
}

export type DeliveriesData = {
  readonly webhook: {
    readonly id: string
    readonly url: string
    readonly events: readonly WebhookEvent[]
    readonly agentIds: readonly string[] | null
    readonly enabled: boolean
    readonly headerNames: readonly string[]
    readonly lastError: string | null
    readonly deliveries: {
      readonly nodes: readonly DeliveryRow[]
      readonly pageInfo: { readonly hasNextPage: boolean; readonly endCursor: string | null }
    }
  } | null
}
export type DeliveriesVariables = {
  readonly id: string
  readonly first: number
  readonly after?: string | null | undefined
  readonly status?: WebhookDeliveryStatus | null | undefined
}
export const Deliveries =
  'query Deliveries($id:ID!$first:Int!$after:String$status:WebhookDeliveryStatus){webhook(id:$id){...WebhookRow deliveries(first:$first after:$after status:$status){nodes{...DeliveryRow}pageInfo{hasNextPage endCursor}}}}fragment WebhookRow on Webhook{id url events agentIds enabled headerNames lastError}fragment DeliveryRow on WebhookDelivery{id event status attempts nextAttemptAt responseStatus error payload createdAt deliveredAt}' as TypedDocument<
    DeliveriesData,
    DeliveriesVariables
  >

export type CreateWebhookData = { readonly createWebhook: { readonly secret: string | null } | null }
export type CreateWebhookVariables = { readonly input: CreateWebhookInput }
export const CreateWebhook =
  'mutation CreateWebhook($input:CreateWebhookInput!){createWebhook(input:$input){secret}}' as TypedDocument<
    CreateWebhookData,
    CreateWebhookVariables
  >

export type UpdateWebhookData = { readonly updateWebhook: { readonly webhook: { readonly id: string } } | null }
export type UpdateWebhookVariables = { readonly input: UpdateWebhookInput }
export const UpdateWebhook =
  'mutation UpdateWebhook($input:UpdateWebhookInput!){updateWebhook(input:$input){webhook{id}}}' as TypedDocument<
    UpdateWebhookData,
    UpdateWebhookVariables
  >

export type RotateWebhookSecretData = { readonly rotateWebhookSecret: { readonly secret: string } | null }
export type RotateWebhookSecretVariables = { readonly input: RotateWebhookSecretInput }
export const RotateWebhookSecret =
  'mutation RotateWebhookSecret($input:RotateWebhookSecretInput!){rotateWebhookSecret(input:$input){secret}}' as TypedDocument<
    RotateWebhookSecretData,
    RotateWebhookSecretVariables
  >

export type DeleteWebhookData = { readonly deleteWebhook: { readonly deletedId: string } | null }
export type DeleteWebhookVariables = { readonly input: DeleteWebhookInput }
export const DeleteWebhook =
  'mutation DeleteWebhook($input:DeleteWebhookInput!){deleteWebhook(input:$input){deletedId}}' as TypedDocument<
    DeleteWebhookData,
    DeleteWebhookVariables
  >

export type TestWebhookData = { readonly testWebhook: { readonly delivery: DeliveryRow } | null }
export type TestWebhookVariables = { readonly input: TestWebhookInput }
export const TestWebhook =
  'mutation TestWebhook($input:TestWebhookInput!){testWebhook(input:$input){delivery{...DeliveryRow}}}fragment DeliveryRow on WebhookDelivery{id event status attempts nextAttemptAt responseStatus error payload createdAt deliveredAt}' as TypedDocument<
    TestWebhookData,
    TestWebhookVariables
  >

export type ResendDeliveryData = {
  readonly resendWebhookDelivery: { readonly delivery: { readonly id: string } } | null
}
export type ResendDeliveryVariables = { readonly input: ResendWebhookDeliveryInput }
export const ResendDelivery =
  'mutation ResendDelivery($input:ResendWebhookDeliveryInput!){resendWebhookDelivery(input:$input){delivery{id}}}' as TypedDocument<
    ResendDeliveryData,
    ResendDeliveryVariables
  >
