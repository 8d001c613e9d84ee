import { setTimeout as sleep } from 'node:timers/promises'

import { createDemoClient, runFields, type DemoClient } from './demo-client.ts'
import { lines, tourProvider, tourTools, type UserLine } from './demo-model.ts'
import { ask, bold, dim, green, interject, print, red, speak, title, yellow } from './demo-screen.ts'
import { forkWorker, type TourWorker } from './demo-workers.ts'
import { startThrowawayServer } from './throwaway-server.ts'

/** A tour of Holdpoint in a terminal, as a client sees it. Needs no key and no network. */
print(`\n${bold('Holdpoint')} ${dim('· starting a server and two workers, with a database in a temporary folder …')}`)
const starting = startThrowawayServer({
  tools: tourTools,
  providers: [tourProvider],
  // Only the workers drive runs.
  env: { HOLDPOINT_WORKERS: '0' },
})
const workers: TourWorker[] = []
let stopping: Promise<void> | undefined
const stop = () =>
  (stopping ??= (async () => {
    const server = await starting
    await Promise.all(workers.map((worker) => worker.stop()))
    await server.stop()
  })())
// Cleans up even if the tour is interrupted.
for (const signal of ['SIGINT', 'SIGTERM'] as const) {
  process.on(signal, () => void stop().finally(() => process.exit(1)))
}

try {
  const server = await starting
  const first = forkWorker(server.databaseUrl)
  workers.push(first)
  await first.start()
  // Loads while the first scenes play.
  const second = forkWorker(server.databaseUrl)
  workers.push(second)
  const client = createDemoClient(server.url)
  const agentId = await createAda(client)
  await talk(client, agentId)
  await reconnect(client, agentId)
  await killWorker(client, agentId, { first, second })
  await client.disconnect()
  print(`\n${green('That was all.')} ${dim('Start a server that stays: npm start')}\n`)
} catch (error) {
  // An interrupted tour fails because its server is gone.
  if (stopping) await new Promise(() => undefined)
  throw error
} finally {
  await stop()
}

async function createAda(client: DemoClient): Promise<string> {
  const input = {
    name: 'Ada',
    model: 'tour/ada',
    includeBaseTools: false,
    tools: [{ toolName: 'send_mail', approvalOverride: true }],
  }
  const { createAgent } = await client.ask(
    'mutation ($input: CreateAgentInput!) { createAgent(input: $input) { agent { id } } }',
    { input },
  )
  return createAgent.agent.id
}

async function talk(client: DemoClient, agentId: string): Promise<void> {
  title('An answer, as it is written', 'sendMessage, runEvents')
  await client.show(await send(client, agentId, 'Good morning, Ada.'))

  title('A mail waits for your approval', 'submitApprovals')
  await letPersonDecide(client, await client.show(await send(client, agentId, 'Tell Grace that the report is ready.')))

  title('A mail is denied, and Ada reads why', 'submitApprovals { deny }')
  const second = await client.show(await send(client, agentId, 'Ask everyone about lunch.'))
  const toEveryone = showPending(second)
  await decide(client, second, { deny: { toolCallId: toEveryone.id, reason: 'Never write to everyone.' } })

  title('A mail is corrected, then approved', 'submitApprovals { approve { arguments } }')
  const third = await client.show(await send(client, agentId, 'Ask Grace for the numbers.'))
  const { id: toolCallId, arguments: args } = showPending(third)
  await decide(client, third, { approve: { toolCallId, arguments: { ...args, text: 'Please send the numbers.' } } })

  title('A tool that only your program can run', 'sendMessage { clientTools }')
  const clientTools = [{ name: 'read_clipboard', description: "The user's clipboard.", parameters: { type: 'object' } }]
  const fourth = await client.show(await send(client, agentId, 'What is in my clipboard?', { clientTools }))
  const clipboard = showPending(fourth)
  await decide(client, fourth, {
    toolReturn: { toolCallId: clipboard.id, status: 'SUCCESS', output: 'a shopping list' },
  })

  title('A story is cancelled in mid-sentence, and what was said stays', 'cancelRun')
  const runId = await send(client, agentId, 'Tell me a story.')
  let cancelling: Promise<unknown> | undefined
  const cancelled = await client.show(runId, {
    async onText(said) {
      if (!said.includes('listen')) return
      cancelling ??= client.ask('mutation ($id: ID!) { cancelRun(input: { runId: $id }) { __typename } }', {
        id: runId,
      })
    },
  })
  await cancelling
  compareWithStored(cancelled)
}

async function letPersonDecide(client: DemoClient, run: any): Promise<void> {
  const { id: toolCallId, arguments: args } = showPending(run)
  for (;;) {
    const answer = (await ask('approve? [y/n/edit]', 'y')).toLowerCase()
    if (answer === 'y' || answer === 'yes') return decide(client, run, { approve: { toolCallId } })
    if (answer === 'n' || answer === 'no') {
      const reason = await ask('reason for Ada:', '')
      return decide(client, run, { deny: { toolCallId, ...(reason && { reason }) } })
    }
    if (answer === 'e' || answer === 'edit') {
      const text = await ask('text of the mail:', args.text)
      return decide(client, run, { approve: { toolCallId, arguments: { ...args, text: text || args.text } } })
    }
  }
}

async function reconnect(client: DemoClient, agentId: string): Promise<void> {
  title('The connection breaks in mid-word, and nothing is missed', 'runEvents(after: cursor)')
  const runId = await send(client, agentId, 'What happens if my train enters a tunnel?')
  const whole = lines['What happens if my train enters a tunnel?'].say
  const isMidWord = (said: string) => /\w$/.test(said) && /^\w/.test(whole.slice(said.length))
  await client.show(runId, { onText: async (said) => said.length < 75 || !isMidWord(said) })
  await client.disconnect()
  interject(red('⟨disconnected⟩'))
  await sleep(1_500)
  interject(green('⟨back⟩'))
  compareWithStored(await client.show(runId))
}

async function killWorker(
  client: DemoClient,
  agentId: string,
  { first, second }: { readonly first: TourWorker; readonly second: TourWorker },
): Promise<void> {
  title('kill -9, and another worker goes on', `workers: ${first.pid} and ${second.pid}`)
  const runId = await send(client, agentId, 'And if your worker process is killed?')
  let killing: Promise<void> | undefined
  const run = await client.show(runId, {
    async onText(said) {
      // The second worker drives runs from here on. Until now, only the first could have the run.
      if (said.length < 30 || killing) return
      killing = second.start().then(async () => {
        interject(red(`⟨kill -9 ${first.pid}⟩`))
        await first.kill()
      })
      await killing
    },
  })
  compareWithStored(run)
}

function showPending(run: any): { readonly id: string; readonly arguments: any } {
  const [call] = run.pendingToolCalls
  const { to, text } = call.arguments
  print(`        ${yellow(`⏸ ${call.name}`)}${to ? ` to ${to}: "${text}"` : ''}`)
  return call
}

function compareWithStored({ answer, said }: any): void {
  if (answer !== said) throw new Error(`Stored is ${JSON.stringify(answer)}, but shown was ${JSON.stringify(said)}.`)
  print(`        ${green('✓')} ${dim(`stored: the ${said.length} characters that you saw`)}`)
}

async function send(client: DemoClient, agentId: string, text: UserLine, options: object = {}): Promise<string> {
  speak('you', text)
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
