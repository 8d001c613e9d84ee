import { sql, type Kysely, type Selectable } from 'kysely'

import type { McpServer } from '../domain/mcp-server.ts'
import type { Tool } from '../domain/tool.ts'
import type { Database } from './schema.ts'
import { ofTenant } from './tenant-scope.ts'
import { toTool } from './tools.ts'

export async function findMcpServers(
  db: Kysely<Database>,
  tenantId: string,
  ids: readonly string[],
): Promise<McpServer[]> {
  const rows = await serversOfTenant(db, tenantId)
    .where(sql<boolean>`id = any(${ids}::uuid[])`)
    .execute()
  return rows.map(toMcpServer)
}

/** Oldest first. */
export async function listMcpServers(db: Kysely<Database>, tenantId: string): Promise<McpServer[]> {
  const rows = await serversOfTenant(db, tenantId).orderBy('id').execute()
  return rows.map(toMcpServer)
}

/** The tools of these servers, oldest first. */
export async function listToolsOfMcpServers(
  db: Kysely<Database>,
  tenantId: string,
  serverIds: readonly string[],
): Promise<Tool[]> {
  const rows = await db
    .selectFrom('tools')
    .where(ofTenant('tools', tenantId))
    .where(sql<boolean>`tools.mcp_server_id = any(${serverIds}::uuid[])`)
    .selectAll()
    .orderBy('id')
    .execute()
  return rows.map(toTool)
}

function serversOfTenant(db: Kysely<Database>, tenantId: string) {
  return db.selectFrom('mcp_servers').where(ofTenant('mcp_servers', tenantId)).selectAll()
}

function toMcpServer(row: Selectable<Database['mcp_servers']>): McpServer {
  return {
    id: row.id,
    tenantId: row.tenant_id,
    name: row.name,
    url: row.url,
    headers: row.headers,
    lastError: row.last_error,
    createdAt: row.created_at,
  }
}
