import { sql, type Kysely, type RawBuilder, type Transaction } from 'kysely'

import type { Checkpoint } from '../domain/runs/draft.ts'
import type { DrivenRun } from '../domain/runs/run-state.ts'
import { hasEnded } from '../domain/run.ts'
import { storableJsonText } from '../util/json.ts'
import {
  addCalls,
  addMessages,
  addSteps,
  changeBlocks,
  changeCalls,
  changeSteps,
  lockUnchangedBlocks,
} from './checkpoint-rows.ts'
import { configurationOf, toConfiguration, type Configuration, type ConfigurationRow } from './runs/load-run.ts'
import { packEntries } from './runs/log-entries.ts'
import { executePrepared } from './database/prepared.ts'
import type { Database } from './database/schema.ts'
import { storedCost } from './runs/usage.ts'

/** The result of a checkpoint that was stored. */
export interface StoredCheckpoint {
  /** The run that holds the conversation now, if the checkpoint ended a run and another was waiting. */
  readonly nextRunId: string | null
  /** The agent's settings for the step that the checkpoint starts. Undefined unless they were asked for. */
  readonly configuration?: Configuration | undefined
}

/**
 * Stores a checkpoint in one statement, all of it or nothing. Returns undefined if nothing was written because the run
 * has changed since the checkpoint read it (another worker drives it, or a cancel came in between), or because a block
 * has changed since the memory tool read it.
 *
 * Everything that decides is on the run's row, which the statement locks, so it needs no transaction. Only if it also
 * changes the conversation, because a run ends or the context was compacted, must the caller hold the locks (`lockRun`)
 * before the statement starts.
 *
 * `withConfiguration` also reads the agent's settings, as they were when the statement started: without the blocks that
 * the checkpoint itself changes.
 */
export function writeCheckpoint(
  db: Kysely<Database> | Transaction<Database>,
  checkpoint: Checkpoint,
  { withConfiguration = false } = {},
): Promise<StoredCheckpoint | undefined> {
  return write(db, checkpoint, { takesLocks: false, withConfiguration })
}

/**
 * Ends a run in one statement, which takes the locks itself, in the same order. Returns undefined also if sleeptime
 * agents work for the run's agent: starting their runs takes more than one statement.
 */
export function writeLoneEnd(db: Kysely<Database>, checkpoint: Checkpoint): Promise<StoredCheckpoint | undefined> {
  return write(db, checkpoint, { takesLocks: true, withConfiguration: false })
}

async function write(
  db: Kysely<Database> | Transaction<Database>,
  checkpoint: Checkpoint,
  { takesLocks, withConfiguration }: { readonly takesLocks: boolean; readonly withConfiguration: boolean },
): Promise<StoredCheckpoint | undefined> {
  const { before, after, blocks, entries, at } = checkpoint
  const ends = hasEnded(after.status)
  const writesBlocks = blocks.length > 0
  const parts = [
    takesLocks && sql`locked_conversation as materialized (${lockConversation(after)})`,
    // The run is locked before its blocks, the order that everyone follows.
    writesBlocks && sql`locked_run as materialized (select from runs where ${isAsFound(before)} for no key update)`,
    writesBlocks && sql`locked_blocks as materialized (${lockUnchangedBlocks(checkpoint)})`,
    sql`run as (
      update runs set ${changesOf(after, at)} where ${isAsFound(before)}
        ${writesBlocks ? sql`and (select count(*) from locked_blocks) = ${blocks.length}` : sql``}
        ${takesLocks ? sql`and exists (select from locked_conversation) and not ${hasSleeptime(after)}` : sql``}
      returning id, conversation_id, hold, next_position)`,
    writesBlocks && sql`changed_blocks as (${changeBlocks(blocks, at)})`,
    entries.length > 0 &&
      sql`logged as (
        insert into run_log (run_id, first_seq, at, entries)
        select run.id, ${before.nextSeq}, ${at}, ${packEntries(entries)} from run)`,
    checkpoint.messages.length > 0 && sql`added_messages as (${addMessages(checkpoint.messages, at)})`,
    checkpoint.newSteps.length > 0 && sql`added_steps as (${addSteps(checkpoint.newSteps)})`,
    checkpoint.changedSteps.length > 0 && sql`changed_steps as (${changeSteps(checkpoint.changedSteps)})`,
    checkpoint.newCalls.length > 0 && sql`added_calls as (${addCalls(checkpoint.newCalls)})`,
    checkpoint.changedCalls.length > 0 && sql`changed_calls as (${changeCalls(checkpoint.changedCalls)})`,
    checkpoint.excluded.length > 0 && sql`excluded_messages as (${excludeMessages(checkpoint.excluded)})`,
    ends && sql`released as materialized (select ${releaseConversation(checkpoint)} as next_run_id from run)`,
    !ends && checkpoint.context && sql`moved_context as (${moveContext(checkpoint.context)})`,
  ].filter((part): part is RawBuilder<unknown> => Boolean(part))
  const { rows } = await executePrepared(
    db,
    sql<{ next_run_id: string | null } & Partial<ConfigurationRow>>`
      with ${sql.join(parts)}
      select ${ends ? sql`(select next_run_id from released)` : sql`null::uuid`} as next_run_id
        ${withConfiguration ? sql`, ${configurationColumns(after)}` : sql``}
      from run`,
  )
  const row = rows[0]
  return row && { nextRunId: row.next_run_id, configuration: row.agent && toConfiguration(row as ConfigurationRow) }
}

