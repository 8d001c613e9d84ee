import { sql, type RawBuilder } from 'kysely'

import type { JsonObject } from '../../util/json.ts'
import { branchUpTo } from './branches.ts'
import { packedId } from '../runs/log-entries.ts'
import type { Db } from '../database/schema.ts'

export interface Fork {
  readonly conversationId: string
  /** The last run to copy, which must have ended. */
  readonly hold: number
  /** The ids of copied rows are made from this. */
  readonly ids: { readonly conversation: string; readonly runs: string; readonly messages: string } & {
    readonly calls: string
    readonly blocks: string
  }
  readonly title: string | null
  readonly metadata: JsonObject
  readonly now: Date
}

/**
 * Columns whose values are copied unchanged. The other columns of these tables are set in the statement, or omitted.
 */
export const copiedColumns = {
  runs: [
    ...['tenant_id', 'agent_id', 'kind', 'sent_by', 'urgent', 'max_steps', 'max_total_tokens', 'request', 'metadata'],
    ...[
      'status',
      'stop_reason',
      'has_output',
      'attempts',
      'cancel_requested_at',
      'cancelled_by',
      'started_at',
      'finished_at',
    ],
    ...['approved_tools', 'error'],
  ],
  messages: ['step_index', 'type', 'excluded', 'created_at', 'client_id'],
  steps: [
    ...['index', 'attempt', 'model', 'repeats_model', 'failed_models', 'created_at', 'status', 'stop_reason'],
    ...['time_to_first_token_ms', 'model_ms', 'tools_ms', 'finished_at', 'error'],
  ],
  tool_calls: [
    ...['tenant_id', 'step_index', 'ordinal', 'provider_call_id', 'name', 'arguments_text', 'arguments', 'needs'],
    ...['created_at', 'expires_at', 'status', 'started_at', 'finished_at', 'edited_arguments', 'approval'],
    ...['decision', 'decided_by', 'decided_at', 'result'],
  ],
  // A file has the same key in every conversation, so references to it are copied unchanged.
  files: ['key', 'tenant_id', 'hash', 'name', 'media_type', 'size_bytes', 'tokens'],
  blocks: ['tenant_id', 'label', 'value', 'description', 'char_limit', 'read_only'],
} as const

/**
 * Copies a branch up to a run into a new conversation, in one statement. Numbers and positions begin at 1. The stream
 * of a copied run consists of its messages, the outcome of its calls, and its end. Usage is not copied. Returns false
 * and writes nothing if the run has not ended or is gone.
 */
