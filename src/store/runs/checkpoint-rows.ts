import { sql } from 'kysely'

import type { Checkpoint } from '../../domain/runs/draft.ts'
import { hasEnded } from '../../domain/runs/run.ts'
import type { Step } from '../../domain/runs/step.ts'
import type { ToolCall } from '../../domain/tools/tool-call.ts'
import { packEntries } from './log-entries.ts'
import { givenRows, recordColumns, type RecordColumns } from './record-rows.ts'
import { storedArguments, storedResult } from '../tools/tool-calls.ts'
import { storedCost } from './usage.ts'

/** A checkpoint to write. */
export interface CheckpointWrite {
  readonly checkpoint: Checkpoint
  /**
   * Whether to read the agent's settings too, as they were when the statement started: without the blocks that the
   * checkpoint itself changes.
   */
  readonly withConfiguration: boolean
  /** The signature of the settings that the writer has. */
  readonly knownSignature?: string | undefined
}

/**
 * The parts of the statement that stores checkpoints. `given_runs` has a row for each checkpoint, and `run` those whose
 * run was changed: everything else is written only for them.
 */

// ── runs ──

/** What the run must be, and what the other parts of the statement need. */
const fenceColumns = {
  id: 'uuid',
  before_seq: 'integer',
  before_status: 'text',
  before_lease: 'uuid',
  before_cancelled: 'boolean',
  at: 'timestamptz',
  entries: 'text',
  ends: 'boolean',
  blocks: 'integer',
  context_from: 'integer',
  summary_position: 'integer',
  excludes: 'boolean',
  memory_conversation_id: 'uuid',
  with_configuration: 'boolean',
  known_signature: 'text',
}

/**
 * Every column that can change, whether or not it did: the statement's text stays the same, and the row is rewritten
 * anyway.
 */
const runColumns = {
  status: 'text',
  stop_reason: 'text',
  has_output: 'boolean',
  error: 'jsonb',
  next_seq: 'integer',
  first_position: 'integer',
  next_position: 'integer',
  attempts: 'integer',
  deaths: 'integer',
  lease: 'uuid',
  worker_id: 'uuid',
  cancel_requested_at: 'timestamptz',
  updated_at: 'timestamptz',
  started_at: 'timestamptz',
  finished_at: 'timestamptz',
  steps: 'integer',
  input_tokens: 'integer',
  output_tokens: 'integer',
  cached_input_tokens: 'integer',
  reasoning_tokens: 'integer',
  cost_usd: 'double precision',
  follow_ups: 'jsonb',
  approved_tools: 'text[]',
  reading: 'jsonb',
}

const givenRunColumns = recordColumns({ ...fenceColumns, ...runColumns })

export function givenRuns(writes: readonly CheckpointWrite[]) {
  return sql`select * from ${givenRows(givenRunColumns.definition, writes.map(runRow))}`
}

function runRow({ checkpoint, withConfiguration, knownSignature }: CheckpointWrite) {
  const { before, after, at, context } = checkpoint
  return {
    id: before.id,
    before_seq: before.nextSeq,
    before_status: before.status,
    before_lease: before.lease,
    before_cancelled: before.cancelRequestedAt !== null,
    at,
    entries: packEntries(checkpoint.entries),
    ends: hasEnded(after.status),
    blocks: checkpoint.blocks.length,
    context_from: context?.contextFrom,
    summary_position: context?.summaryPosition,
    excludes: checkpoint.excluded.length > 0,
    memory_conversation_id: after.memoryConversationId,
    with_configuration: withConfiguration,
    known_signature: knownSignature,
    status: after.status,
    stop_reason: after.stopReason,
    has_output: after.hasOutput,
    error: after.error,
    next_seq: after.nextSeq,
    first_position: after.firstPosition,
    next_position: after.nextPosition,
    attempts: after.attempts,
    deaths: after.deaths,
    lease: after.lease,
    worker_id: after.workerId,
    cancel_requested_at: after.cancelRequestedAt,
    updated_at: at,
    started_at: after.startedAt,
    finished_at: after.finishedAt,
    steps: after.steps,
    input_tokens: after.usage.inputTokens,
    output_tokens: after.usage.outputTokens,
    cached_input_tokens: after.usage.cachedInputTokens,
    reasoning_tokens: after.usage.reasoningTokens,
    cost_usd: storedCost(after.usage),
    follow_ups: after.followUps,
    approved_tools: after.approvedTools,
    reading: after.reading,
  }
}

