import { sql } from 'kysely'

import type {
  ToolCall,
  ToolCallArguments,
  ToolCallNeed,
  ToolCallOutline,
  ToolResult,
} from '../../domain/tools/tool-call.ts'
import { parseArguments } from '../../domain/tools/call-notes.ts'
import type { Reach } from '../../domain/access/viewer.ts'
import { pickColumns, qualified } from '../database/columns.ts'
import type { Db, Row } from '../database/schema.ts'
import { isOneOfSteps, type StepKey } from '../runs/steps.ts'
import { ofTenant } from '../access/tenant-scope.ts'

type ToolCallRow = Row<'tool_calls'>

export function toToolCall(row: ToolCallRow): ToolCall {
  return { ...pickColumns(row, partsColumns), ...toArguments(row), result: row.result && toResult(row.result) }
}

type StoredResult = NonNullable<ToolCallRow['result']>

/** Every turn with a tool writes a result, so what is usual of it is not stored. */
export function storedResult({ status, stdout, stderr, truncated, durationMs, ...rest }: ToolResult): StoredResult {
  return {
    ...rest,
    ...(status !== usualResult.status && { status }),
    ...(stdout.length > 0 && { stdout }),
    ...(stderr.length > 0 && { stderr }),
    ...(truncated && { truncated }),
    ...(durationMs !== null && { durationMs }),
  }
}

const usualResult = { status: 'SUCCESS', stdout: [], stderr: [], truncated: false, durationMs: null } as const

function toResult(stored: StoredResult): ToolResult {
  return { ...usualResult, ...stored }
}

export function toOutline(row: PartsRow & { readonly has_result: boolean }): ToolCallOutline {
  return { ...pickColumns(row, partsColumns), hasResult: row.has_result }
}

const argumentColumns = ['arguments_text', 'arguments', 'edited_arguments'] as const

/** What the model wrote is stored once, as text. Other arguments are stored too: those that a rule has fixed. */
export function storedArguments({ argumentsText, arguments: used }: ToolCallArguments): ToolCallRow['arguments'] {
  return JSON.stringify(used) === JSON.stringify(parseArguments(argumentsText) ?? null) ? null : used
}

function toArguments(row: Pick<ToolCallRow, (typeof argumentColumns)[number]>): ToolCallArguments {
  const stored = pickColumns(row, argumentColumns)
  return { ...stored, arguments: stored.arguments ?? parseArguments(stored.argumentsText) ?? null }
}

/** Fields that a call and its outline share. */
const partsColumns = [
  ...(['id', 'tenant_id', 'run_id', 'step_index', 'ordinal', 'provider_call_id', 'name', 'needs', 'status'] as const),
  ...([
    'approval',
    'claim',
    'decision',
    'decided_at',
    'created_at',
    'expires_at',
    'started_at',
    'finished_at',
  ] as const),
]
type PartsRow = Pick<ToolCallRow, (typeof partsColumns)[number]>
export const outlineColumns = [
  ...qualified('tool_calls', partsColumns),
  sql<boolean>`tool_calls.result is not null`.as('has_result'),
] as const

export async function findToolCalls(db: Db, reach: Reach, ids: readonly string[]): Promise<ToolCallOutline[]> {
  const rows = await callsOfTenant(db, reach)
    .where(sql<boolean>`tool_calls.id = any(${ids}::uuid[])`)
    .select(outlineColumns)
    .execute()
  return rows.map(toOutline)
}

/** By call. */
export async function findToolCallArguments(
  db: Db,
  reach: Reach,
  ids: readonly string[],
): Promise<Map<string, ToolCallArguments>> {
  const rows = await callsOfTenant(db, reach)
    .where(sql<boolean>`tool_calls.id = any(${ids}::uuid[])`)
    .select(['id', ...argumentColumns])
    .execute()
  return new Map(rows.map((row) => [row.id, toArguments(row)]))
}

/** Results by call id. Calls without a result are missing. */
export async function findToolResults(db: Db, reach: Reach, ids: readonly string[]): Promise<Map<string, ToolResult>> {
  const rows = await callsOfTenant(db, reach)
    .where(sql<boolean>`tool_calls.id = any(${ids}::uuid[])`)
    .select(['id', 'result'])
    .execute()
  return new Map(rows.flatMap((row) => (row.result ? [[row.id, toResult(row.result)]] : [])))
}

