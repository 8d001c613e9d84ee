import { sql, type RawBuilder } from 'kysely'

import type { Agent } from '../../domain/agents/agent.ts'
import type { Block } from '../../domain/memory/block.ts'
import type { ContextMessage } from '../../domain/context/context.ts'
import type { ContextBounds } from '../../domain/runs/draft.ts'
import type { RunState } from '../../domain/runs/run-state.ts'
import type { AgentTool } from '../../domain/tools/tool.ts'
import { toAgent } from '../agents/agents.ts'
import { toBlock } from '../memory/blocks.ts'
import { isOnBranch } from '../conversations/branches.ts'
import { fromJsonRow, pickColumns, type JsonRow } from '../database/columns.ts'
import { toMessage } from '../conversations/messages.ts'
import { executePrepared } from '../database/prepared.ts'
import { toRun, wholeRequest } from './runs.ts'
import type { Db, Row } from '../database/schema.ts'
import { toStep } from './steps.ts'
import { toToolCall } from '../tools/tool-calls.ts'
import { toTool } from '../tools/tools.ts'
import { isBudgeted } from '../usage/budgets.ts'

/** The agent's current settings, read again before every step. */
export interface Configuration {
  /** Differs between different settings: the versions of all rows that were read. */
  readonly signature: string
  readonly agent: Agent
  readonly tools: readonly AgentTool[]
  readonly blocks: readonly Block[]
  /** Whether a budget may apply to the agent's runs. */
  readonly budgeted: boolean
}

export interface LoadedRun {
  readonly state: RunState
  readonly configuration: Configuration
  /** The context's bounds when the run was loaded. Only the run that holds the conversation moves them. */
  readonly bounds: ContextBounds
  /** Changes whenever messages that are already stored leave the context or return to it. */
  readonly contextVersion: number
}

export interface ConfigurationRow {
  readonly signature: string
  readonly agent: JsonRow
  readonly tools: readonly JsonRow[]
  readonly blocks: readonly JsonRow[]
  readonly budgeted: boolean
}

export type LoadedRunRow = Row<'runs'> &
  ConfigurationRow & {
    readonly conversation_position: number
    readonly context_from: number
    readonly summary_position: number | null
    readonly context_version: number
    readonly memory_conversation_id: string
    readonly step_rows: readonly JsonRow[]
    readonly call_rows: readonly JsonRow[]
  }

/** The conversation whose blocks are visible to a run in `conversations`. */
const memoryConversation = sql`coalesce(conversations.for_conversation, conversations.id)`

/** Everything that decides how a run continues, from `runs` and its row of `conversations`. */
export const loadedRunColumns = sql`
  runs.*, ${wholeRequest} as request, conversations.next_position as conversation_position, conversations.context_from,
  conversations.summary_position, conversations.context_version,
  ${memoryConversation} as memory_conversation_id, ${configurationOf(sql`runs.agent_id`, memoryConversation)},
  coalesce((select jsonb_agg(to_jsonb(step) order by step.index) from steps step where step.run_id = runs.id), '[]')
    as step_rows,
  coalesce((select json_agg(to_json(tool_calls) order by step_index, ordinal)
    from tool_calls where tool_calls.run_id = runs.id), '[]') as call_rows`

/** One statement reads it all, so it is all as of the same moment. */
export async function loadRun(db: Db, runId: string): Promise<LoadedRun | undefined> {
  const { rows } = await executePrepared(
    db,
    sql<LoadedRunRow>`
      select ${loadedRunColumns} from runs join conversations on conversations.id = runs.conversation_id
      where runs.id = ${runId}`,
  )
  return rows[0] && toLoadedRun(rows[0])
}

/** What only the worker of a run needs to know of it. */
const drivenColumns = [
  ...(['request', 'metadata', 'lease', 'worker_id', 'deaths', 'follow_ups', 'approved_tools', 'reading'] as const),
  ...(['traceparent', 'memory_conversation_id'] as const),
]

export function toLoadedRun(row: LoadedRunRow): LoadedRun {
  const configuration = toConfiguration(row)
  const { agent, tools } = configuration
  return {
    state: {
      run: {
        ...toRun(row),
        ...pickColumns(row, drivenColumns),
        allowance: { usd: row.allowed_usd, tokens: row.allowed_tokens },
      },
      agent,
      tools,
      steps: row.step_rows.map((step) => toStep(fromJsonRow<'steps'>(step))),
      calls: row.call_rows.map((call) => toToolCall(fromJsonRow<'tool_calls'>(call))),
      nextPosition: row.conversation_position,
      inFlight: new Set(),
      budget: configuration.budgeted ? 'unchecked' : 'none',
    },
    configuration,
    bounds: { contextFrom: row.context_from, summaryPosition: row.summary_position },
    contextVersion: row.context_version,
  }
}

