import { sql, type Kysely, type Selectable } from 'kysely'

import type { McpServer } from '../domain/tools/mcp-server.ts'
import type { ToolOfKind } from '../domain/tools/tool.ts'
import type { Reach } from '../domain/access/viewer.ts'
import { cutText, storableText } from '../util/json.ts'
import { countRows, readPage, type Page, type PageArguments } from './database/page.ts'
import type { Database } from './database/schema.ts'
import { ofTenant } from './access/tenant-scope.ts'
import { toTool } from './tools.ts'

export async function findMcpServers(db: Kysely<Database>, reach: Reach, ids: readonly string[]): Promise<McpServer[]> {
  const rows = await serversOfTenant(db, reach)
    .where(sql<boolean>`id = any(${ids}::uuid[])`)
    .execute()
  return rows.map(toMcpServer)
}

/** Oldest first. */
export function listMcpServersPage(db: Kysely<Database>, reach: Reach, page: PageArguments): Promise<Page<McpServer>> {
  return readPage(serversOfTenant(db, reach), page, {
    key: 'mcp_servers.id',
    kind: 'uuid',
    order: 'oldest first',
    keyOf: (row) => row.id,
    toNode: toMcpServer,
  })
}

export function countMcpServers(db: Kysely<Database>, reach: Reach): Promise<number> {
  return countRows(db, serversOfTenant(db, reach))
}

/** The tools of these servers, oldest first. */
export async function listToolsOfMcpServers(
  db: Kysely<Database>,
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

/** False if the tenant already has a server with that name. */
export async function insertMcpServer(trx: Kysely<Database>, server: McpServer): Promise<boolean> {
  const { numInsertedOrUpdatedRows } = await trx
    .insertInto('mcp_servers')
    .values({
      id: server.id,
      tenant_id: server.tenantId,
      name: server.name,
      url: server.url,
      headers: JSON.stringify(server.headers),
      last_error: server.lastError,
      requires_approval: server.requiresApproval,
      created_at: server.createdAt,
    })
    .onConflict((conflict) => conflict.columns(['tenant_id', 'name']).doNothing())
    .executeTakeFirst()
  return (numInsertedOrUpdatedRows ?? 0n) > 0n
}

/**
 * Inserts the server, or updates the one that the tenant has under that name, and returns it as stored. A server that a
 * client added under the name from then on belongs to the configuration file.
 */
export async function putConfiguredMcpServer(db: Kysely<Database>, server: McpServer): Promise<McpServer> {
  const settings = {
    url: server.url,
    headers: JSON.stringify(server.headers),
    requires_approval: server.requiresApproval,
    configured: true,
  }
  const row = await db
    .insertInto('mcp_servers')
    .values({ id: server.id, tenant_id: server.tenantId, name: server.name, created_at: server.createdAt, ...settings })
    .onConflict((conflict) => conflict.columns(['tenant_id', 'name']).doUpdateSet(settings))
    .returningAll()
    .executeTakeFirstOrThrow()
  return toMcpServer(row)
}

/** Locks it against removal and against another refresh. */
export async function lockMcpServer(trx: Kysely<Database>, reach: Reach, id: string): Promise<McpServer | undefined> {
  const row = await serversOfTenant(trx, reach).where('id', '=', id).forUpdate().executeTakeFirst()
  return row && toMcpServer(row)
}

export async function setMcpServerError(db: Kysely<Database>, id: string, error: string | null): Promise<void> {
  await db
    .updateTable('mcp_servers')
    .set({ last_error: error === null ? null : cutText(storableText(error), 2_000) })
    .where('id', '=', id)
    .execute()
}

/** Removes the server and its tools. */
export async function deleteMcpServer(trx: Kysely<Database>, reach: Reach, id: string): Promise<void> {
  await trx.deleteFrom('mcp_servers').where(ofTenant('mcp_servers', reach)).where('id', '=', id).execute()
}

function serversOfTenant(db: Kysely<Database>, reach: Reach) {
  return db.selectFrom('mcp_servers').where(ofTenant('mcp_servers', reach)).selectAll()
}

function toMcpServer(row: Selectable<Database['mcp_servers']>): McpServer {
  return {
    id: row.id,
    tenantId: row.tenant_id,
    name: row.name,
    url: row.url,
    headers: row.headers,
    lastError: row.last_error,
    requiresApproval: row.requires_approval,
    configured: row.configured,
    createdAt: row.created_at,
  }
}