/** All calls of these steps, in the order in which the model made them. */
export async function listCallsOfSteps(db: Db, reach: Reach, keys: readonly StepKey[]): Promise<ToolCallOutline[]> {
  const rows = await callsOfTenant(db, reach)
    .where(isOneOfSteps('tool_calls.run_id', 'tool_calls.step_index', keys))
    .select(outlineColumns)
    .orderBy('tool_calls.run_id')
    .orderBy('tool_calls.step_index')
    .orderBy('tool_calls.ordinal')
    .execute()
  return rows.map(toOutline)
}

/** The calls that these runs wait for. Only paused runs wait. */
export async function listPendingCallsOfRuns(
  db: Db,
  reach: Reach,
  runIds: readonly string[],
): Promise<ToolCallOutline[]> {
  const rows = await callsOfTenant(db, reach)
    .innerJoin('runs', 'runs.id', 'tool_calls.run_id')
    .where(sql<boolean>`tool_calls.run_id = any(${runIds}::uuid[])`)
    .where('runs.status', '=', 'AWAITING_APPROVAL')
    .where('tool_calls.exception', '=', 'PENDING')
    .select(outlineColumns)
    .orderBy('tool_calls.run_id')
    .orderBy('tool_calls.step_index')
    .orderBy('tool_calls.ordinal')
    .execute()
  return rows.map(toOutline)
}

/** Nobody decided about the call in time. */
export const hasExpired = (now: Date) =>
  sql<boolean>`tool_calls.exception = 'PENDING' and tool_calls.expires_at <= ${now}`

/** Runs of all tenants that wait for calls whose approval has expired, longest overdue first. */
export async function listRunsWithExpiredCalls(db: Db, now: Date): Promise<string[]> {
  const { rows } = await sql<{ run_id: string }>`
    select run_id from (
      select run_id, expires_at from tool_calls where ${hasExpired(now)} order by expires_at limit 500) expired
    group by run_id order by min(expires_at) limit 100`.execute(db)
  return rows.map((row) => row.run_id)
}

export interface WaitingCall {
  readonly id: string
  readonly runId: string
  readonly agentId: string
  readonly conversationId: string
  readonly needs: ToolCallNeed
  /** A text that changes when the call is claimed or gets one of several approvals. */
  readonly version: string | null
}

/** A page of the tenant's calls that wait, oldest first. */
export function listWaitingCallsPage(
  db: Db,
  reach: Reach,
  { after, limit }: { readonly after: string | undefined; readonly limit: number },
): Promise<WaitingCall[]> {
  const calls = waitingCalls(db, reach).orderBy('tool_calls.id').limit(limit)
  return (after === undefined ? calls : calls.where('tool_calls.id', '>', after)).execute()
}

/** The calls of these runs that wait. */
export function listWaitingCallsOfRuns(db: Db, reach: Reach, runIds: readonly string[]): Promise<WaitingCall[]> {
  return waitingCalls(db, reach)
    .where(sql<boolean>`tool_calls.run_id = any(${runIds}::uuid[])`)
    .orderBy('tool_calls.id')
    .execute()
}

function waitingCalls(db: Db, reach: Reach) {
  return callsOfTenant(db, reach)
    .where('tool_calls.exception', '=', 'PENDING')
    .innerJoin('runs', 'runs.id', 'tool_calls.run_id')
    .select([
      'tool_calls.id',
      'tool_calls.run_id as runId',
      'runs.agent_id as agentId',
      'runs.conversation_id as conversationId',
      'tool_calls.needs',
      versionOfWaiting.as('version'),
    ])
}

const versionOfWaiting = sql<string | null>`
  case when tool_calls.approval is not null or tool_calls.claim is not null
    then md5(concat(tool_calls.approval::text, tool_calls.claim::text)) end`

export function callsOfTenant(db: Db, reach: Reach) {
  return db.selectFrom('tool_calls').where(ofTenant('tool_calls', reach))
}
