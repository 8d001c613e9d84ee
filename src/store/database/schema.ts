import type { ColumnType, Generated, GeneratedAlways, JSONColumnType, Kysely, Selectable, Transaction } from 'kysely'

import type { Actor } from '../../domain/access/actor.ts'
import type { CompactionSettings } from '../../domain/agents/agent.ts'
import type { ModelSettings } from '../../domain/models/model-settings.ts'
import type { CodeSettings } from '../../domain/tools/code-tools.ts'
import type { ModelFailure } from '../../domain/models/fallback.ts'
import type { MessageType, GivenMessage } from '../../domain/conversations/message.ts'
import type { Reading } from '../../domain/runs/run-state.ts'
import type { Resumed, RunError, RunKind, RunRequest, StopReason, StoredRunStatus } from '../../domain/runs/run.ts'
import type { StepStatus } from '../../domain/runs/step.ts'
import type {
  ApprovalTerms,
  Decision,
  ToolCallClaim,
  ToolCallNeed,
  ToolCallStatus,
  ToolResult,
} from '../../domain/tools/tool-call.ts'
import type { MissedSchedule } from '../../domain/schedules/schedule.ts'
import type { ToolRule } from '../../domain/tools/tool-rules.ts'
import type { SealedHeaders, ToolKind } from '../../domain/tools/tool.ts'
import type { DeliveryStatus, EventPayload, WebhookEvent } from '../../domain/webhooks/webhook.ts'
import type { ApiScope } from '../../domain/access/viewer.ts'
import type { BudgetPeriod, WhenBudgetReached } from '../../domain/usage/budget.ts'
import type { Json, JsonObject } from '../../util/json.ts'

/**
 * The shape of the database, as the migrations create it. jsonb is written as text (`JSON.stringify`), because pg would
 * turn an array into a Postgres array, and is read parsed.
 */
type Jsonb<T> = ColumnType<T, string, string>
type NullableJsonb<T> = ColumnType<T | null, string | null, string | null>

/** The database, or a transaction in it. */
export type Db = Kysely<Database>
/** A transaction, for what must be done together with other statements or not at all. */
export type Trx = Transaction<Database>
/** A row of a table as it is read. */
export type Row<Table extends keyof Database> = Selectable<Database[Table]>

