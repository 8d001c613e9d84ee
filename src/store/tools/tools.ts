import { sql } from 'kysely'

import type { Tool, ToolImplementation, ToolKind } from '../../domain/tools/tool.ts'
import type { Reach } from '../../domain/access/viewer.ts'
import { storableText } from '../../util/json.ts'
import { fromColumns, toColumns } from '../database/columns.ts'
import { readPage, type Page, type PageArguments } from '../database/page.ts'
import type { Db, Row } from '../database/schema.ts'
import { byId, finderOf, rowLockerOf } from '../access/tenant-rows.ts'
import { ofTenant } from '../access/tenant-scope.ts'

export interface ToolFilter {
  readonly nameContains?: string | null | undefined
  readonly names?: readonly string[] | null | undefined
  readonly kinds?: readonly ToolKind[] | null | undefined
}

const ofImplementations = ['kind', 'source', 'url', 'headers', 'mcp_server_id', 'mcp_tool_name'] as const

export function toTool(row: Row<'tools'>): Tool {
  return { ...fromColumns(row, [...ofImplementations, 'code_settings']), ...implementationOf(row) }
}

/** Each kind has columns of its own, which a check of the table requires. */
function implementationOf(row: Row<'tools'>): ToolImplementation {
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

const made = ['id', 'tenantId', 'name', 'createdAt'] as const

function settableColumns(tool: Tool) {
  return {
    ...toColumns(
      tool,
      [
        ...(['description', 'kind', 'requiresApproval', 'approvalsRequired', 'approvalExcludesSender'] as const),
        ...(['approvalTimeoutMs', 'parallel', 'idempotent', 'returnCharLimit', 'timeoutMs', 'tags'] as const),
        ...(['isAvailable', 'updatedAt'] as const),
      ],
      ['parameters', 'approvalCondition'],
    ),
    source: tool.kind === 'JAVASCRIPT' ? tool.source : null,
    url: tool.kind === 'HTTP' ? tool.url : null,
    headers: tool.kind === 'HTTP' ? JSON.stringify(tool.headers) : null,
    mcp_server_id: tool.kind === 'MCP' ? tool.mcpServerId : null,
    mcp_tool_name: tool.kind === 'MCP' ? tool.mcpToolName : null,
  }
}

export const findTools = finderOf('tools', toTool)

/** The tools of these calls. A call refers to its tool by name. */
export async function findToolsByName(db: Db, reach: Reach, names: readonly string[]): Promise<Tool[]> {
  const rows = await db
    .selectFrom('tools')
    .where(ofTenant('tools', reach))
    .where(sql<boolean>`tools.name = any(${names}::text[])`)
    .selectAll()
    .execute()
  return rows.map(toTool)
}

export async function listBuiltinTools(db: Db, reach: Reach, names: readonly string[]): Promise<Tool[]> {
  const rows = await db
    .selectFrom('tools')
    .selectAll()
    .where(ofTenant('tools', reach))
    .where('kind', '=', 'BUILTIN')
    .where('name', 'in', names)
    .execute()
  return rows.map(toTool)
}

function filteredTools(db: Db, reach: Reach, filter: ToolFilter) {
  let query = db.selectFrom('tools').where(ofTenant('tools', reach))
  if (typeof filter.nameContains === 'string')
    query = query.where(sql<boolean>`position(lower(${storableText(filter.nameContains)}) in lower(name)) > 0`)
  // An array, so that Postgres looks the names up and doesn't read the tools in the order of the page instead.
  if (filter.names)
    query = query.where(
      sql<boolean>`id = any(array(select id from tools where ${ofTenant('tools', reach)} and ${isNamed(filter.names)}))`,
    )
  if (filter.kinds) query = query.where(sql<boolean>`kind = any(${[...filter.kinds]}::text[])`)
  return query
}

/** No tool has a name that cannot be stored. */
function isNamed(names: readonly string[]) {
  return sql<boolean>`tools.name = any(${names.filter((name) => storableText(name) === name)}::text[])`
}

export function listToolsPage(db: Db, reach: Reach, filter: ToolFilter, page: PageArguments): Promise<Page<Tool>> {
  return readPage(db, filteredTools(db, reach, filter).selectAll('tools'), page, byId('tools', toTool))
}

/** Keeps tools from being deleted but allows every other change. Locks in the order of their ids. */
export async function lockToolsToAttach(
  trx: Db,
  reach: Reach,
  given: readonly { readonly toolId?: string | null | undefined; readonly toolName?: string | null | undefined }[],
): Promise<Tool[]> {
  if (given.length === 0) return []
  const ids = given.flatMap(({ toolId }) => toolId ?? [])
  const rows = await trx
    .selectFrom('tools')
    .selectAll()
    .where(ofTenant('tools', reach))
    .where(sql<boolean>`(id = any(${ids}::uuid[]) or ${isNamed(given.flatMap(({ toolName }) => toolName ?? []))})`)
    .orderBy('id')
    .forKeyShare()
    .execute()
  return rows.map(toTool)
}

/** Locks a tool against every change, and against being attached. */
export const lockTool = rowLockerOf('tools', toTool, 'for update')

/** Like `lockTool`, by name. */
export async function lockToolByName(trx: Db, reach: Reach, name: string): Promise<Tool | undefined> {
  const query = trx.selectFrom('tools').selectAll().where(ofTenant('tools', reach)).where('name', '=', name)
  const row = await query.forUpdate().executeTakeFirst()
  return row && toTool(row)
}

/**
 * Inserts the tool, or replaces the one that the tenant has under that name, which keeps its id. Undefined if that one
 * did not come from a client.
 */
export async function upsertTool(db: Db, tool: Tool): Promise<Tool | undefined> {
  const columns = settableColumns(tool)
  const row = await db
    .insertInto('tools')
    .values({ ...toColumns(tool, made), ...columns })
    .onConflict((conflict) =>
      conflict.columns(['tenant_id', 'name']).doUpdateSet(columns).where('tools.kind', 'not in', ['BUILTIN', 'MCP']),
    )
    .returningAll()
    .executeTakeFirst()
  return row && toTool(row)
}

/** False if the tenant already has a tool of that name, of whatever kind. */
export async function insertTool(trx: Db, tool: Tool): Promise<boolean> {
  const { numInsertedOrUpdatedRows } = await trx
    .insertInto('tools')
    .values({ ...toColumns(tool, made), ...settableColumns(tool) })
    .onConflict((conflict) => conflict.columns(['tenant_id', 'name']).doNothing())
    .executeTakeFirst()
  return (numInsertedOrUpdatedRows ?? 0n) > 0n
}

/** Writes the tool's new values. The caller has locked its row. */
export async function setTool(trx: Db, tool: Tool): Promise<void> {
  await trx
    .updateTable('tools')
    .set(settableColumns(tool))
    .where(ofTenant('tools', tool))
    .where('id', '=', tool.id)
    .execute()
}

export async function deleteTool(trx: Db, reach: Reach, id: string): Promise<void> {
  await trx.deleteFrom('tools').where(ofTenant('tools', reach)).where('id', '=', id).execute()
}