export const changeRuns = recordColumns(runColumns).changes

/** The fence: the run is as the writer knows it, and has the writer's lease. */
export const isAsFound = sql`runs.id = given.id and runs.next_seq = given.before_seq
  and runs.status = given.before_status and runs.lease is not distinct from given.before_lease
  and (runs.cancel_requested_at is not null) = given.before_cancelled`

export const addLog = sql`
  insert into run_log (run_id, first_seq, at, entries)
  select run.id, run.before_seq, run.at, run.entries from run where run.entries <> '[]'`

// ── blocks ──

const blockColumns = recordColumns({ tenant_id: 'uuid', id: 'uuid', version: 'integer', value: 'text' })

/** Waits for anyone who is changing the block, and then finds it changed. */
export function lockUnchangedBlocks(checkpoints: readonly Checkpoint[]) {
  return sql`
    select given.run_id from blocks
      join ${rowsOfRuns(blockColumns, blockRows(checkpoints))} on blocks.id = given.id and blocks.version = given.version
      join locked_runs on locked_runs.id = given.run_id
    where blocks.tenant_id = given.tenant_id and not blocks.read_only
    for no key update of blocks`
}

export function changeBlocks(checkpoints: readonly Checkpoint[]) {
  return sql`
    update blocks set value = given.value, version = blocks.version + 1, updated_at = run.at
    from ${ofRun(blockColumns, blockRows(checkpoints))}
    where blocks.id = given.id`
}

function blockRows(checkpoints: readonly Checkpoint[]) {
  return rowsOf(checkpoints, ({ blocks, before }) =>
    blocks.map((write) => ({
      tenant_id: before.tenantId,
      id: write.blockId,
      version: write.expectedVersion,
      value: write.value,
    })),
  )
}

// ── messages ──

const messageColumns = recordColumns({
  id: 'uuid',
  position: 'integer',
  step_index: 'integer',
  type: 'text',
  client_id: 'text',
  content: 'jsonb',
})

export function addMessages(checkpoints: readonly Checkpoint[]) {
  const rows = rowsOf(checkpoints, ({ messages }) =>
    messages.map(({ message, position }) => ({
      id: message.id,
      position,
      step_index: message.stepIndex,
      type: message.type,
      client_id: message.clientId,
      content: message.content,
    })),
  )
  return sql`
    insert into messages (conversation_id, run_hold, created_at, ${messageColumns.names})
    select run.conversation_id, run.hold, run.at, ${messageColumns.given} from ${ofRun(messageColumns, rows)}`
}

const excludedColumns = recordColumns({ position: 'integer' })

export function excludeMessages(checkpoints: readonly Checkpoint[]) {
  const rows = rowsOf(checkpoints, ({ excluded }) => excluded.map((position) => ({ position })))
  return sql`
    update messages set excluded = true from ${ofRun(excludedColumns, rows)}
    where messages.conversation_id = run.conversation_id and messages.position = given.position`
}

// ── steps ──

const changingStepTypes = {
  attempt: 'integer',
  model: 'text',
  failed_models: 'jsonb',
  status: 'text',
  stop_reason: 'text',
  input_tokens: 'integer',
  output_tokens: 'integer',
  cached_input_tokens: 'integer',
  reasoning_tokens: 'integer',
  cost_usd: 'double precision',
  time_to_first_token_ms: 'real',
  model_ms: 'real',
  tools_ms: 'real',
  finished_at: 'timestamptz',
  error: 'jsonb',
}
const changingStepColumns = recordColumns(changingStepTypes)
const stepTypes = { index: 'integer', created_at: 'timestamptz', ...changingStepTypes }
const stepColumns = recordColumns(stepTypes)
const newStepColumns = recordColumns({ ...stepTypes, model_before: 'text' })

/** The filter by model finds a run by its first step with the model, so the index needs no step that repeats it. */
export function addSteps(checkpoints: readonly Checkpoint[]) {
  const rows = rowsOf(checkpoints, ({ newSteps, changedSteps }) =>
    newSteps.map((step) => ({
      ...stepRow(step),
      model_before: changedSteps.find(({ index }) => index === step.index - 1)?.model,
    })),
  )
  return sql`
    insert into steps (run_id, repeats_model, ${stepColumns.names})
    select run.id, coalesce(given.model = coalesce(given.model_before,
        (select model from steps where steps.run_id = run.id and steps.index = given.index - 1)), false),
      ${stepColumns.given} from ${ofRun(newStepColumns, rows)}`
}

