import { defineTool } from '../src/tools/registry.ts'
import { bold, createDemoClient, dim, runFields, type DemoClient } from './demo-client.ts'
import { startThrowawayServer } from './throwaway-server.ts'

/** What a client of Holdpoint sees: an answer, approvals of every kind, a cancel. Needs no key and no network. */
const tools = [
  defineTool({
    name: 'send_mail',
    description: 'Sends a mail.',
    parameters: {
      type: 'object',
      properties: { to: { type: 'string' }, text: { type: 'string' } },
      required: ['to', 'text'],
      additionalProperties: false,
    },
    run: ({ to, text }) => `sent to ${to}: ${text}`,
  }),
]

console.log(dim('Starting a server with a database of its own, in a temporary folder …'))
const starting = startThrowawayServer({ tools })
// Who goes in the middle of it leaves nothing behind either.
for (const signal of ['SIGINT', 'SIGTERM'] as const) {
  process.once(signal, () => void starting.then((server) => server.stop()).finally(() => process.exit(1)))
}
const server = await starting
const client = createDemoClient(server.url)
try {
  console.log(dim(`It answers at ${server.url}. All that follows is said to it in GraphQL.`))
  await tellTheStory(client)
} finally {
  await client.close()
  await server.stop()
}

async function tellTheStory(client: DemoClient): Promise<void> {
  title('An agent whose mails a person must approve', 'createAgent')
  const { tools } = await client.ask('{ tools(filter: { nameContains: "send_mail" }) { nodes { id } } }')
  const { createAgent } = await client.ask(
    'mutation ($input: CreateAgentInput!) { createAgent(input: $input) { agent { id name model } } }',
    {
      input: {
        name: 'Ada',
        model: 'demo/scripted',
        includeBaseTools: false,
        tools: [{ toolId: tools.nodes[0].id, approvalOverride: true }],
      },
    },
  )
  const agentId: string = createAgent.agent.id
  console.log(`  ${createAgent.agent.name}, ${createAgent.agent.model}, ${dim(agentId)}`)

  title('An answer, as it is written', 'sendMessage, runEvents')
  await client.show(await send(client, agentId, 'slow 25\nGood morning, Ada.'))

  title('The agent wants to send a mail, and waits', 'sendMessage, runEvents')
  const first = await client.show(await send(client, agentId, mail('grace@example.com', 'The report is ready.')))
  showPending(first)
  title('Approved: the tool runs, the same run goes on', 'submitApprovals { approve }')
  await decide(client, first, { approve: { toolCallId: first.pendingToolCalls[0].id } })

  title('Another mail is denied, and the model reads why', 'submitApprovals { deny }')
  const second = await client.show(await send(client, agentId, mail('everyone@example.com', 'Lunch?')))
  showPending(second)
  const reason = 'Never write to everyone.'
  await decide(client, second, { deny: { toolCallId: second.pendingToolCalls[0].id, reason } })

  title('Approved with other arguments', 'submitApprovals { approve { arguments } }')
  const third = await client.show(await send(client, agentId, mail('grace@example.com', 'pls send teh numbers')))
  showPending(third)
  const edited = { to: 'grace@example.com', text: 'Please send the numbers.' }
  await decide(client, third, { approve: { toolCallId: third.pendingToolCalls[0].id, arguments: edited } })

  title('A tool that only the client can run', 'sendMessage { clientTools }, submitApprovals { toolReturn }')
  const clientTools = [{ name: 'read_clipboard', description: "The user's clipboard.", parameters: { type: 'object' } }]
  const fourth = await client.show(await send(client, agentId, 'call read_clipboard {}', { clientTools }))
  showPending(fourth)
  const toolReturn = { toolCallId: fourth.pendingToolCalls[0].id, status: 'SUCCESS', output: 'a shopping list' }
  await decide(client, fourth, { toolReturn })

  title('A long answer is cancelled in the middle, and what was said stays', 'cancelRun')
  const words = 'say Once upon a time there was a server that told very long stories to whoever would listen to it.'
  const runId = await send(client, agentId, `slow 60\n${words}`)
  let heard = ''
  let cancelled: Promise<unknown> | undefined
  const fifth = await client.show(runId, {
    onText(text) {
      heard += text
      if (heard.includes('server')) {
        cancelled ??= client.ask('mutation ($id: ID!) { cancelRun(input: { runId: $id }) { __typename } }', {
          id: runId,
        })
      }
    },
  })
  await cancelled
  console.log(`  ${dim('stored:')} ${JSON.stringify(fifth.answer)}`)

  title('And the agent takes the next message', 'sendMessage')
  await client.show(await send(client, agentId, 'Thank you, that will do.'))
}

function title(text: string, operation: string): void {
  console.log(`\n${bold(text)} ${dim(`· ${operation}`)}`)
}

function mail(to: string, text: string): string {
  return `call send_mail ${JSON.stringify({ to, text })}`
}

function showPending(run: any): void {
  for (const { name, needs, arguments: args } of run.pendingToolCalls) {
    console.log(`  ${dim('waits:')} ${name} ${JSON.stringify(args)} ${dim(needs)}`)
  }
}

async function send(client: DemoClient, agentId: string, text: string, options: object = {}): Promise<string> {
  const { sendMessage } = await client.ask(
    `mutation ($input: SendMessageInput!) { sendMessage(input: $input) { __typename
      ... on SendMessageSuccess { run { id } } ... on Refusal { message } } }`,
    { input: { to: { agentId }, messages: [{ text }], ...options } },
  )
  if (!sendMessage.run) throw new Error(sendMessage.message)
  return sendMessage.run.id
}

async function decide(client: DemoClient, run: any, decision: object): Promise<void> {
  const { submitApprovals } = await client.ask(
    `mutation ($input: SubmitApprovalsInput!) { submitApprovals(input: $input) { __typename
      ... on SubmitApprovalsSuccess { run { ${runFields} } } ... on Refusal { message } } }`,
    { input: { runId: run.id, decisions: [decision] } },
  )
  if (!submitApprovals.run) throw new Error(submitApprovals.message)
  await client.show(run.id)
}
