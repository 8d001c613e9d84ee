import { sql } from 'kysely'

import type { McpServer } from '../../domain/tools/mcp-server.ts'
import type { ToolOfKind } from '../../domain/tools/tool.ts'
import type { Reach } from '../../domain/access/viewer.ts'
import { cutText, storableText } from '../../util/json.ts'
import { fromColumns, toColumns } from '../database/columns.ts'
import { readPage, type Page, type PageArguments } from '../database/page.ts'
import type { Db, Row } from '../database/schema.ts'
import { byId, finderOf, rowLockerOf } from '../access/tenant-rows.ts'
import { ofTenant } from '../access/tenant-scope.ts'
import { toTool } from './tools.ts'

export const findMcpServers = finderOf('mcp_servers', toMcpServer)

/** Oldest first. */
export function listMcpServersPage(db: Db, reach: Reach, page: PageArguments): Promise<Page<McpServer>> {
  const query = db.selectFrom('mcp_servers').where(ofTenant('mcp_servers', reach)).selectAll()
  return readPage(db, query, page, byId('mcp_servers', toMcpServer))
}

/** The tools of these servers, oldest first. */
export async function listToolsOfMcpServers(
  db: Db,
  reach: Reach,
  serverIds: readonly string[],
): Promise<ToolOfKind<'MCP'>[]> {
  const rows = await db
    .selectFrom('tools')
    .where(ofTenant('tools', reach))
    .where(sql<boolean>`tools.mcp_server_id = any(${serverIds}::uuid[])`)
    .selectAll()
    .orderBy('id')
    .execute()
  return rows.map(toTool).filter((tool) => tool.kind === 'MCP')
}

const made = ['id', 'tenantId', 'name', 'createdAt'] as const

/** False if the tenant already has a server with that name. */
export async function insertMcpServer(trx: Db, server: McpServer): Promise<boolean> {
  const { numInsertedOrUpdatedRows } = await trx
    .insertInto('mcp_servers')
    .values(toColumns(server, [...made, 'url', 'lastError', 'requiresApproval'], ['headers']))
    .onConflict((conflict) => conflict.columns(['tenant_id', 'name']).doNothing())
    .executeTakeFirst()
  return (numInsertedOrUpdatedRows ?? 0n) > 0n
}

/**
 * Inserts the server, or updates the one that the tenant has under that name, and returns it as stored. A server that a
 * client added under the name from then on belongs to the configuration file.
 */
export async function putConfiguredMcpServer(db: Db, server: McpServer): Promise<McpServer> {
  const settings = { ...toColumns(server, ['url', 'requiresApproval'], ['headers']), configured: true }
  const row = await db
    .insertInto('mcp_servers')
    .values({ ...toColumns(server, made), ...settings })
    .onConflict((conflict) => conflict.columns(['tenant_id', 'name']).doUpdateSet(settings))
    .returningAll()
    .executeTakeFirstOrThrow()
  return toMcpServer(row)
}

/** Locks it against removal and against another refresh. */
export const lockMcpServer = rowLockerOf('mcp_servers', toMcpServer, 'for update')

export async function setMcpServerError(db: Db, id: string, error: string | null): Promise<void> {
  await db
    .updateTable('mcp_servers')
    .set({ last_error: error === null ? null : cutText(storableText(error), 2_000) })
    .where('id', '=', id)
    .execute()
}

/** Removes the server and its tools. */
export async function deleteMcpServer(trx: Db, reach: Reach, id: string): Promise<void> {
  await trx.deleteFrom('mcp_servers').where(ofTenant('mcp_servers', reach)).where('id', '=', id).execute()
}

function toMcpServer(row: Row<'mcp_servers'>): McpServer {
  return fromColumns(row)
}
