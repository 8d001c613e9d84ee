import type { Client } from '../client/client.ts'
import { SendMessage, UpsertTool } from '../client/documents.ts'
import { AddMcpServer, CreateAgent, CreateApiKey, CreateBlock, UpdateAgent } from '../console/data/documents.ts'
import { approveAll, fillLittle, latestRun, send, type Filled } from './screenshot-data.ts'

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
  const { agent, conversation, run } = await fillLittle(client)
  const parameters = { type: 'object', properties: { to: { type: 'string' } } }
  const source = 'export default (args) => args\n'
  const toolName = 'reconcile_the_accounts_of_every_branch_with_the_ledger_of_head'
  await client.request(UpsertTool, {
    input: {
      name: toolName,
      description: sentence.repeat(3),
      parameters,
      requiresApproval: true,
      approvalTimeoutMs: 86_400_000,
      implementation: { javascript: { source } },
    },
  })
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
        tools: index < 70 ? [{ toolName }] : [],
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
  return { agent, conversation, run }
}

const to = (client: Client, agentId: string, text: string) =>
  client.request(SendMessage, { input: { to: { agentId }, messages: [{ text }], waitMs: 30_000 } })