export function changeSteps(checkpoints: readonly Checkpoint[]) {
  const rows = rowsOf(checkpoints, ({ changedSteps }) => changedSteps.map(stepRow))
  return sql`
    update steps set ${changingStepColumns.changes}, repeats_model = steps.repeats_model and steps.model = given.model
    from ${ofRun(stepColumns, rows)}
    where steps.run_id = run.id and steps.index = given.index`
}

function stepRow(step: Step) {
  return {
    index: step.index,
    created_at: step.createdAt,
    attempt: step.attempt,
    model: step.model,
    failed_models: step.failedModels.length > 0 ? step.failedModels : null,
    status: step.status,
    stop_reason: step.stopReason,
    input_tokens: step.usage.inputTokens,
    output_tokens: step.usage.outputTokens,
    cached_input_tokens: step.usage.cachedInputTokens,
    reasoning_tokens: step.usage.reasoningTokens,
    cost_usd: storedCost(step.usage),
    time_to_first_token_ms: step.timeToFirstTokenMs,
    model_ms: step.modelMs,
    tools_ms: step.toolsMs,
    finished_at: step.finishedAt,
    error: step.error,
  }
}

// ── tool calls ──

const changingCallTypes = {
  status: 'text',
  started_at: 'timestamptz',
  finished_at: 'timestamptz',
  edited_arguments: 'json',
  approval: 'jsonb',
  claim: 'jsonb',
  decision: 'jsonb',
  decided_by: 'text',
  decided_at: 'timestamptz',
  result: 'jsonb',
}
const changingCallColumns = recordColumns(changingCallTypes)
const callColumns = recordColumns({
  id: 'uuid',
  tenant_id: 'uuid',
  step_index: 'integer',
  ordinal: 'integer',
  provider_call_id: 'text',
  name: 'text',
  arguments_text: 'text',
  arguments: 'json',
  needs: 'text',
  created_at: 'timestamptz',
  expires_at: 'timestamptz',
  ...changingCallTypes,
})

export function addCalls(checkpoints: readonly Checkpoint[]) {
  const rows = rowsOf(checkpoints, ({ newCalls }) =>
    newCalls.map((call) => ({
      id: call.id,
      tenant_id: call.tenantId,
      step_index: call.stepIndex,
      ordinal: call.ordinal,
      provider_call_id: call.providerCallId,
      name: call.name,
      arguments_text: call.argumentsText,
      arguments: storedArguments(call),
      needs: call.needs,
      created_at: call.createdAt,
      expires_at: call.expiresAt,
      ...changingCallRow(call),
    })),
  )
  return sql`
    insert into tool_calls (run_id, ${callColumns.names})
    select run.id, ${callColumns.given} from ${ofRun(callColumns, rows)}`
}

const changedCallColumns = recordColumns({ id: 'uuid', ...changingCallTypes })

export function changeCalls(checkpoints: readonly Checkpoint[]) {
  const rows = rowsOf(checkpoints, ({ changedCalls }) =>
    changedCalls.map((call) => ({ id: call.id, ...changingCallRow(call) })),
  )
  return sql`
    update tool_calls set ${changingCallColumns.changes} from ${ofRun(changedCallColumns, rows)}
    where tool_calls.id = given.id and tool_calls.run_id = run.id`
}

function changingCallRow(call: ToolCall) {
  return {
    status: call.status,
    started_at: call.startedAt,
    finished_at: call.finishedAt,
    edited_arguments: call.editedArguments,
    approval: call.approval,
    claim: call.claim,
    decision: call.decision,
    decided_by: call.decision?.actor?.id ?? null,
    decided_at: call.decidedAt,
    result: call.result && storedResult(call.result),
  }
}

function rowsOf<Row extends object>(
  checkpoints: readonly Checkpoint[],
  of: (checkpoint: Checkpoint) => readonly Row[],
) {
  return checkpoints.flatMap((checkpoint) => of(checkpoint).map((row) => ({ run_id: checkpoint.before.id, ...row })))
}

/** `run` with its rows as `given`. */
function ofRun(columns: RecordColumns, rows: readonly object[]) {
  return sql`run join ${rowsOfRuns(columns, rows)} on given.run_id = run.id`
}

function rowsOfRuns({ definition }: RecordColumns, rows: readonly object[]) {
  return givenRows(sql`run_id uuid, ${definition}`, rows)
}
