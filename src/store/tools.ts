import { sql, type Kysely, type Selectable } from 'kysely'

import type { Tool, ToolImplementation, ToolKind } from '../domain/tools/tool.ts'
import type { Reach } from '../domain/access/viewer.ts'
import { storableText } from '../util/json.ts'
import { countRows, readPage, type Page, type PageArguments } from './database/page.ts'
import type { Database } from './database/schema.ts'
import { ofTenant } from './access/tenant-scope.ts'

export interface ToolFilter {
  readonly nameContains?: string | null | undefined
  readonly kinds?: readonly ToolKind[] | null | undefined
}

export function toTool(row: Selectable<Database['tools']>): Tool {
  return {
    id: row.id,
    tenantId: row.tenant_id,
    name: row.name,
    description: row.description,
    parameters: row.parameters,
    requiresApproval: row.requires_approval,
    approvalCondition: row.approval_condition,
    approvalsRequired: row.approvals_required,
    approvalExcludesSender: row.approval_excludes_sender,
    approvalTimeoutMs: row.approval_timeout_ms,
    parallel: row.parallel,
    idempotent: row.idempotent,
    returnCharLimit: row.return_char_limit,
    timeoutMs: row.timeout_ms,
    tags: row.tags,
    isAvailable: row.is_available,
    createdAt: row.created_at,
    updatedAt: row.updated_at,
    ...implementationOf(row),
  }
}

/** Each kind has columns of its own, which a check of the table requires. */
function implementationOf(row: Selectable<Database['tools']>): ToolImplementation {
  switch (row.kind) {
    case 'BUILTIN':
    case 'CLIENT':
      return { kind: row.kind }
    case 'JAVASCRIPT':
      return { kind: row.kind, source: row.source! }
    case 'HTTP':
      return { kind: row.kind, url: row.url!, headers: row.headers! }
    case 'MCP':
      return { kind: row.kind, mcpServerId: row.mcp_server_id!, mcpToolName: row.mcp_tool_name! }
    default:
      return row.kind satisfies never
  }
}

function settableColumns(tool: Tool) {
  return {
    description: tool.description,
    kind: tool.kind,
    parameters: JSON.stringify(tool.parameters),
    requires_approval: tool.requiresApproval,
    approval_condition: tool.approvalCondition === null ? null : JSON.stringify(tool.approvalCondition),
    approvals_required: tool.approvalsRequired,
    approval_excludes_sender: tool.approvalExcludesSender,
    approval_timeout_ms: tool.approvalTimeoutMs,
    parallel: tool.parallel,
    idempotent: tool.idempotent,
    return_char_limit: tool.returnCharLimit,
    timeout_ms: tool.timeoutMs,
    tags: [...tool.tags],
    source: tool.kind === 'JAVASCRIPT' ? tool.source : null,
    url: tool.kind === 'HTTP' ? tool.url : null,
    headers: tool.kind === 'HTTP' ? JSON.stringify(tool.headers) : null,
    mcp_server_id: tool.kind === 'MCP' ? tool.mcpServerId : null,
    mcp_tool_name: tool.kind === 'MCP' ? tool.mcpToolName : null,
    is_available: tool.isAvailable,
    updated_at: tool.updatedAt,
  }
}

export async function listTools(db: Kysely<Database>, reach: Reach, ids: readonly string[]): Promise<Tool[]> {
  const rows = await db.selectFrom('tools').selectAll().where(ofTenant('tools', reach)).where('id', 'in', ids).execute()
  return rows.map(toTool)
}

export async function listBuiltinTools(db: Kysely<Database>, reach: Reach, names: readonly string[]): Promise<Tool[]> {
  const rows = await db
    .selectFrom('tools')
    .selectAll()
    .where(ofTenant('tools', reach))
    .where('kind', '=', 'BUILTIN')
    .where('name', 'in', names)
    .execute()
  return rows.map(toTool)
}

export function countTools(db: Kysely<Database>, reach: Reach, filter: ToolFilter): Promise<number> {
  return countRows(db, filteredTools(db, reach, filter).select('tools.id'))
}

