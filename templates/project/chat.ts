import { createInterface } from 'node:readline/promises'

import {
  createClient,
  FindAgent,
  followRun,
  SendMessage,
  SubmitApprovals,
  type ToolCallFields,
  type TranscriptEntry,
} from 'holdpoint/client'

import { key } from './agent.ts'

const url = process.env['HOLDPOINT_URL'] ?? 'http://127.0.0.1:4000/graphql'
const client = createClient({ url, key: process.env['HOLDPOINT_API_KEY'] })

// The demo model does what a message says. A real model decides by itself.
const text = process.argv[2] ?? 'call refund_order {"orderId": "A-17", "amount": 250}'

const { agents } = await client
  .request(FindAgent, { key })
  .catch((error: Error) => fail(`${url}: ${error.message}. Is "npm start" running, in another terminal?`))
const [agent] = agents.nodes
if (!agent) fail('There is no agent yet: run "npm start" first, in another terminal.')
console.log(`> ${text}`)
const { sendMessage } = await client.request(SendMessage, {
  input: { to: { agentId: agent.id }, messages: [{ text }], whenBusy: 'ENQUEUE' },
})
if (sendMessage?.__typename !== 'SendMessageSuccess') fail(sendMessage?.message ?? 'The message was not sent.')
const runId = sendMessage.run.id

const asked = new Set<string>()
let shown = ''
followRun(client, runId, {
  onChange({ state }) {
    const answer = state.entries.map(textOf).join('')
    process.stdout.write(answer.slice(shown.length))
    shown = answer
    if (state.latestRun?.status !== 'AWAITING_APPROVAL') return
    for (const call of state.pendingCalls) {
      if (!asked.has(call.id)) void decide(call)
      asked.add(call.id)
    }
  },
  onEnd: ({ state }) => console.log(`\n${state.latestRun?.status}`),
  onError: (error) => console.error(error.message),
})

function fail(problem: string): never {
  console.error(problem)
  process.exit(1)
}

/** What the assistant says in an entry, whether it is being written or stored. */
function textOf(entry: TranscriptEntry): string {
  if (entry.kind === 'live') return entry.role === 'ASSISTANT' ? entry.text : ''
  return entry.kind === 'message' && entry.message.__typename === 'AssistantMessage' ? entry.message.text : ''
}

async function decide({ id, name, arguments: args }: ToolCallFields): Promise<void> {
  const terminal = createInterface({ input: process.stdin, output: process.stdout })
  const answer = await terminal.question(`${name} ${JSON.stringify(args)}\napprove? [y/n] `)
  terminal.close()
  const decision = answer.startsWith('y')
    ? { approve: { toolCallId: id } }
    : { deny: { toolCallId: id, reason: 'The person at the terminal said no.' } }
  await client.request(SubmitApprovals, { input: { runId, decisions: [decision] } })
}
