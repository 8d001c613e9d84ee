import type { Client } from '../client/client.ts'
import { SendMessage, SubmitApprovals } from '../client/documents.ts'
import { createDemoAgent } from '../console/data/demo-agent.ts'
import {
  AddMcpServer,
  CreateAgent,
  CreateApiKey,
  CreateBlock,
  Regenerate,
  Runs,
  UpdateAgent,
  UpsertTool,
} from '../console/data/documents.ts'

/** The conversation and the run to take pictures of. */
export interface Filled {
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

/** A few agents and runs: one failed, one was approved, and one waits for a decision. */
export async function fillLittle(client: Client): Promise<Filled> {
  const conversation = await createDemoAgent(client)
  const others = [
    ['Support desk', 'Answers questions of customers and asks a person before it refunds anything.'],
    ['Release notes', 'Turns merged changes into notes that people want to read.'],
  ] as const
  for (const [name, description] of others)
    await client.request(CreateAgent, { input: { name, description, model: 'demo/scripted', keepRequests: true } })
  await client.request(UpdateAgent, { input: { id: await agentOf(client), keepRequests: true } })
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
  return { conversation, run }
}

const word = 'Donaudampfschifffahrtselektrizitätenhauptbetriebswerkbauunterbeamtengesellschaft'
const sentence = 'The quarterly figures of the northern branch arrive later than those of every other branch. '
const url = `https://example.com/${'a/very/long/path/'.repeat(12)}?token=${'0123456789abcdef'.repeat(6)}`

const longAnswer = [
  `# A report with a rather long heading that goes on: ${word}`,
  sentence.repeat(6),
  `A link: [${url}](${url}), \`inline code that is long enough to wrap at some width or other\`, **bold** and *italic*.`,
  '## A wide table',
  `| ${Array.from({ length: 12 }, (_, index) => `column ${index + 1}`).join(' | ')} |`,
  `|${'---|'.repeat(12)}`,
  ...Array.from(
    { length: 6 },
    (_, row) => `| ${Array.from({ length: 12 }, (_, index) => (row * 7919 * (index + 1)) % 100_003).join(' | ')} |`,
  ),
  '',
  '## Code',
  '```ts',
  `export const address = '${url}'`,
  'export function total(rows: readonly { readonly amount: number }[]): number {',
  '  return rows.reduce((sum, { amount }) => sum + amount, 0) // adds them up',
  '}',
  '```',
  '1. One',
  '   - One point one',
  `     - ${word}`,
  '2. Two',
  '',
  `> ${sentence}`,
  '',
  '- [x] done',
  '- [ ] not done',
]
  .map((line) => `say ${line}`)
  .join('\n')

/** An object inside an object, this deep. */
const deep = (depth: number): object =>
  depth === 0 ? { end: word } : { [`level_${depth}`]: deep(depth - 1), values: [depth, sentence] }

/** Hundreds of agents, runs and calls that wait, with long names, long words and deep arguments. */
export async function fillMuch(client: Client): Promise<Filled> {
  const { conversation, run } = await fillLittle(client)
  const parameters = { type: 'object', properties: { to: { type: 'string' } } }
  const source = 'export default (args) => args\n'
  const tool = await client.request(UpsertTool, {
    input: {
      name: 'reconcile_the_accounts_of_every_branch_with_the_ledger_of_head',
      description: sentence.repeat(3),
      parameters,
      requiresApproval: true,
      approvalTimeoutMs: 86_400_000,
      implementation: { javascript: { source } },
    },
  })
  const toolId = tool.upsertTool!.tool.id
  for (let index = 0; index < 40; index++)
    await client.request(UpsertTool, {
      input: {
        name: `tool_${index}`,
        description: sentence,
        parameters,
        implementation: index % 3 ? { javascript: { source } } : { client: true },
      },
    })
  const names = [
    'Bookkeeper',
    word,
    `${sentence}${sentence}`.slice(0, 190),
    'A',
    '日本語の長い名前のエージェント',
    '🐘 Elephant',
  ]
  const agents: string[] = []
  for (let index = 0; index < 210; index++) {
    const name = names[index % names.length]! + (index < names.length ? '' : ` ${index}`)
    const { createAgent } = await client.request(CreateAgent, {
      input: {
        name: name.slice(0, 200),
        description: index % 2 ? sentence.repeat(4) : word.repeat(2),
        model: 'demo/scripted',
        tools: index < 70 ? [{ toolId }] : [],
        tags: ['finance', word.slice(0, 64)],
      },
    })
    agents.push(createAgent!.agent.id)
  }
  const shared = await client.request(CreateBlock, {
    input: {
      label: `a_block_that_${'many_'.repeat(9)}share`,
      value: `${sentence.repeat(60)}\n${word.repeat(4)}`,
      description: sentence.repeat(2),
    },
  })
  for (const id of agents.slice(0, 30))
    await client.request(UpdateAgent, { input: { id, blockIds: [shared.createBlock!.block.id] } })
  for (let index = 0; index < 40; index++)
    await client.request(CreateBlock, {
      input: { label: `note_${index}`, value: sentence.repeat(index % 7), description: null },
    })
  for (const [name, scopes] of [
    ['the app', ['RUN']],
    [word, ['READ', 'RUN', 'APPROVE', 'MANAGE']],
  ] as const)
    await client.request(CreateApiKey, { input: { name: name.slice(0, 80), scopes } })
  await client.request(AddMcpServer, { input: { name: 'away', url: 'http://127.0.0.1:9/mcp' } }).catch(() => {})
  for (const id of agents.slice(0, 200)) await to(client, id, `say ${sentence}`)
  for (const [index, id] of agents.slice(0, 70).entries())
    await to(
      client,
      id,
      `think Hm.\ncall reconcile_the_accounts_of_every_branch_with_the_ledger_of_head ${JSON.stringify(index % 4 === 0 ? deep(12) : { to: index % 3 ? 'the bank' : url })}`,
    )
  await send(client, conversation, `call demo_send_email ${JSON.stringify({ to: url, subject: sentence.repeat(30) })}`)
  await approveAll(client, (await latestRun(client)).id)
  await send(client, conversation, `think ${sentence.repeat(5)}\n${longAnswer}`)
  return { conversation, run }
}

const to = (client: Client, agentId: string, text: string) =>
  client.request(SendMessage, { input: { to: { agentId }, messages: [{ text }], waitMs: 30_000 } })

const send = (client: Client, conversationId: string, text: string) =>
  client.request(SendMessage, { input: { to: { conversationId }, messages: [{ text }], waitMs: 30_000 } })

const latestRun = async (client: Client) => (await client.request(Runs, { first: 1 })).runs.nodes[0]!

async function agentOf(client: Client): Promise<string> {
  const { agents } = await client.request<{ agents: { nodes: { id: string }[] } }, object>(
    'query { agents(first: 1) { nodes { id } } }',
    {},
  )
  return agents.nodes[0]!.id
}

async function approveAll(client: Client, runId: string): Promise<void> {
  const { run } = await client.request<{ run: { pendingToolCalls: { id: string }[] } }, object>(
    'query ($id: ID!) { run(id: $id) { pendingToolCalls { id } } }',
    { id: runId },
  )
  const decisions = run.pendingToolCalls.map(({ id }) => ({ approve: { toolCallId: id } }))
  await client.request(SubmitApprovals, { input: { runId, decisions, waitMs: 30_000 } })
}
