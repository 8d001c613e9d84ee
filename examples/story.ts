import { randomUUID } from 'node:crypto'
import { setTimeout as sleep } from 'node:timers/promises'

import * as operations from './shared.ts'

/** What each example implements with its library. */
export interface ExampleClient {
  /** Resolves with the data. */
  query(document: string, variables: object): Promise<any>
  mutate(document: string, variables: object): Promise<any>
  /** Passes on the events after the cursor until the stream is complete. Rejects when the connection is lost. */
  follow(runId: string, after: string | undefined, onEvent: (event: operations.RunEvent) => void): Promise<void>
  /** Breaks the connection, as a train in a tunnel would. */
  drop(): void
  close(): Promise<void> | void
}

/** The server's address: the first argument of the program. */
export const url = process.argv[2] ?? 'http://127.0.0.1:4000/graphql'

const poem =
  'The stream is written once and read by whoever asks for it, from the first letter or from the last that they have, ' +
  'by one process or by another, before the run ends and long after it did: so a tunnel, a restart or a sleeping laptop ' +
  'costs nothing but the time that it takes. 🚋 Each piece of text says where it belongs, and fits only there.'

/** Two turns of one agent: a text whose stream is dropped in the middle, and a tool that needs approval. */
export async function tellStory(client: ExampleClient): Promise<void> {
  await client.mutate(operations.upsertTool, {
    input: {
      name: 'send_mail',
      description: 'Sends a mail.',
      parameters: { type: 'object', properties: { to: { type: 'string' }, text: { type: 'string' } } },
      implementation: { javascript: { source: 'export default ({ to, text }) => `sent to ${to}: ${text}`' } },
      requiresApproval: true,
    },
  })
  const { createAgent } = await client.mutate(operations.createAgent, {
    input: { name: 'Ada', model: 'demo/scripted', includeBaseTools: false, tools: [{ toolName: 'send_mail' }] },
  })

  console.log('A text, with the connection dropped in the middle:')
  await show(client, await send(client, createAgent.agent.id, `slow 20\nsay ${poem}`), { dropAt: 100 })

  console.log('\nA tool that needs approval:')
  const mail = { to: 'grace@example.com', text: 'The report is ready.' }
  await show(client, await send(client, createAgent.agent.id, `call send_mail ${JSON.stringify(mail)}`))
  await client.close()
}

async function send(client: ExampleClient, agentId: string, text: string): Promise<string> {
  // One key per message: if the library or a person sends it again, it is still one message.
  const idempotencyKey = randomUUID()
  const input = { to: { agentId }, messages: [{ text }], idempotencyKey }
  const { sendMessage } = await client.mutate(operations.sendMessage, { input })
  if (sendMessage.__typename !== 'SendMessageSuccess') throw new Error(sendMessage.message)
  return sendMessage.run.id
}

/** Prints a run while it happens, until it ends. */
async function show(client: ExampleClient, runId: string, { dropAt = Infinity } = {}): Promise<void> {
  const transcript = operations.createTranscript()
  const answers: Promise<void>[] = []
  let printed = ''
  let inText = false
  let dropped: 'not yet' | 'now' | 'before' = 'not yet'
  let failures = 0

  function onEvent(event: operations.RunEvent): void {
    failures = 0
    if (dropped === 'now') {
      dropped = 'before'
      const place = event.__typename === 'TextDelta' ? ` at ${event.offset}` : ''
      process.stdout.write(`[back with ${event.__typename}${place}]`)
    }
    if (!transcript.apply(event)) return
    printText(transcript.text())
    if (event.__typename === 'ToolCallChanged') showCall(event.toolCallStatus, event.toolCall)
    if (event.__typename === 'RunStatusChanged') printLine(`run: ${event.status} ${event.stopReason ?? ''}`)
    if (dropped === 'not yet' && printed.length >= dropAt) {
      dropped = 'now'
      process.stdout.write(`[dropped at ${printed.length}]`)
      client.drop()
    }
  }

  function printText(text: string): void {
    // The step was restarted if the text no longer begins with what was printed: print it again.
    const goesOn = text.startsWith(printed)
    process.stdout.write(goesOn ? text.slice(printed.length) : `\n${text}`)
    inText ||= text !== printed
    printed = text
  }

  function printLine(line: string): void {
    console.log(`${inText ? '\n' : ''}  ${line}`)
    inText = false
  }

  function showCall(status: string, call: operations.ToolCall): void {
    printLine(`${call.name} ${status}: ${call.result?.output ?? JSON.stringify(call.arguments)}`)
    if (status === 'PENDING') answers.push(approve(client, runId, call))
  }

  for (;;) {
    try {
      // The important part: after a drop, continue after the last event that arrived.
      await client.follow(runId, transcript.cursor, onEvent)
      break
    } catch (error) {
      failures += 1
      if (failures > 5) throw error
      await sleep(50 * 2 ** failures)
    }
  }
  await Promise.all(answers)

  const { run } = await client.query(operations.storedRun, { id: runId })
  const texts = run.messages.nodes.flatMap((message: { text?: string }) => message.text ?? [])
  if (texts.join('\n') !== transcript.text()) throw new Error('The text is not what was stored.')
  console.log(`  ${transcript.text().length} characters, as stored`)
}

async function approve(client: ExampleClient, runId: string, call: operations.ToolCall): Promise<void> {
  console.log(`  approving ${call.name}`)
  const decisions = [{ approve: { toolCallId: call.id } }]
  const input = { runId, decisions, idempotencyKey: `approve ${call.id}` }
  const { submitApprovals } = await client.mutate(operations.submitApprovals, { input })
  if (submitApprovals.__typename !== 'SubmitApprovalsSuccess') throw new Error(submitApprovals.message)
}
