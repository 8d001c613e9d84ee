import { sql, type Kysely, type Transaction } from 'kysely'

import type { BlockWrite } from '../domain/block.ts'
import type { Checkpoint, ContextBounds, PositionedMessage } from '../domain/draft.ts'
import type { DrivenRun } from '../domain/run-state.ts'
import { hasEnded } from '../domain/run.ts'
import type { Step } from '../domain/step.ts'
import type { ToolCall } from '../domain/tool-call.ts'
import { packEntries } from './log-entries.ts'
import { addRunJob } from './run-jobs.ts'
import type { Database } from './schema.ts'

/**
 * Stores a checkpoint in one statement, or nothing of it: false means that the run is no longer as the checkpoint
 * found it (another worker holds it, or a cancel came in between) or a block is not as the memory tool that writes it
 * found it, and then nothing was written.
 *
 * What decides is all on the run's row, which the statement locks, so it needs no transaction of its own, but where it
 * changes the conversation too: when a run ends, and the next one gets the conversation, and when the context was
 * compacted. For that the caller holds the locks (`lockRun`) before this statement starts.
 */
export function writeCheckpoint(
  db: Kysely<Database> | Transaction<Database>,
  checkpoint: Checkpoint,
  options: { readonly wake?: boolean } = {},
): Promise<boolean> {
  return write(db, checkpoint, options)
}

/**
 * Ends a run in one statement, which takes the locks itself, in the same order. False also where other agents work for
 * its agent in the background: what they are to do is more than one statement tells.
 */
export function writeLoneEnd(db: Kysely<Database>, checkpoint: Checkpoint): Promise<boolean> {
  return write(db, checkpoint, { takesLocks: true })
}

async function write(
  db: Kysely<Database> | Transaction<Database>,
  checkpoint: Checkpoint,
  options: { readonly wake?: boolean; readonly takesLocks?: boolean },
): Promise<boolean> {
  const { before, after, at } = checkpoint
  const parts = [
    ...(options.takesLocks ? [sql`held as materialized (${lockConversation(after)})`] : []),
    ...(checkpoint.blocks.length > 0 ? [sql`u as materialized (${lockUnchangedBlocks(checkpoint)})`] : []),
    sql`r as (${updateRun(before, after, at)}
      ${checkpoint.blocks.length > 0 ? sql`and (select count(*) from u) = ${checkpoint.blocks.length}` : sql``}
      ${options.takesLocks ? sql`and exists (select from held) and not ${hasSleeptime(after)}` : sql``}
      returning id, conversation_id, number, next_position)`,
    ...(checkpoint.blocks.length > 0 ? [sql`b as (${updateBlocks(checkpoint.blocks, at)})`] : []),
    ...(checkpoint.entries.length > 0
      ? [
          sql`l as (insert into run_log (run_id, first_seq, at, entries)
            select r.id, ${before.nextSeq}, ${at}, ${packEntries(checkpoint.entries)} from r)`,
        ]
      : []),
    ...(checkpoint.messages.length > 0 ? [sql`m as (${insertMessages(checkpoint.messages, at)})`] : []),
    ...(checkpoint.newSteps.length > 0 ? [sql`s as (${insertSteps(checkpoint.newSteps)})`] : []),
    ...(checkpoint.changedSteps.length > 0 ? [sql`t as (${updateSteps(checkpoint.changedSteps)})`] : []),
    ...(checkpoint.newCalls.length > 0 ? [sql`c as (${insertCalls(checkpoint.newCalls)})`] : []),
    ...(checkpoint.changedCalls.length > 0 ? [sql`d as (${updateCalls(checkpoint.changedCalls)})`] : []),
    ...(checkpoint.excluded.length > 0
      ? [
          sql`x as (update messages set excluded = true from r
            where messages.conversation_id = r.conversation_id and position = any(${checkpoint.excluded}::integer[]))`,
        ]
      : []),
    ...(hasEnded(after.status)
      ? [sql`e as materialized (select ${releaseConversation(checkpoint)} as next_run_id from r)`]
      : checkpoint.context
        ? [
            sql`k as (update conversations set ${moveContext(checkpoint.context)}
              from r where conversations.id = r.conversation_id)`,
          ]
        : []),
  ]
  const jobs = hasEnded(after.status)
    ? sql`(select ${addRunJob(sql`e.next_run_id`)} from e where e.next_run_id is not null)`
    : options.wake
      ? sql`(select ${addRunJob(sql`r.id`)} from r)`
      : sql`null`
  const { rows } = await sql<{ id: string }>`
    with ${sql.join(parts)} select r.id, ${jobs} is not null as woken from r`.execute(db)
  return rows.length > 0
}