/** Whether exactly this checkpoint was committed, for a writer that lost the connection before it got the result. */
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

/** The fence: the run is as the writer knows it, and has the writer's lease. */
function isAsFound({ id, nextSeq, status, lease, cancelRequestedAt }: DrivenRun) {
  return sql`id = ${id} and next_seq = ${nextSeq} and status = ${status} and lease is not distinct from ${lease}::uuid
    and (cancel_requested_at is null) = ${cancelRequestedAt === null}`
}

/**
 * Sets every column that can change, whether or not it did: the statement's text stays the same, and the row is
 * rewritten anyway.
 */
function changesOf(run: DrivenRun, at: Date) {
  return sql`status = ${run.status}, stop_reason = ${run.stopReason}, has_output = ${run.hasOutput}, error = ${jsonOrNull(run.error)}::jsonb,
    next_seq = ${run.nextSeq}, first_position = ${run.firstPosition}, next_position = ${run.nextPosition},
    attempts = ${run.attempts}, deaths = ${run.deaths}, lease = ${run.lease}, worker_id = ${run.workerId},
    cancel_requested_at = ${run.cancelRequestedAt}, updated_at = ${at}, started_at = ${run.startedAt},
    finished_at = ${run.finishedAt}, steps = ${run.steps}, input_tokens = ${run.usage.inputTokens},
    output_tokens = ${run.usage.outputTokens}, cached_input_tokens = ${run.usage.cachedInputTokens},
    reasoning_tokens = ${run.usage.reasoningTokens}, cost_usd = ${storedCost(run.usage)}::double precision, follow_ups = ${storableJsonText(run.followUps)}::jsonb,
    approved_tools = ${run.approvedTools}::text[], reading = ${jsonOrNull(run.reading)}::jsonb`
}

/**
 * This lock comes before that of the run's row, because Postgres evaluates the condition on a row before it locks it.
 */
function lockConversation({ conversationId }: DrivenRun) {
  return sql`select from conversations where id = ${conversationId} for no key update`
}

function hasSleeptime({ agentId }: DrivenRun) {
  return sql`exists (select from sleeptime_groups where agent_id = ${agentId})`
}

function configurationColumns({ agentId, memoryConversationId }: DrivenRun) {
  return configurationOf(sql`${agentId}::uuid`, sql`${memoryConversationId}::uuid`)
}

function excludeMessages(positions: readonly number[]) {
  return sql`
    update messages set excluded = true from run
    where messages.conversation_id = run.conversation_id and position = any(${positions}::integer[])`
}

/** See migrations/0005_runs.ts. */
function releaseConversation({ context, excluded }: Checkpoint) {
  return sql`release_conversation(run.id, run.conversation_id, run.next_position,
    ${context?.contextFrom ?? null}::integer, ${context?.summaryPosition ?? null}::integer, ${excluded.length > 0})`
}

function moveContext({ contextFrom, summaryPosition }: NonNullable<Checkpoint['context']>) {
  return sql`
    update conversations set context_from = ${contextFrom}, summary_position = ${summaryPosition}
    from run where conversations.id = run.conversation_id`
}

function jsonOrNull(value: object | null): string | null {
  return value === null ? null : storableJsonText(value)
}
