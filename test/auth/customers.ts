import type { OpenDatabase } from '../../src/store/database/open-database.ts'
import type { GraphQLClient } from '../support/graphql-client.ts'

/** A conversation with a finished and a waiting run. All of its texts have `mark`. */
export interface Customer {
  readonly mark: string
  readonly agentId: string
  readonly conversationId: string
  readonly runIds: readonly string[]
}

/** An agent with a tool, a block and a sleeptime group. All of its texts have `<name>-agent-mark`. */
export async function createAgent(admin: GraphQLClient, name: string): Promise<string> {
  const mark = `${name}-agent-mark`
  const { upsertTool } = await admin.data(
    'mutation ($input: UpsertToolInput!) { upsertTool(input: $input) { tool { id } } }',
    {
      input: {
        name: `${name}_pay`,
        description: mark,
        requiresApproval: true,
        implementation: { javascript: { source: `export default () => '${mark}'` } },
      },
    },
  )
  const { createAgent: created } = await admin.data(
    'mutation ($input: CreateAgentInput!) { createAgent(input: $input) { agent { id } } }',
    {
      input: {
        name,
        model: 'demo/scripted',
        instructions: mark,
        blocks: [{ label: 'facts', value: mark }],
        tools: [{ toolId: upsertTool.tool.id }],
      },
    },
  )
  const { id } = created.agent
  await admin.data('mutation ($input: AddPassagesInput!) { addPassages(input: $input) { passages { id } } }', {
    input: { agentId: id, passages: [{ text: mark }] },
  })
  await admin.data(
    'mutation ($id: ID!) { createSleeptimeGroup(input: { agentId: $id, frequency: 1 }) { group { id } } }',
    { id },
  )
  await admin.data(
    'mutation ($id: ID!) { createBudget(input: { agentId: $id, period: DAY, limitTokens: 2000000000 }) { budget { id } } }',
    { id },
  )
  return id
}

export async function createCustomer(admin: GraphQLClient, agentId: string, mark: string): Promise<Customer> {
  const { createConversation } = await admin.data(
    'mutation ($input: CreateConversationInput!) { createConversation(input: $input) { conversation { id agent { name } } } }',
    { input: { agentId, title: mark, metadata: { mark } } },
  )
  const { id: conversationId, agent } = createConversation.conversation
  const messages = [{ text: mark }]
  await admin.data('mutation ($input: CreateScheduleInput!) { createSchedule(input: $input) { schedule { id } } }', {
    input: { name: mark, agentId, conversationId, cron: '0 0 29 2 *', messages },
  })
  await admin.data('mutation ($input: CreateWebhookInput!) { createWebhook(input: $input) { webhook { id } } }', {
    input: { url: `https://1.1.1.1/${mark}`, events: ['SCHEDULE_FAILED'], agentIds: [agentId] },
  })
  const runIds: string[] = []
  // Just long enough to be stored as a file.
  const documentUrl = `data:text/plain;base64,${Buffer.from(mark.repeat(800)).toString('base64')}`
  for (const text of [`say ${mark}`, `call ${agent.name}_pay {"note":"${mark}"}`]) {
    const { sendMessage } = await admin.data(
      `mutation ($input: SendMessageInput!) { sendMessage(input: $input) { ... on SendMessageSuccess { run { id status } } } }`,
      { input: { to: { conversationId }, messages: [{ content: [{ text }, { documentUrl }] }], waitMs: 30_000 } },
    )
    runIds.push(sendMessage.run.id)
  }
  return { mark, agentId, conversationId, runIds }
}

/** All rows, except for what authentication and time leave behind. */
export async function fingerprint({ pool }: OpenDatabase): Promise<string> {
  const tables = ['agents', 'conversations', 'runs', 'messages', 'tool_calls', 'tools', 'blocks', 'agent_tools']
  const more = ['agent_blocks', 'sleeptime_groups', 'mcp_servers', 'tenants', 'schedules', 'webhooks']
  const rows = await Promise.all(
    [...tables, ...more].map((table) =>
      pool.query(`select md5(string_agg(t::text, ',' order by t::text)) from ${table} t`),
    ),
  )
  return JSON.stringify(rows.map(({ rows: [row] }) => row))
}
