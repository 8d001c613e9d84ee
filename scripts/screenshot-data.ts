import type { Client } from '../client/client.ts'
import { CreateConversation, Regenerate, SendMessage, SubmitApprovals } from '../client/documents.ts'
import { createDemoAgent } from '../console/data/demo-agent.ts'
import {
  AddPassages,
  AgentNames,
  CreateAgent,
  CreateBudget,
  CreateSchedule,
  CreateWebhook,
  Runs,
  UpdateAgent,
} from '../console/data/documents.ts'

/** What to take pictures of. The agent has an archive. */
export interface Filled {
  readonly agent: string
  readonly conversation: string
  readonly run: string
}

const table = ['say | day | visitors |', 'say |---|---|', 'say | Monday | 1,204 |', 'say | Tuesday | 1,377 |']
const code = ['say ```js', 'say const total = visits.reduce((sum, { count }) => sum + count, 0)', 'say ```']
const messages = [
  'What can you do?',
  [
    'slow 3',
    'think The numbers are in the table of visits. I will show them by day, and how to add them up.',
    'say Here are the **visitors** of this week:',
    'say ',
    ...table,
    'say ',
    'say The sum is one line:',
    'say ',
    ...code,
  ].join('\n'),
  'slow 20\nsay Rolling a die with twenty sides.\ncall demo_dice {"sides":20}',
  'fail bad_request',
  'call demo_send_email {"to":"team@example.com","subject":"Visitors of this week"}',
]

const passages = [
  { text: 'Refunds take five working days, and a person approves those above 100 euros.', tags: ['policy'] },
  { text: 'Grace prefers reports as a table, on Monday mornings.', tags: ['people', 'reports'] },
  { text: 'The shop was closed for stocktaking from 2 to 4 November.', tags: ['shop'] },
]

/** A few agents and runs: one failed, one was approved, and one waits for a decision. */
export async function fillLittle(client: Client): Promise<Filled> {
  const conversation = await createDemoAgent(client, 'demo')
  const others = [
    ['Support desk', 'Answers questions of customers and asks a person before it refunds anything.'],
    ['Release notes', 'Turns merged changes into notes that people want to read.'],
  ] as const
  for (const [name, description] of others)
    await client.request(CreateAgent, { input: { name, description, model: 'demo/scripted', keepRequests: true } })
  const agent = await agentOf(client)
  await client.request(UpdateAgent, { input: { id: agent, keepRequests: true, embeddingModel: 'demo/embedding' } })
  await client.request(AddPassages, { input: { agentId: agent, passages } })
  await send(
    client,
    conversation,
    'slow 15\nthink A person has to agree first.\nsay I will ask for that.\ncall demo_dice {"sides":6}\ncall demo_send_email {"to":"grace@example.com","subject":"The report is ready"}',
  )
  const run = (await latestRun(client)).id
  // So that the timeline shows a wait for people.
  await new Promise((resolve) => setTimeout(resolve, 700))
  await approveAll(client, run)
  for (const text of messages) {
    await send(client, conversation, text)
    if (text.includes('**visitors**')) {
      const input = { runId: (await latestRun(client)).id, waitMs: 30_000 }
      await client.request(Regenerate, { input })
    }
  }
  await fillTimesAndLimits(client)
  return { agent, conversation, run }
}

async function fillTimesAndLimits(client: Client): Promise<void> {
  const [agentId, other] = (await client.request(AgentNames, {})).agents.nodes.map(({ id }) => id)
  const messages = [{ text: 'Summarise what happened since yesterday.' }]
  const morning = { name: 'Morning report', agentId: agentId!, cron: '30 8 * * MON-FRI', messages }
  await client.request(CreateSchedule, { input: morning })
  await client.request(CreateSchedule, { input: { ...morning, name: 'Every hour', cron: '0 * * * *', enabled: false } })
  await client.request(CreateBudget, { input: { period: 'MONTH', limitUsd: 100, limitTokens: 2_000_000 } })
  await client.request(CreateBudget, { input: { agentId: other!, period: 'DAY', limitTokens: 50_000 } })
  await client.request(CreateBudget, { input: { actorId: 'open', period: 'DAY', limitTokens: 0, whenReached: 'ASK' } })
  const url = 'https://example.com/holdpoint'
  await client.request(CreateWebhook, { input: { url, events: ['APPROVAL_EXPIRED', 'SCHEDULE_FAILED'] } })
  const { createConversation } = await client.request(CreateConversation, { input: { agentId: other! } })
  await send(client, createConversation!.conversation.id, 'Go on')
}

export const send = (client: Client, conversationId: string, text: string) =>
  client.request(SendMessage, { input: { to: { conversationId }, messages: [{ text }], waitMs: 30_000 } })

export const latestRun = async (client: Client) => (await client.request(Runs, { first: 1 })).runs.nodes[0]!

async function agentOf(client: Client): Promise<string> {
  const { agents } = await client.request<{ agents: { nodes: { id: string }[] } }, object>(
    'query { agents(first: 1) { nodes { id } } }',
    {},
  )
  return agents.nodes[0]!.id
}

export async function approveAll(client: Client, runId: string): Promise<void> {
  const { run } = await client.request<{ run: { pendingToolCalls: { id: string }[] } }, object>(
    'query ($id: ID!) { run(id: $id) { pendingToolCalls { id } } }',
    { id: runId },
  )
  const decisions = run.pendingToolCalls.map(({ id }) => ({ approve: { toolCallId: id } }))
  await client.request(SubmitApprovals, { input: { runId, decisions, waitMs: 30_000 } })
}
