import { sql } from 'kysely'

import type { Agent } from '../../domain/agents/agent.ts'
import type { Reach } from '../../domain/access/viewer.ts'
import { storableText } from '../../util/json.ts'
import { fromColumns, toColumns } from '../database/columns.ts'
import { readPage, type Page, type PageArguments } from '../database/page.ts'
import type { Db, Row, Trx } from '../database/schema.ts'
import { byId, finderOf, lockerOf, rowLockerOf, sharerOf } from '../access/tenant-rows.ts'
import { ofTenant } from '../access/tenant-scope.ts'

export interface AgentFilter {
  readonly nameContains?: string | null | undefined
  readonly tags?: readonly string[] | null | undefined
  readonly key?: string | null | undefined
}

export function toAgent(row: Row<'agents'>): Agent {
  return fromColumns(row, ['deleted_at'])
}

function settableColumns(agent: Agent) {
  return toColumns(
    agent,
    [
      'name',
      'description',
      'instructions',
      'model',
      'embeddingModel',
      'tags',
      'timezone',
      'keepRequests',
      'tellTimes',
      'updatedAt',
    ],
    ['modelSettings', 'toolRules', 'compaction', 'metadata'],
  )
}

export const findAgents = finderOf('agents', toAgent)

function selectAgents(db: Db, reach: Reach, filter: AgentFilter) {
  let query = db.selectFrom('agents').where(ofTenant('agents', reach))
  if (typeof filter.nameContains === 'string')
    query = query.where(sql<boolean>`position(lower(${storableText(filter.nameContains)}) in lower(name)) > 0`)
  if (filter.tags) query = query.where(sql<boolean>`tags @> ${filter.tags.map(storableText)}::text[]`)
  if (typeof filter.key === 'string') query = query.where('key', '=', storableText(filter.key))
  return query
}

export function listAgentsPage(db: Db, reach: Reach, filter: AgentFilter, page: PageArguments): Promise<Page<Agent>> {
  return readPage(db, selectAgents(db, reach, filter).selectAll('agents'), page, byId('agents', toAgent))
}

/**
 * Locks agents against every other change to them and to what is attached to them. Runs can still be added. A caller
 * that also locks blocks or tools locks those first.
 */
export const lockAgents = lockerOf('agents', toAgent, 'for no key update')

export const lockAgent = rowLockerOf('agents', toAgent, 'for no key update')

/** Keeps an agent from being deleted. Unlike `lockAgent`, it waits for no change of the agent. */
export const shareAgent = sharerOf('agents')

export async function insertAgent(trx: Db, agent: Agent): Promise<void> {
  await trx
    .insertInto('agents')
    .values({ ...toColumns(agent, ['id', 'tenantId', 'key', 'createdAt']), ...settableColumns(agent) })
    .execute()
}

/** Writes the agent's new values. The caller has locked its row. */
export async function setAgent(trx: Db, agent: Agent): Promise<void> {
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
export async function lockAgentByKey(trx: Trx, reach: Reach, key: string): Promise<Agent | undefined> {
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