function filteredTools(db: Kysely<Database>, reach: Reach, filter: ToolFilter) {
  let query = db.selectFrom('tools').where(ofTenant('tools', reach))
  if (typeof filter.nameContains === 'string')
    query = query.where(sql<boolean>`position(lower(${storableText(filter.nameContains)}) in lower(name)) > 0`)
  if (filter.kinds) query = query.where(sql<boolean>`kind = any(${[...filter.kinds]}::text[])`)
  return query
}

export function listToolsPage(
  db: Kysely<Database>,
  reach: Reach,
  filter: ToolFilter,
  page: PageArguments,
): Promise<Page<Tool>> {
  return readPage(filteredTools(db, reach, filter).selectAll('tools'), page, {
    key: 'tools.id',
    kind: 'uuid',
    order: 'oldest first',
    keyOf: (row) => row.id,
    toNode: toTool,
  })
}

/** Keeps tools from being deleted but allows every other change. Locks in the order of their ids. */
export async function lockToolsToAttach(trx: Kysely<Database>, reach: Reach, ids: readonly string[]): Promise<Tool[]> {
  if (ids.length === 0) return []
  const rows = await trx
    .selectFrom('tools')
    .selectAll()
    .where(ofTenant('tools', reach))
    .where('id', 'in', ids)
    .orderBy('id')
    .forKeyShare()
    .execute()
  return rows.map(toTool)
}

/** Locks tools against every change, and against being attached. */
export async function lockTool(trx: Kysely<Database>, reach: Reach, id: string): Promise<Tool | undefined> {
  const row = await toolsToLock(trx, reach).where('id', '=', id).executeTakeFirst()
  return row && toTool(row)
}

export async function lockToolByName(trx: Kysely<Database>, reach: Reach, name: string): Promise<Tool | undefined> {
  const row = await toolsToLock(trx, reach).where('name', '=', name).executeTakeFirst()
  return row && toTool(row)
}

function toolsToLock(trx: Kysely<Database>, reach: Reach) {
  return trx.selectFrom('tools').selectAll().where(ofTenant('tools', reach)).forUpdate()
}

/**
 * Inserts the tool, or replaces the one that the tenant has under that name, which keeps its id. Undefined if that one
 * did not come from a client.
 */
export async function upsertTool(db: Kysely<Database>, tool: Tool): Promise<Tool | undefined> {
  const columns = settableColumns(tool)
  const row = await db
    .insertInto('tools')
    .values({ id: tool.id, tenant_id: tool.tenantId, name: tool.name, created_at: tool.createdAt, ...columns })
    .onConflict((conflict) =>
      conflict.columns(['tenant_id', 'name']).doUpdateSet(columns).where('tools.kind', 'not in', ['BUILTIN', 'MCP']),
    )
    .returningAll()
    .executeTakeFirst()
  return row && toTool(row)
}

/** False if the tenant already has a tool of that name, of whatever kind. */
export async function insertTool(trx: Kysely<Database>, tool: Tool): Promise<boolean> {
  const { numInsertedOrUpdatedRows } = await trx
    .insertInto('tools')
    .values({
      id: tool.id,
      tenant_id: tool.tenantId,
      name: tool.name,
      created_at: tool.createdAt,
      ...settableColumns(tool),
    })
    .onConflict((conflict) => conflict.columns(['tenant_id', 'name']).doNothing())
    .executeTakeFirst()
  return (numInsertedOrUpdatedRows ?? 0n) > 0n
}

/** Writes the tool's new values. The caller has locked its row. */
export async function setTool(trx: Kysely<Database>, tool: Tool): Promise<void> {
  await trx
    .updateTable('tools')
    .set(settableColumns(tool))
    .where(ofTenant('tools', tool))
    .where('id', '=', tool.id)
    .execute()
}

export async function deleteTool(trx: Kysely<Database>, reach: Reach, id: string): Promise<void> {
  await trx.deleteFrom('tools').where(ofTenant('tools', reach)).where('id', '=', id).execute()
}