export interface Database {
  tenants: {
    id: string
    name: string
    created_at: Date
    signing_secret: Generated<string>
    token_secret: Generated<string>
  }
  api_keys: {
    id: string
    tenant_id: string
    name: string
    hash: Buffer
    scopes: ApiScope[]
    created_by: NullableJsonb<Actor>
    created_at: Date
    last_used_at: Date | null
    expires_at: Date | null
    revoked_at: Date | null
  }
  audit_entries: {
    id: string
    tenant_id: string
    at: Date
    actor: NullableJsonb<Actor>
    action: string
    subject_id: string
    before: NullableJsonb<JsonObject>
    after: NullableJsonb<JsonObject>
  }
  agents: {
    id: string
    tenant_id: string
    key: string | null
    name: string
    description: string | null
    instructions: string
    model: string
    model_settings: Jsonb<ModelSettings>
    tool_rules: Jsonb<ToolRule[]>
    compaction: Jsonb<CompactionSettings>
    tags: string[]
    metadata: Jsonb<JsonObject>
    timezone: string
    keep_requests: Generated<boolean>
    tell_times: Generated<boolean>
    embedding_model: string | null
    created_at: Date
    updated_at: Date
    deleted_at: Generated<Date | null>
  }
  blocks: {
    id: string
    tenant_id: string
    label: string
    value: string
    description: string | null
    char_limit: number
    version: Generated<number>
    read_only: boolean
    conversation_id: string | null
    created_at: Date
    updated_at: Date
  }
  passages: {
    id: string
    tenant_id: string
    agent_id: string
    text: string
    tags: string[]
    metadata: Jsonb<JsonObject>
    created_at: Date
  }
  agent_blocks: { agent_id: string; block_id: string; ordinal: GeneratedAlways<number> }
  mcp_servers: {
    id: string
    tenant_id: string
    name: string
    url: string
    headers: Jsonb<Record<string, string>>
    last_error: string | null
    requires_approval: Generated<boolean>
    configured: Generated<boolean>
    created_at: Date
  }
  tools: {
    id: string
    tenant_id: string
    name: string
    description: string
    kind: ToolKind
    parameters: Jsonb<JsonObject>
    requires_approval: boolean
    approval_condition: NullableJsonb<Json>
    approvals_required: Generated<number>
    approval_excludes_sender: Generated<boolean>
    approval_timeout_ms: number | null
    parallel: boolean
    idempotent: boolean
    return_char_limit: number
    timeout_ms: number
    tags: string[]
    source: string | null
    url: string | null
    headers: NullableJsonb<Record<string, string>>
    mcp_server_id: string | null
    mcp_tool_name: string | null
    is_available: Generated<boolean>
    code_settings: NullableJsonb<CodeSettings>
    created_at: Date
    updated_at: Date
  }
  agent_tools: {
    id: string
    agent_id: string
    tool_id: string
    approval_override: boolean | null
    ordinal: GeneratedAlways<number>
  }
  sleeptime_groups: {
    id: string
    tenant_id: string
    agent_id: string
    frequency: number
    turns: Generated<number>
    created_at: Date
  }
  sleeptime_group_agents: {
    group_id: string
    agent_id: string
    made_for_group: boolean
    ordinal: GeneratedAlways<number>
  }
  sleeptime_progress: { agent_id: string; conversation_id: string; read_to: number }
  conversations: {
    id: string
    tenant_id: string
    agent_id: string
    is_main: boolean
    title: string | null
    metadata: Jsonb<JsonObject>
    created_at: Date
    updated_at: Date
    archived_at: Date | null
    deleted_at: Generated<Date | null>
    next_run_number: Generated<number>
    next_position: Generated<number>
    next_hold: Generated<number>
    context_from: Generated<number>
    summary_position: number | null
    context_version: Generated<number>
    off_branch: Generated<string>
    active_run_id: string | null
    for_conversation: string | null
  }
  messages: {
    id: string
    conversation_id: string
    position: number
    run_hold: number
    step_index: number | null
    type: MessageType
    excluded: Generated<boolean>
    created_at: Date
    client_id: string | null
    content: Jsonb<JsonObject>
  }
  runs: {
    id: string
    tenant_id: string
    agent_id: string
    conversation_id: string
    number: number
    hold: number | null
    previous_hold: number | null
    left_branch: number | null
    resumed: NullableJsonb<Resumed>
    kind: RunKind
    parent_id: string | null
    sent_by: NullableJsonb<Actor>
    urgent: boolean
    max_steps: number
    max_total_tokens: number | null
    created_at: Date
    request: Jsonb<RunRequest>
    metadata: Jsonb<JsonObject>
    status: StoredRunStatus
    ended: GeneratedAlways<boolean>
    outcome: GeneratedAlways<StopReason | 'ACTIVE'>
    stop_reason: StopReason | null
    has_output: Generated<boolean>
    next_seq: number
    first_position: number | null
    next_position: number | null
    attempts: Generated<number>
    deaths: Generated<number>
    lease: string | null
    worker_id: string | null
    claimable: GeneratedAlways<boolean>
    cancel_requested_at: Date | null
    cancelled_by: NullableJsonb<Actor>
    updated_at: Date
    started_at: Date | null
    finished_at: Date | null
    steps: Generated<number>
    input_tokens: Generated<number>
    output_tokens: Generated<number>
    cached_input_tokens: Generated<number>
    reasoning_tokens: Generated<number>
    cost_usd: number | null
    follow_ups: JSONColumnType<GivenMessage[], string | undefined>
    approved_tools: Generated<string[]>
    reading: NullableJsonb<Reading>
    error: NullableJsonb<RunError>
    traceparent: string | null
    schedule_id: string | null
    allowed_usd: Generated<number | null>
    allowed_tokens: Generated<number | null>
  }
  steps: {
    run_id: string
    index: number
    attempt: number
    model: string
    repeats_model: Generated<boolean>
    failed_models: NullableJsonb<ModelFailure[]>
    created_at: Date
    status: StepStatus
    stop_reason: StopReason | null
    input_tokens: Generated<number>
    output_tokens: Generated<number>
    cached_input_tokens: Generated<number>
    reasoning_tokens: Generated<number>
    cost_usd: number | null
    time_to_first_token_ms: number | null
    model_ms: number | null
    tools_ms: number | null
    finished_at: Date | null
    error: NullableJsonb<RunError>
  }
  step_exchanges: {
    run_id: string
    step_index: number
    request: ColumnType<Json, string | null, string | null>
    response: ColumnType<Json, string | null, string | null>
    created_at: Date
  }
  tool_calls: {
    id: string
    tenant_id: string
    run_id: string
    step_index: number
    ordinal: number
    provider_call_id: string
    name: string
    arguments_text: string
    arguments: NullableJsonb<Json>
    needs: ToolCallNeed
    created_at: Date
    expires_at: Date | null
    status: ToolCallStatus
    exception: GeneratedAlways<ToolCallStatus | null>
    started_at: Date | null
    finished_at: Date | null
    edited_arguments: NullableJsonb<Json>
    approval: NullableJsonb<ApprovalTerms>
    claim: NullableJsonb<ToolCallClaim>
    decision: NullableJsonb<Decision>
    decided_by: string | null
    decided_at: Date | null
    result: NullableJsonb<Pick<ToolResult, 'output'> & Partial<ToolResult>>
  }
  file_contents: { tenant_id: string; hash: Buffer; bytes: Buffer }
  files: {
    conversation_id: string
    key: string
    tenant_id: string
    hash: Buffer
    name: string | null
    media_type: string
    size_bytes: number
    tokens: number
    created_at: Date
    expires_at: Date | null
  }
  usage_hours: { tenant_id: string; hour: Date; agent_id: string; durations: number[] }
  uncounted_runs: { run_id: string }
  budgets: {
    id: string
    tenant_id: string
    agent_id: string | null
    actor_id: string | null
    period: BudgetPeriod
    limit_usd: number | null
    limit_tokens: number | null
    when_reached: WhenBudgetReached
    created_at: Date
    period_start: Date
    counted_tokens: number
    counted_usd: number
  }
  schedules: {
    id: string
    tenant_id: string
    agent_id: string
    conversation_id: string | null
    name: string
    cron: string | null
    at: Date | null
    timezone: string
    messages: Jsonb<readonly GivenMessage[]>
    missed: MissedSchedule
    enabled: boolean
    next_due: Date | null
    watched: Generated<boolean>
    last_error: string | null
    created_by: Jsonb<Actor>
    created_at: Date
  }
  webhooks: {
    id: string
    tenant_id: string
    url: string
    events: WebhookEvent[]
    agent_ids: string[] | null
    enabled: boolean
    headers: Jsonb<SealedHeaders>
    secret: string
    old_secret: string | null
    old_secret_until: Date | null
    last_error: string | null
    created_by: Jsonb<Actor>
    created_at: Date
  }
  webhook_deliveries: {
    id: Generated<string>
    seq: GeneratedAlways<string>
    tenant_id: string
    webhook_id: string
    conversation_id: string | null
    event: WebhookEvent
    payload: Jsonb<EventPayload>
    created_at: Date
    status: Generated<DeliveryStatus>
    attempts: Generated<number>
    next_attempt_at: Date | null
    worker_id: string | null
    public_url: string | null
    response_status: number | null
    error: string | null
    delivered_at: Date | null
  }
  run_log: { run_id: string; first_seq: number; at: Date; entries: string }
  idempotency_keys: {
    tenant_id: string
    actor_kind: string
    actor_id: string
    mutation: string
    key: string
    input_hash: string | null
    object_id: string
    object_ids: string[] | null
    created_at: Date
  }
  workers: {
    id: string
    hostname: string
    version: string
    capacity: number
    providers: string[]
    tools: string[]
    started_at: Date
    heartbeat_at: Date
  }
}