/** Whether this very checkpoint was committed, for a writer that lost the connection before it heard the outcome. */
export async function isCheckpointStored(db: Kysely<Database>, { before, at }: Checkpoint): Promise<boolean> {
  const row = await db
    .selectFrom('run_log')
    .where('run_id', '=', before.id)
    .where('first_seq', '=', before.nextSeq)
    .where('at', '=', at)
    .select('run_id')
    .executeTakeFirst()
  return row !== undefined
}

/** Every column that changes, whether it did or not: one statement text, and the row is rewritten anyway. */
function updateRun(before: DrivenRun, after: DrivenRun, at: Date) {
  return sql`
    update runs set
      status = ${after.status}, stop_reason = ${after.stopReason}, error = ${jsonOrNull(after.error)}::jsonb,
      next_seq = ${after.nextSeq}, first_position = ${after.firstPosition}, next_position = ${after.nextPosition},
      attempts = ${after.attempts}, deaths = ${after.deaths},
      lease = ${after.lease}, worker_id = ${after.workerId}, cancel_requested_at = ${after.cancelRequestedAt},
      updated_at = ${at}, started_at = ${after.startedAt}, finished_at = ${after.finishedAt},
      steps = ${after.steps}, input_tokens = ${after.usage.inputTokens}, output_tokens = ${after.usage.outputTokens},
      cached_input_tokens = ${after.usage.cachedInputTokens}, reasoning_tokens = ${after.usage.reasoningTokens},
      follow_ups = ${JSON.stringify(after.followUps)}::jsonb, approved_tools = ${after.approvedTools}::text[],
      reading = ${jsonOrNull(after.reading)}::jsonb
    where id = ${before.id} and next_seq = ${before.nextSeq} and status = ${before.status}
      and lease is not distinct from ${before.lease}::uuid
      and (cancel_requested_at is null) = ${before.cancelRequestedAt === null}
      ${after.lease === null || after.lease === before.lease ? sql`` : sql`and ${isAlive(after.workerId!)}`}`
}

/** A worker that was given up may not know it yet: it takes no more runs. */
function isAlive(workerId: string) {
  return sql`exists (select from workers where workers.id = ${workerId})`
}

/** A block that someone changes at this moment is waited for, and then found changed. */
function lockUnchangedBlocks({ blocks, before }: Checkpoint) {
  return sql`
    select blocks.id from blocks
    join jsonb_to_recordset(${blockRows(blocks)}::jsonb) as x(id uuid, version integer)
      on blocks.id = x.id and blocks.version = x.version
    where blocks.tenant_id = ${before.tenantId} and not blocks.read_only
    for no key update of blocks`
}

function updateBlocks(blocks: readonly BlockWrite[], at: Date) {
  return sql`
    update blocks set value = x.value, version = blocks.version + 1, updated_at = ${at}
    from r, jsonb_to_recordset(${blockRows(blocks)}::jsonb) as x(id uuid, value text)
    where blocks.id = x.id`
}

function blockRows(blocks: readonly BlockWrite[]): string {
  return JSON.stringify(
    blocks.map((write) => ({ id: write.blockId, value: write.value, version: write.expectedVersion })),
  )
}

/** Before the run's row is: the condition on it is looked at before the row is locked. */
function lockConversation({ conversationId }: DrivenRun) {
  return sql`select from conversations where id = ${conversationId} for no key update`
}

function hasSleeptime({ agentId }: DrivenRun) {
  return sql`exists (select from sleeptime_groups where agent_id = ${agentId})`
}

/** See migrations/0008_release_conversation.ts. */
function releaseConversation({ context }: Checkpoint) {
  return sql`release_conversation(r.id, r.conversation_id, r.next_position,
    ${context?.contextFrom ?? null}::integer, ${context?.summaryPosition ?? null}::integer)`
}

function moveContext({ contextFrom, summaryPosition }: ContextBounds) {
  return sql`context_from = ${contextFrom}, summary_position = ${summaryPosition}`
}

function insertMessages(messages: readonly PositionedMessage[], at: Date) {
  const rows = messages.map(({ message, position }) => ({
    id: message.id,
    position,
    step_index: message.stepIndex,
    type: message.type,
    client_id: message.clientId,
    content: message.content,
  }))
  return sql`
    insert into messages (id, conversation_id, position, run_number, step_index, type, created_at, client_id, content)
    select x.id, r.conversation_id, x.position, r.number, x.step_index, x.type, ${at}, x.client_id, x.content
    from r, jsonb_to_recordset(${JSON.stringify(rows)}::jsonb)
      as x(id uuid, position integer, step_index integer, type text, client_id text, content jsonb)`
}