/** Undefined if the agent was deleted. Includes the blocks that apply in the conversation. */
export async function loadConfiguration(
  db: Db,
  agentId: string,
  conversationId: string,
): Promise<Configuration | undefined> {
  const { rows } = await executePrepared(
    db,
    sql<ConfigurationRow>`
      select ${configurationOf(sql`agents.id`, sql`${conversationId}::uuid`)} from agents where agents.id = ${agentId}`,
  )
  return rows[0] && toConfiguration(rows[0])
}

/** The columns of a `ConfigurationRow`. */
export function configurationOf(agentId: RawBuilder<unknown>, conversationId: RawBuilder<unknown>) {
  return sql`
    ${signatureOf(agentId, conversationId)} as signature,
    (select to_jsonb(a) from agents a where a.id = ${agentId}) as agent,
    coalesce((select jsonb_agg(to_jsonb(tools) || jsonb_build_object('agent_tool_id', agent_tools.id,
        'approval_override', agent_tools.approval_override) order by agent_tools.ordinal)
      ${toolsOf(agentId)}), '[]') as tools,
    coalesce((select jsonb_agg(case when copy.id is null then to_jsonb(blocks) else to_jsonb(copy) end
        order by agent_blocks.ordinal)
      ${blocksOf(agentId, conversationId)}), '[]') as blocks,
    ${isBudgeted(agentId)} as budgeted`
}

/** Postgres writes a new version of a row, with another `xmin`, whenever the row changes. */
export function signatureOf(agentId: RawBuilder<unknown>, conversationId: RawBuilder<unknown>) {
  return sql<string>`concat_ws(' ', ${isBudgeted(agentId)}::text,
    (select a.xmin from agents a where a.id = ${agentId}),
    (select string_agg(agent_tools.xmin::text || ':' || tools.xmin, ',' order by agent_tools.ordinal)
      ${toolsOf(agentId)}), '/',
    (select string_agg(agent_blocks.xmin::text || ':' || coalesce(copy.xmin, blocks.xmin), ','
        order by agent_blocks.ordinal)
      ${blocksOf(agentId, conversationId)}))`
}

function toolsOf(agentId: RawBuilder<unknown>) {
  return sql`from agent_tools join tools on tools.id = agent_tools.tool_id and tools.is_available
    where agent_tools.agent_id = ${agentId}`
}

function blocksOf(agentId: RawBuilder<unknown>, conversationId: RawBuilder<unknown>) {
  return sql`from agent_blocks join blocks on blocks.id = agent_blocks.block_id
      left join blocks copy on copy.conversation_id = ${conversationId} and copy.label = blocks.label
    where agent_blocks.agent_id = ${agentId}`
}

export function toConfiguration(row: ConfigurationRow): Configuration {
  const agent = toAgent(fromJsonRow<'agents'>(row.agent))
  return {
    signature: row.signature,
    agent,
    tools: row.tools.map((tool) => ({
      id: tool['agent_tool_id'] as string,
      agentId: agent.id,
      tool: toTool(fromJsonRow<'tools'>(tool)),
      approvalOverride: tool['approval_override'] as boolean | null,
    })),
    blocks: row.blocks.map((block) => toBlock(fromJsonRow<'blocks'>(block))),
    budgeted: row.budgeted,
  }
}

/**
 * The messages that a model sees, in order: the summary, if there is one, then everything that is not excluded.
 * Excluded returns are included because their calls are, but their content is withheld.
 */
export function loadContext(
  db: Db,
  conversationId: string,
  { contextFrom, summaryPosition }: ContextBounds,
): Promise<ContextMessage[]> {
  return listContextMessages(
    db,
    // The second condition follows from the last one. It is there so that the index is used.
    sql`where messages.conversation_id = ${conversationId}
        and messages.position >= least(${contextFrom}::integer, ${summaryPosition}::integer)
        and (not messages.excluded or messages.type = 'TOOL_RETURN') and ${isOnBranch(conversationId)}
        and (messages.position = ${summaryPosition}::integer
          or (messages.position >= ${contextFrom} and messages.type <> 'SUMMARY'))
      order by (messages.position = ${summaryPosition}::integer) desc nulls last, messages.position`,
  )
}

/** Reads messages with the calls of their steps. `which` says which rows, and in which order. */
export async function listContextMessages(db: Db, which: RawBuilder<unknown>): Promise<ContextMessage[]> {
  const { rows } = await executePrepared(
    db,
    sql<Row<'messages'> & { run_id: string; call_rows: readonly JsonRow[] | null }>`
    select messages.*, runs.id as run_id,
      case when messages.type in ('TOOL_CALL', 'TOOL_RETURN', 'APPROVAL_REQUEST', 'APPROVAL_RESPONSE') then (
        select json_agg(to_json(tool_calls) order by ordinal) from tool_calls
        where tool_calls.run_id = runs.id and tool_calls.step_index = messages.step_index) end as call_rows
    from messages join runs on runs.conversation_id = messages.conversation_id and runs.hold = messages.run_hold
    ${which}`,
  )
  return rows.map((row) => ({
    message: toMessage(row),
    callsOfStep: (row.call_rows ?? []).map((call) => toToolCall(fromJsonRow<'tool_calls'>(call))),
  }))
}
