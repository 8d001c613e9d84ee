import { sql } from 'kysely'

import type { BlockWrite } from '../domain/memory/block.ts'
import type { Checkpoint, PositionedMessage } from '../domain/runs/draft.ts'
import type { Step } from '../domain/runs/step.ts'
import type { ToolCall } from '../domain/tools/tool-call.ts'
import { storedResult } from './tools/tool-calls.ts'
import { storedCost } from './runs/usage.ts'
import { givenRows, listColumns, listGiven, setColumns } from './record-rows.ts'

/** The parts of a checkpoint's statement that write rows. Each writes only if `run`, the update of the run, did. */

// ── blocks ──

const blockColumns = { id: 'uuid', version: 'integer', value: 'text' }

/** Waits for anyone who is changing the block, and then finds it changed. */
export function lockUnchangedBlocks({ blocks, before }: Checkpoint) {
  return sql`
    select blocks.id from blocks
      join ${givenRows(blockColumns, blockRows(blocks))} on blocks.id = given.id and blocks.version = given.version
    where blocks.tenant_id = ${before.tenantId} and not blocks.read_only and exists (select from locked_run)
    for no key update of blocks`
}

export function changeBlocks(blocks: readonly BlockWrite[], at: Date) {
  return sql`
    update blocks set value = given.value, version = blocks.version + 1, updated_at = ${at}
    from run, ${givenRows(blockColumns, blockRows(blocks))} where blocks.id = given.id`
}

function blockRows(blocks: readonly BlockWrite[]) {
  return blocks.map((write) => ({ id: write.blockId, version: write.expectedVersion, value: write.value }))
}

// ── messages ──

const messageColumns = {
  id: 'uuid',
  position: 'integer',
  step_index: 'integer',
  type: 'text',
  client_id: 'text',
  content: 'jsonb',
}

export function addMessages(messages: readonly PositionedMessage[], at: Date) {
  const rows = messages.map(({ message, position }) => ({
    id: message.id,
    position,
    step_index: message.stepIndex,
    type: message.type,
    client_id: message.clientId,
    content: message.content,
  }))
  return sql`
    insert into messages (conversation_id, run_hold, created_at, ${listColumns(messageColumns)})
    select run.conversation_id, run.hold, ${at}, ${listGiven(messageColumns)}
    from run, ${givenRows(messageColumns, rows)}`
}

// ── steps ──

const changingStepColumns = {
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
const stepColumns = { index: 'integer', created_at: 'timestamptz', ...changingStepColumns }

export function addSteps(steps: readonly Step[]) {
  return sql`
    insert into steps (run_id, ${listColumns(stepColumns)})
    select run.id, ${listGiven(stepColumns)} from run, ${givenRows(stepColumns, steps.map(stepRow))}`
}

export function changeSteps(steps: readonly Step[]) {
  return sql`
    update steps set ${setColumns(changingStepColumns)} from run, ${givenRows(stepColumns, steps.map(stepRow))}
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

const changingCallColumns = {
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
const callColumns = {
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
  ...changingCallColumns,
}

export function addCalls(calls: readonly ToolCall[]) {
  const rows = calls.map((call) => ({
    id: call.id,
    tenant_id: call.tenantId,
    step_index: call.stepIndex,
    ordinal: call.ordinal,
    provider_call_id: call.providerCallId,
    name: call.name,
    arguments_text: call.argumentsText,
    arguments: call.arguments,
    needs: call.needs,
    created_at: call.createdAt,
    expires_at: call.expiresAt,
    ...changingCallRow(call),
  }))
  return sql`
    insert into tool_calls (run_id, ${listColumns(callColumns)})
    select run.id, ${listGiven(callColumns)} from run, ${givenRows(callColumns, rows)}`
}

const changedCallColumns = { id: 'uuid', ...changingCallColumns }

export function changeCalls(calls: readonly ToolCall[]) {
  const rows = calls.map((call) => ({ id: call.id, ...changingCallRow(call) }))
  return sql`
    update tool_calls set ${setColumns(changingCallColumns)} from run, ${givenRows(changedCallColumns, rows)}
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
