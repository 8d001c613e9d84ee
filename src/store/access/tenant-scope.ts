import { sql, type RawBuilder, type SqlBool } from 'kysely'

import { isLimited, type Reach } from '../../domain/access/viewer.ts'
import type { Database } from '../database/schema.ts'

export type TenantTable = {
  [Table in keyof Database]: Database[Table] extends { tenant_id: string } ? Table : never
}[keyof Database]

type Condition = RawBuilder<SqlBool>

/**
 * The only place that filters by tenant, and by the agents and conversations that a viewer is limited to:
 * `where(ofTenant('agents', viewer))`. Rows of a deleted agent or conversation that still exist belong to nobody.
 */
export function ofTenant(table: TenantTable, reach: Reach): Condition {
  const isKept = notDeleted[table]
  const isOwned = ofTenantAtWork(table, reach)
  return isKept ? sql<SqlBool>`${isOwned} and ${isKept}` : isOwned
}

/** The same for what belongs to unfinished runs: such rows are deleted at once. */
export function ofTenantAtWork(table: TenantTable, reach: Reach): Condition {
  const ofWholeTenant = sql<SqlBool>`${sql.raw(`${table}.tenant_id`)} = ${reach.tenantId}::uuid`
  if (!isLimited(reach)) return ofWholeTenant
  return sql<SqlBool>`${ofWholeTenant} and ${limitsOf[table](reach)}`
}

/** Mostly empty: then Postgres looks once into an empty index. */
const deletedConversations = sql`(select deleted.id from conversations deleted where deleted.deleted_at is not null)`

/** Whether the conversation that the column names was not deleted. */
function isInConversation(column: string): Condition {
  return sql<SqlBool>`${sql.raw(column)} not in ${deletedConversations}`
}

/** See store/deletions.ts. */
const notDeleted: Partial<Record<TenantTable, Condition>> = {
  agents: sql`agents.deleted_at is null`,
  conversations: sql`conversations.deleted_at is null`,
  runs: isInConversation('runs.conversation_id'),
  // A scalar subquery: with `exists` Postgres would consider reading all runs.
  tool_calls: sql`(not exists ${deletedConversations} or
    (select owner.conversation_id from runs owner where owner.id = tool_calls.run_id) not in ${deletedConversations})`,
  files: isInConversation('files.conversation_id'),
  passages: sql`passages.agent_id not in (select deleted.id from agents deleted where deleted.deleted_at is not null)`,
}

/** What a limited viewer may see in each table. */
const limitsOf: Record<TenantTable, (reach: Reach) => Condition> = {
  agents: (reach) => ofAgents(reach, 'agents.id'),
  conversations: (reach) => ofConversations(reach, { agentId: 'conversations.agent_id', id: 'conversations.id' }),
  runs: ofRuns,
  tool_calls: (reach) => sql`exists (select from runs where runs.id = tool_calls.run_id and ${ofRuns(reach)})`,
  tools: (reach) =>
    ofWholeAgents(
      reach,
      (isAllowed) => sql`exists (select from agent_tools where agent_tools.tool_id = tools.id
        and ${isAllowed('agent_tools.agent_id')})`,
    ),
  blocks: (reach) =>
    sql`(${ofWholeAgents(
      reach,
      (isAllowed) => sql`exists (select from agent_blocks where agent_blocks.block_id = blocks.id
        and ${isAllowed('agent_blocks.agent_id')})`,
    )} or exists (select from conversations owner where owner.id = blocks.conversation_id
      and ${ofConversations(reach, { agentId: 'owner.agent_id', id: 'owner.id' })}))`,
  passages: (reach) => ofWholeAgents(reach, (isAllowed) => isAllowed('passages.agent_id')),
  // A group has several agents.
  sleeptime_groups: nothing,
  mcp_servers: nothing,
  api_keys: nothing,
  audit_entries: nothing,
  idempotency_keys: nothing,
  files: (reach) =>
    sql`exists (select from conversations where conversations.id = files.conversation_id
      and ${ofConversations(reach, { agentId: 'conversations.agent_id', id: 'conversations.id' })})`,
  file_contents: nothing,
  usage_hours: (reach) => ofWholeAgents(reach, (isAllowed) => isAllowed('usage_hours.agent_id')),
  // A budget of an actor or of the tenant concerns all agents.
  budgets: (reach) => ofWholeAgents(reach, (isAllowed) => isAllowed('budgets.agent_id')),
  webhooks: nothing,
  webhook_deliveries: nothing,
  // Without a conversation, its runs are in new ones.
  schedules: (reach) => ofConversations(reach, { agentId: 'schedules.agent_id', id: 'schedules.conversation_id' }),
}

function ofRuns(reach: Reach): Condition {
  return ofConversations(reach, { agentId: 'runs.agent_id', id: 'runs.conversation_id' })
}

function ofConversations(
  { allowedAgentIds, allowedConversationIds }: Reach,
  columns: { readonly agentId: string; readonly id: string },
): Condition {
  const agents = allowedAgentIds ? sql`${sql.ref(columns.agentId)} = any(${allowedAgentIds}::uuid[])` : sql`true`
  const conversations = allowedConversationIds
    ? sql`${sql.ref(columns.id)} = any(${allowedConversationIds}::uuid[])`
    : sql`true`
  return sql`(${agents} and ${conversations})`
}

/** The allowed agents or, if conversations are limited too, only the agents of those conversations. */
function ofAgents({ allowedAgentIds, allowedConversationIds }: Reach, column: string): Condition {
  const agents = allowedAgentIds ? sql`${sql.ref(column)} = any(${allowedAgentIds}::uuid[])` : sql`true`
  const withConversations = allowedConversationIds
    ? sql`${sql.ref(column)} in (select visible.agent_id from conversations visible
        where visible.id = any(${allowedConversationIds}::uuid[]))`
    : sql`true`
  return sql`(${agents} and ${withConversations})`
}

/**
 * What is attached to an agent is visible if the agent is allowed. It concerns more than one conversation, so a viewer
 * who is limited to conversations sees none of it.
 */
function ofWholeAgents(reach: Reach, condition: (isAllowed: (column: string) => Condition) => Condition): Condition {
  return reach.allowedConversationIds ? nothing() : condition((column) => ofAgents(reach, column))
}

function nothing(): Condition {
  return sql`false`
}
