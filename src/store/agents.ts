import { sql, type Kysely, type Selectable, type Transaction } from 'kysely'

import type { Agent } from '../domain/agent.ts'
import type { Reach } from '../domain/access/viewer.ts'
import { storableText } from '../util/json.ts'
import { countRows, readPage, type Page, type PageArguments } from './database/page.ts'
import type { Database } from './database/schema.ts'
import { ofTenant } from './access/tenant-scope.ts'

export interface AgentFilter {
  readonly nameContains?: string | null | undefined
  readonly tags?: readonly string[] | null | undefined
  readonly key?: string | null | undefined
}

export function toAgent(row: Selectable<Database['agents']>): Agent {
  return {
    id: row.id,
    tenantId: row.tenant_id,
    key: row.key,
    name: row.name,
    description: row.description,
    instructions: row.instructions,
    model: row.model,
    modelSettings: row.model_settings,
    toolRules: row.tool_rules,
    compaction: row.compaction,
    tags: row.tags,
    metadata: row.metadata,
    timezone: row.timezone,
    keepRequests: row.keep_requests,
    tellTimes: row.tell_times,
    createdAt: row.created_at,
    updatedAt: row.updated_at,
  }
}

function settableColumns(agent: Agent) {
  return {
    name: agent.name,
    description: agent.description,
    instructions: agent.instructions,
    model: agent.model,
    model_settings: JSON.stringify(agent.modelSettings),
    tool_rules: JSON.stringify(agent.toolRules),
    compaction: JSON.stringify(agent.compaction),
    tags: [...agent.tags],
    metadata: JSON.stringify(agent.metadata),
    timezone: agent.timezone,
    keep_requests: agent.keepRequests,
    tell_times: agent.tellTimes,
    updated_at: agent.updatedAt,
  }
}

export async function listAgents(db: Kysely<Database>, reach: Reach, ids: readonly string[]): Promise<Agent[]> {
  const rows = await db
    .selectFrom('agents')
    .selectAll()
    .where(ofTenant('agents', reach))
    .where('id', 'in', ids)
    .execute()
  return rows.map(toAgent)
}

function selectAgents(db: Kysely<Database>, reach: Reach, filter: AgentFilter) {
  let query = db.selectFrom('agents').where(ofTenant('agents', reach))
  if (typeof filter.nameContains === 'string')
    query = query.where(sql<boolean>`position(lower(${storableText(filter.nameContains)}) in lower(name)) > 0`)
  if (filter.tags) query = query.where(sql<boolean>`tags @> ${filter.tags.map(storableText)}::text[]`)
  if (typeof filter.key === 'string') query = query.where('key', '=', storableText(filter.key))
  return query
}

export function listAgentsPage(
  db: Kysely<Database>,
  reach: Reach,
  filter: AgentFilter,
  page: PageArguments,
): Promise<Page<Agent>> {
  return readPage(selectAgents(db, reach, filter).selectAll('agents'), page, {
    key: 'agents.id',
    kind: 'uuid',
    order: 'oldest first',
    keyOf: (row) => row.id,
    toNode: toAgent,
  })
}

export function countAgents(db: Kysely<Database>, reach: Reach, filter: AgentFilter): Promise<number> {
  return countRows(db, selectAgents(db, reach, filter).select('agents.id'))
}

/**
 * Locks agents against every other change to them and to what is attached to them. Runs can still be added. A caller
 * that also locks blocks or tools locks those first, so that no two commands deadlock.
 */
export async function lockAgents(trx: Kysely<Database>, reach: Reach, ids: readonly string[]): Promise<Agent[]> {
  if (ids.length === 0) return []
  const rows = await trx
    .selectFrom('agents')
    .selectAll()
    .where(ofTenant('agents', reach))
    .where('id', 'in', ids)
    .orderBy('id')
    .forNoKeyUpdate()
    .execute()
  return rows.map(toAgent)
}

export async function lockAgent(trx: Kysely<Database>, reach: Reach, id: string): Promise<Agent | undefined> {
  const [agent] = await lockAgents(trx, reach, [id])
  return agent
}

/**
 * Finds the agent and keeps it from being deleted until the transaction ends. Unlike `lockAgent`, it waits neither for
 * changes of the agent nor for other callers of this function.
 */
export async function shareAgent(
  trx: Transaction<Database>,
  reach: Reach,
  id: string,
): Promise<{ readonly id: string } | undefined> {
  return trx
    .selectFrom('agents')
    .select('id')
    .where(ofTenant('agents', reach))
    .where('id', '=', id)
    .forKeyShare()
    .executeTakeFirst()
}

export async function insertAgent(trx: Kysely<Database>, agent: Agent): Promise<void> {
  await trx
    .insertInto('agents')
    .values({
      id: agent.id,
      tenant_id: agent.tenantId,
      key: agent.key,
      created_at: agent.createdAt,
      ...settableColumns(agent),
    })
    .execute()
}

/** Writes the agent's new values. The caller has locked its row. */
export async function setAgent(trx: Kysely<Database>, agent: Agent): Promise<void> {
  await trx
    .updateTable('agents')
    .set(settableColumns(agent))
    .where(ofTenant('agents', agent))
    .where('id', '=', agent.id)
    .execute()
}

/**
 * Finds the agent with this key and locks it like `lockAgent`. Whether or not it exists, nobody else can read or create
 * an agent under this key until the transaction ends.
 */
export async function lockAgentByKey(
  trx: Transaction<Database>,
  reach: Reach,
  key: string,
): Promise<Agent | undefined> {
  await sql`select pg_advisory_xact_lock(hashtextextended(${`agent ${reach.tenantId} ${key}`}, 0))`.execute(trx)
  const row = await trx
    .selectFrom('agents')
    .selectAll()
    .where(ofTenant('agents', reach))
    .where('key', '=', key)
    .forNoKeyUpdate()
    .executeTakeFirst()
  return row && toAgent(row)
}
