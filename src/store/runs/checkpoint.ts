import { sql, type RawBuilder } from 'kysely'

import type { Checkpoint } from '../../domain/runs/draft.ts'
import { hasEnded } from '../../domain/runs/run.ts'
import {
  addCalls,
  addLog,
  addMessages,
  addSteps,
  changeBlocks,
  changeCalls,
  changeRuns,
  changeSteps,
  excludeMessages,
  givenRuns,
  isAsFound,
  lockUnchangedBlocks,
  type CheckpointWrite,
} from './checkpoint-rows.ts'
import { configurationOf, signatureOf, toConfiguration, type Configuration, type ConfigurationRow } from './load-run.ts'
import { executePrepared } from '../database/prepared.ts'
import type { Db } from '../database/schema.ts'
import { markUncounted } from '../usage/count-runs.ts'
import { eventRows, tellWebhooks } from '../webhooks/outbox.ts'

/** The result of a checkpoint that was stored. */
export interface StoredCheckpoint {
  /** The run that holds the conversation now, if the checkpoint ended a run and another was waiting. */
  readonly nextRunId: string | null
  /**
   * The agent's settings for the step that the checkpoint starts, or 'known' if the writer has them. Undefined unless
   * they were asked for.
   */
  readonly configuration?: Configuration | 'known' | undefined
}

/**
 * Stores one checkpoint of a run. Returns undefined if nothing was written because the run has changed since the
 * checkpoint read it (another worker drives it, or a cancel came in between), or because a block has changed since the
 * memory tool read it.
 *
 * Everything that decides is on the run's row, which the statement locks, so it needs no transaction. Only if it also
 * changes the conversation, because a run ends or the context was compacted, must the caller hold the locks (`lockRun`)
 * before the statement starts.
 */
export async function writeCheckpoint(
  db: Db,
  checkpoint: Checkpoint,
  { withConfiguration = false } = {},
): Promise<StoredCheckpoint | undefined> {
  const stored = await write(db, [{ checkpoint, withConfiguration }], { takesLocks: false })
  return stored.get(checkpoint.before.id)
}

/**
 * Stores checkpoints in one statement, each all of it or nothing, and returns what was stored by run. The statement
 * takes the locks of the runs that end itself, in the same order. It does not store the end of a run whose agent has
 * sleeptime agents: starting their runs takes more than one statement.
 *
 * The checkpoints of several runs never wait for a lock, because then one run would delay the others: those that would
 * have to wait are not stored. They must not change blocks, and no run may have two.
 */
export function writeCheckpoints(
  db: Db,
  writes: readonly CheckpointWrite[],
): Promise<ReadonlyMap<string, StoredCheckpoint>> {
  return write(db, writes, { takesLocks: true })
}