export async function forkConversation(db: Db, fork: Fork): Promise<boolean> {
  const { conversationId: source, hold, ids, now } = fork
  const { rows } = await sql`
    with recursive branch as (${branchUpTo(source, hold)}),
    old_runs as materialized (
      select runs.*, (row_number() over (order by hold))::integer as place from runs
      where conversation_id = ${source} and hold in (select hold from branch)
    ),
    old_messages as materialized (
      select messages.*, old_runs.place as run_place, (row_number() over (order by position))::integer as place
      from messages join old_runs on old_runs.hold = messages.run_hold where messages.conversation_id = ${source}
    ),
    old_steps as materialized (
      select steps.*, old_runs.place as run_place,
        (select min(place) from old_messages where run_place = old_runs.place and step_index = steps.index) as first_place,
        (select max(place) from old_messages where run_place = old_runs.place and step_index = steps.index) as last_place
      from steps join old_runs on old_runs.id = steps.run_id
    ),
    old_calls as materialized (
      select tool_calls.*, old_runs.place as run_place,
        (row_number() over (order by old_runs.place, step_index, ordinal))::integer as place
      from tool_calls join old_runs on old_runs.id = tool_calls.run_id
    ),
    log as materialized (${logOf(ids)}),
    summary as (
      select place, (content ->> 'contextFrom')::integer as context_from from old_messages
      where type = 'SUMMARY' order by place desc limit 1
    ),
    conversation as (
      insert into conversations (id, tenant_id, agent_id, is_main, title, metadata, created_at, updated_at,
        next_run_number, next_hold, next_position, context_from, summary_position)
      select ${ids.conversation}::uuid, tenant_id, agent_id, false, ${fork.title}, ${JSON.stringify(fork.metadata)}::jsonb,
        ${now}::timestamptz, ${now}::timestamptz, runs.count + 1, runs.count + 1, messages.count + 1,
        coalesce((select ${placeOf(sql`summary.context_from`)} from summary), 1), (select place from summary)
      from conversations, (select count(*)::integer from old_runs) runs, (select count(*)::integer from old_messages) messages
      where id = ${source} and runs.count > 0 and not exists (select from old_runs where not ended)
      returning id
    ),
    new_runs as (
      insert into runs (id, conversation_id, number, hold, previous_hold, created_at, updated_at, next_seq, first_position,
        next_position, ${columns(copiedColumns.runs)})
      select ${newId(ids.runs)}, conversation.id, place, place, place - 1, ${now}::timestamptz, ${now}::timestamptz,
        2 + jsonb_array_length(log.entries), positions.first, positions.next, ${columns(copiedColumns.runs, 'old_runs.')}
      from conversation, old_runs join log on log.run_place = old_runs.place
        cross join lateral (
          select min(place) as first, max(place) + 1 as next from old_messages where run_place = old_runs.place) positions
    ),
    new_log as (
      insert into run_log (run_id, first_seq, at, entries)
      select ${newId(ids.runs, sql`run_place`)}, 2, ${now}::timestamptz, log.entries::text from conversation, log
    ),
    new_messages as (
      insert into messages (id, conversation_id, position, run_hold, content, ${columns(copiedColumns.messages)})
      select ${newId(ids.messages)}, conversation.id, place, run_place,
        case when type = 'SUMMARY' then jsonb_set(content, '{contextFrom}',
          to_jsonb(${placeOf(sql`(old_messages.content ->> 'contextFrom')::integer`)})) else content end,
        ${columns(copiedColumns.messages, 'old_messages.')}
      from conversation, old_messages
    ),
    new_steps as (
      insert into steps (run_id, ${columns(copiedColumns.steps)})
      select ${newId(ids.runs, sql`run_place`)}, ${columns(copiedColumns.steps, 'old_steps.')} from conversation, old_steps
    ),
    new_calls as (
      insert into tool_calls (id, run_id, ${columns(copiedColumns.tool_calls)})
      select ${newId(ids.calls)}, ${newId(ids.runs, sql`run_place`)}, ${columns(copiedColumns.tool_calls, 'old_calls.')}
      from conversation, old_calls
    ),
    new_blocks as (
      insert into blocks (id, conversation_id, created_at, updated_at, ${columns(copiedColumns.blocks)})
      select ${newId(ids.blocks)}, conversation.id, ${now}::timestamptz, ${now}::timestamptz,
        ${columns(copiedColumns.blocks, 'old_blocks.')}
      from conversation, (
        select *, (row_number() over (order by id))::integer as place from blocks where conversation_id = ${source}) old_blocks
    ),
    new_files as (
      insert into files (conversation_id, created_at, ${columns(copiedColumns.files)})
      select conversation.id, ${now}::timestamptz, ${columns(copiedColumns.files, 'files.')}
      from conversation, files where conversation_id = ${source} and expires_at is null
    ),
    new_progress as (
      insert into sleeptime_progress (agent_id, conversation_id, read_to)
      select agent_id, conversation.id, ${placeOf(sql`read_to + 1`)} - 1
      from conversation, sleeptime_progress where conversation_id = ${source}
    )
    select from conversation`.execute(db)
  return rows.length > 0
}

/** The entries of each copied run after the first one, which is derived from the run's row. See `log-entries`. */
function logOf(ids: Fork['ids']): RawBuilder<unknown> {
  return sql`
    select old_runs.place as run_place,
      case when started_at is null then '[]' else '[["s", "RUNNING"]]'::jsonb end
      || coalesce((
        select jsonb_agg(entry order by place, rank, part) from (
          select place, 2 as rank, 0 as part, jsonb_build_array('m', ${packedId(newId(ids.messages))}) as entry
          from old_messages where run_place = old_runs.place
          union all
          select first_place, 0, index, jsonb_build_array('b', index) from old_steps where run_place = old_runs.place
          union all
          -- Before the message with the returns, which is the last one of its step.
          select last_place, 1, ordinal, jsonb_build_array('c', ${packedId(newId(ids.calls, sql`old_calls.place`))}, old_calls.status)
          from old_calls join old_steps on old_steps.run_place = old_calls.run_place and index = step_index
          where old_calls.run_place = old_runs.place
          union all
          select last_place, 3, index, jsonb_build_array('f', index) from old_steps where run_place = old_runs.place
        ) entries), '[]')
      || jsonb_build_array(jsonb_build_array('s', status, stop_reason)
        || case when error is null then '[]' else jsonb_build_array(null, error) end) as entries
    from old_runs`
}

/** The copied position of the message at this position, or else of the next message that is copied. */
function placeOf(position: RawBuilder<unknown>): RawBuilder<unknown> {
  return sql`(select count(*)::integer + 1 from old_messages earlier where earlier.position < ${position})`
}

/** Ids with the time and randomness of `base`, which sort in the order of their places. */
function newId(base: string, place: RawBuilder<unknown> = sql`place`): RawBuilder<unknown> {
  const hex = base.replaceAll('-', '')
  return sql`(${hex.slice(0, 12)}::text || '7' || lpad(to_hex(${place} >> 16), 3, '0') || '8'
    || lpad(to_hex(${place} & 65535), 4, '0') || ${hex.slice(21)})::uuid`
}

function columns(names: readonly string[], prefix = ''): RawBuilder<unknown> {
  return sql.join(names.map((name) => sql.ref(`${prefix}${name}`)))
}