function insertSteps(steps: readonly Step[]) {
  return sql`
    insert into steps (run_id, index, attempt, model, created_at, status, stop_reason, input_tokens, output_tokens,
      cached_input_tokens, reasoning_tokens, time_to_first_token_ms, model_ms, tools_ms, finished_at, error)
    select r.id, x.index, x.attempt, x.model, x.created_at, x.status, x.stop_reason, x.input_tokens, x.output_tokens,
      x.cached_input_tokens, x.reasoning_tokens, x.time_to_first_token_ms, x.model_ms, x.tools_ms, x.finished_at, x.error
    from r, ${stepRows(steps)}`
}

function updateSteps(steps: readonly Step[]) {
  return sql`
    update steps set attempt = x.attempt, model = x.model, status = x.status, stop_reason = x.stop_reason,
      input_tokens = x.input_tokens, output_tokens = x.output_tokens, cached_input_tokens = x.cached_input_tokens,
      reasoning_tokens = x.reasoning_tokens, time_to_first_token_ms = x.time_to_first_token_ms, model_ms = x.model_ms,
      tools_ms = x.tools_ms, finished_at = x.finished_at, error = x.error
    from r, ${stepRows(steps)}
    where steps.run_id = r.id and steps.index = x.index`
}

function stepRows(steps: readonly Step[]) {
  const rows = steps.map((step) => ({
    index: step.index,
    attempt: step.attempt,
    model: step.model,
    created_at: step.createdAt,
    status: step.status,
    stop_reason: step.stopReason,
    input_tokens: step.usage.inputTokens,
    output_tokens: step.usage.outputTokens,
    cached_input_tokens: step.usage.cachedInputTokens,
    reasoning_tokens: step.usage.reasoningTokens,
    time_to_first_token_ms: step.timeToFirstTokenMs,
    model_ms: step.modelMs,
    tools_ms: step.toolsMs,
    finished_at: step.finishedAt,
    error: step.error,
  }))
  return sql`jsonb_to_recordset(${JSON.stringify(rows)}::jsonb)
      as x(index integer, attempt integer, model text, created_at timestamptz, status text, stop_reason text,
        input_tokens integer, output_tokens integer, cached_input_tokens integer, reasoning_tokens integer,
        time_to_first_token_ms real, model_ms real, tools_ms real, finished_at timestamptz, error jsonb)`
}

function insertCalls(calls: readonly ToolCall[]) {
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
    ...changingColumns(call),
  }))
  return sql`
    insert into tool_calls (id, tenant_id, run_id, step_index, ordinal, provider_call_id, name, arguments_text, arguments,
      needs, created_at, expires_at, status, started_at, finished_at, edited_arguments, approval, claim, decision,
      decided_by, decided_at, result)
    select x.id, x.tenant_id, r.id, x.step_index, x.ordinal, x.provider_call_id, x.name, x.arguments_text,
      x.arguments, x.needs, x.created_at, x.expires_at, x.status, x.started_at, x.finished_at,
      x.edited_arguments, x.approval, x.claim, x.decision, x.decided_by, x.decided_at, x.result
    from r, jsonb_to_recordset(${JSON.stringify(rows)}::jsonb)
      as x(id uuid, tenant_id uuid, step_index integer, ordinal integer, provider_call_id text, name text,
        arguments_text text, arguments jsonb, needs text, created_at timestamptz, expires_at timestamptz, status text,
        started_at timestamptz, finished_at timestamptz, edited_arguments jsonb, approval jsonb, claim jsonb,
        decision jsonb, decided_by text,
        decided_at timestamptz, result jsonb)`
}

function updateCalls(calls: readonly ToolCall[]) {
  const rows = calls.map((call) => ({ id: call.id, ...changingColumns(call) }))
  return sql`
    update tool_calls set status = x.status, started_at = x.started_at, finished_at = x.finished_at,
      edited_arguments = x.edited_arguments, approval = x.approval, claim = x.claim, decision = x.decision,
      decided_by = x.decided_by, decided_at = x.decided_at, result = x.result
    from r, jsonb_to_recordset(${JSON.stringify(rows)}::jsonb)
      as x(id uuid, status text, started_at timestamptz, finished_at timestamptz, edited_arguments jsonb,
        approval jsonb, claim jsonb, decision jsonb, decided_by text, decided_at timestamptz, result jsonb)
    where tool_calls.id = x.id and tool_calls.run_id = r.id`
}

function changingColumns(call: ToolCall) {
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
    result: call.result,
  }
}

function jsonOrNull(value: unknown): string | null {
  return value === null ? null : JSON.stringify(value)
}