async function write(
  db: Db,
  writes: readonly CheckpointWrite[],
  { takesLocks }: { readonly takesLocks: boolean },
): Promise<ReadonlyMap<string, StoredCheckpoint>> {
  const checkpoints = writes.map(({ checkpoint }) => checkpoint)
  // A batch has every part, whether or not one of its checkpoints needs it: a text that stays the same is planned once.
  const isBatch = writes.length > 1
  const needs = (wants: (checkpoint: Checkpoint) => boolean) => isBatch || checkpoints.some(wants)
  const writesBlocks = checkpoints.some(({ blocks }) => blocks.length > 0)
  const ends = needs(({ after }) => hasEnded(after.status))
  const locksConversations = takesLocks && ends
  const withConfiguration = isBatch || writes.some((one) => one.withConfiguration)
  const ids = checkpoints.map(({ before }) => before.id)
  const addsMessages = needs(({ messages }) => messages.length > 0)
  const events = eventRows(checkpoints)
  const tells = isBatch || events.length > 0
  const parts = [
    sql`given_runs as materialized (${givenRuns(writes)})`,
    locksConversations &&
      sql`locked_conversations as materialized (${lockConversations(checkpoints)} ${isBatch ? skipLocked : sql``})`,
    isBatch && sql`free_runs as materialized (${lockRuns(ids)} ${skipLocked})`,
    // The run is locked before its blocks, the order that everyone follows.
    writesBlocks &&
      sql`locked_runs as materialized (
        select runs.id from runs join given_runs given on ${isAsFound} where given.blocks > 0 for no key update of runs)`,
    writesBlocks && sql`locked_blocks as materialized (${lockUnchangedBlocks(checkpoints)})`,
    sql`run as (
      update runs set ${changeRuns} from given_runs given where ${isAsFound}
        and ${isBatch ? sql`runs.id = any(${ids}::uuid[]) and runs.id in (select id from free_runs)` : sql`runs.id = ${ids[0]}::uuid`}
        ${writesBlocks ? sql`and (select count(*) from locked_blocks where run_id = given.id) = given.blocks` : sql``}
        ${locksConversations ? sql`and (not given.ends or ${isEndable})` : sql``}
      returning runs.id, runs.conversation_id, runs.agent_id, runs.hold, runs.next_position, given.before_seq, given.at,
        given.entries, given.ends, given.context_from, given.summary_position, given.excludes, given.with_configuration,
        given.known_signature, given.memory_conversation_id)`,
    writesBlocks && sql`changed_blocks as (${changeBlocks(checkpoints)})`,
    needs(({ entries }) => entries.length > 0) && sql`logged as (${addLog})`,
    addsMessages && sql`added_messages as (${addMessages(checkpoints)} ${tells ? returningMessages : sql``})`,
    tells && sql`told as (${tellWebhooks(events, { addsMessages })})`,
    needs(({ newSteps }) => newSteps.length > 0) && sql`added_steps as (${addSteps(checkpoints)})`,
    needs(({ changedSteps }) => changedSteps.length > 0) && sql`changed_steps as (${changeSteps(checkpoints)})`,
    needs(({ newCalls }) => newCalls.length > 0) && sql`added_calls as (${addCalls(checkpoints)})`,
    needs(({ changedCalls }) => changedCalls.length > 0) && sql`changed_calls as (${changeCalls(checkpoints)})`,
    needs(({ excluded }) => excluded.length > 0) && sql`excluded_messages as (${excludeMessages(checkpoints)})`,
    ends && sql`uncounted as (${markUncounted})`,
    ends && sql`released as materialized (${releaseConversations})`,
    needs(({ context }) => context !== null) && sql`moved_context as (${moveContext})`,
  ].filter((part): part is RawBuilder<unknown> => Boolean(part))
  const { rows } = await executePrepared(
    db,
    sql<{ id: string; next_run_id: string | null } & Partial<ConfigurationRow>>`
      with ${sql.join(parts)}
      select run.id, ${ends ? sql`(select next_run_id from released where released.id = run.id)` : sql`null::uuid`} as next_run_id
        ${withConfiguration ? sql`, configuration.*` : sql``}
      from run ${withConfiguration ? joinedConfiguration : sql``}`,
  )
  const asking = new Set(writes.filter((one) => one.withConfiguration).map(({ checkpoint }) => checkpoint.before.id))
  return new Map(
    rows.map((row) => {
      const configuration = asking.has(row.id) ? configurationIn(row) : undefined
      return [row.id, { nextRunId: row.next_run_id, configuration }]
    }),
  )
}

/** The signature, and the settings unless the writer knows them: making JSON of them takes longer than all the rest. */
const joinedConfiguration = sql`
  left join lateral (
    select read.* from (select ${signatureOf(sql`run.agent_id`, sql`run.memory_conversation_id`)} as now offset 0) current
      left join lateral (select ${configurationOf(sql`run.agent_id`, sql`run.memory_conversation_id`)}) read
        on current.now is distinct from run.known_signature
  ) configuration on run.with_configuration`

function configurationIn(row: Partial<ConfigurationRow>): Configuration | 'known' {
  return row.agent ? toConfiguration(row as ConfigurationRow) : 'known'
}

/** Whether exactly this checkpoint was committed, for a writer that lost the connection before it got the result. */
export async function isCheckpointStored(db: Db, { before, at }: Checkpoint): Promise<boolean> {
  const row = await db
    .selectFrom('run_log')
    .where('run_id', '=', before.id)
    .where('first_seq', '=', before.nextSeq)
    .where('at', '=', at)
    .select('run_id')
    .executeTakeFirst()
  return row !== undefined
}

const skipLocked = sql`skip locked`
const returningMessages = sql`returning conversation_id, position, type, content`

function lockConversations(checkpoints: readonly Checkpoint[]) {
  const ending = checkpoints.filter(({ after }) => hasEnded(after.status))
  const ids = ending.map(({ after }) => after.conversationId)
  return sql`select id from conversations where id = any(${ids}::uuid[]) for no key update`
}

function lockRuns(ids: readonly string[]) {
  return sql`select id from runs where id = any(${ids}::uuid[]) for no key update`
}

/**
 * Postgres evaluates this before it locks the run's row, so the conversation's lock comes first. A batch waits for no
 * lock, so their order does not matter there.
 */
const isEndable = sql`runs.conversation_id in (select id from locked_conversations)
  and not exists (select from sleeptime_groups where sleeptime_groups.agent_id = runs.agent_id)`

/** See migrations/0005_runs.ts. */
const releaseConversations = sql`
  select run.id, release_conversation(run.id, run.conversation_id, run.next_position, run.context_from,
    run.summary_position, run.excludes) as next_run_id from run where run.ends`

const moveContext = sql`
  update conversations set context_from = run.context_from, summary_position = run.summary_position
  from run where conversations.id = run.conversation_id and run.context_from is not null and not run.ends`
