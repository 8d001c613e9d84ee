import { once } from 'node:events'
import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { text } from 'node:stream/consumers'
import { Readable } from 'node:stream'

import { HttpAgent } from '@ag-ui/client'
import { afterAll, beforeAll, expect, test } from 'vitest'

import { createAgUiHandler } from '../../adapters/ag-ui.ts'
import { startAdapterGround, type AdapterGround } from './ground.ts'

let ground: AdapterGround
let cancelOnDisconnect = false
let endpoint: Server

beforeAll(async () => {
  ground = await startAdapterGround()
  const handlers = [true, false].map((one) => createAgUiHandler(ground.client, { cancelOnDisconnect: one }))
  endpoint = createServer((request, response) => {
    void (async () => {
      const handle = handlers[cancelOnDisconnect ? 0 : 1]!
      const answer = await handle(new Request('http://localhost/', { method: 'POST', body: await text(request) }))
      response.writeHead(answer.status, Object.fromEntries(answer.headers))
      const body = Readable.fromWeb(answer.body as never)
      body.on('error', () => {}).pipe(response)
      response.on('close', () => body.destroy())
    })()
  })
  await once(endpoint.listen(0, '127.0.0.1'), 'listening')
})
afterAll(async () => {
  endpoint.closeAllConnections()
  endpoint.close()
  await ground.stop()
})

async function openAgent(): Promise<HttpAgent> {
  const { port } = endpoint.address() as AddressInfo
  return new HttpAgent({ url: `http://127.0.0.1:${port}/`, threadId: await ground.startConversation() })
}

function say(agent: HttpAgent, content: string): void {
  agent.addMessage({ id: crypto.randomUUID(), role: 'user', content })
}

const shown = (agent: HttpAgent) =>
  agent.messages.map((message: any) =>
    message.toolCalls
      ? [message.role, ...message.toolCalls.map((call: any) => call.function.name)]
      : [message.role, message.content],
  )

test('[ADA4] an answer arrives in an AG-UI client', async () => {
  const agent = await openAgent()
  say(agent, 'think Hm.\nsay Good evening.')
  await agent.runAgent()
  expect(shown(agent)).toEqual([
    ['user', 'think Hm.\nsay Good evening.'],
    ['reasoning', 'Hm.'],
    ['assistant', 'Good evening.'],
  ])
})

test('[ADA4] a failed run is an error', async () => {
  const agent = await openAgent()
  say(agent, 'fail rate_limit')
  const errors: string[] = []
  await agent.runAgent({}, { onRunErrorEvent: ({ event }) => void errors.push(event.message) })
  expect(errors).toEqual([expect.stringMatching(/./)])
})

test('[ADA5] an interrupt is resumed with an approval and with a denial', async () => {
  const agent = await openAgent()
  for (const [payload, result] of [
    [{ approved: true }, 'paid 5'],
    [{ approved: false, reason: 'Too much.' }, 'Too much.'],
  ] as const) {
    say(agent, 'call pay {"amount": 5}')
    let interrupts: any[] = []
    await agent.runAgent({}, { onRunFinishedEvent: ({ event }: any) => void (interrupts = event.outcome.interrupts) })
    expect(interrupts).toMatchObject([{ metadata: { name: 'pay', arguments: { amount: 5 } } }])
    await agent.runAgent({ resume: [{ interruptId: interrupts[0].id, status: 'resolved', payload }] })
    expect(shown(agent).at(-2)).toEqual(['tool', expect.stringContaining(result)])
    expect(shown(agent).at(-1)).toEqual(['assistant', expect.stringContaining(result)])
  }
})

test('[ADA5] a frontend tool is answered by the next run', async () => {
  const agent = await openAgent()
  const tools = [{ name: 'clipboard', description: 'The clipboard.', parameters: { type: 'object' } }]
  say(agent, 'call clipboard {}')
  await agent.runAgent({ tools })
  const call = (agent.messages.at(-1) as any).toolCalls[0]
  expect(call.function.name).toBe('clipboard')
  agent.addMessage({ id: crypto.randomUUID(), role: 'tool', toolCallId: call.id, content: 'a shopping list' })
  await agent.runAgent({ tools })
  expect(shown(agent).at(-1)).toEqual(['assistant', expect.stringContaining('a shopping list')])
})

test('[ADA82] images and documents of a message reach the model', async () => {
  const agent = await openAgent()
  agent.addMessage({
    id: crypto.randomUUID(),
    role: 'user',
    content: [
      { type: 'text', text: 'say Seen.' },
      { type: 'image', source: { type: 'data', value: btoa('pixels'), mimeType: 'image/png' } },
      { type: 'document', source: { type: 'url', value: 'https://example.com/a.pdf' } },
    ],
  })
  await agent.runAgent()
  expect(shown(agent).at(-1)).toEqual(['assistant', 'Seen.'])
  const { conversation } = await ground.server.data(
    'query ($id: ID!) { conversation(id: $id) { latestRun { input { content { kind text imageUrl documentUrl } } } } }',
    { id: agent.threadId },
  )
  expect(conversation.latestRun.input[0].content).toMatchObject([
    { kind: 'TEXT', text: 'say Seen.' },
    { kind: 'IMAGE', imageUrl: `data:image/png;base64,${btoa('pixels')}` },
    { kind: 'DOCUMENT', documentUrl: 'https://example.com/a.pdf' },
  ])
})

const latest = 'query ($id: ID!) { conversation(id: $id) { latestRun { id status } runs { totalCount } } }'
const latestRun = async (agent: HttpAgent) =>
  (await ground.server.data(latest, { id: agent.threadId })).conversation.latestRun

test('[ADA84] after a lost connection, the agent is run again and the answer is whole and there once', async () => {
  const agent = await openAgent()
  const answer = `One two three ${'and another word '.repeat(10)}at last.`
  say(agent, `slow 30\nsay ${answer}`)
  const running = agent.runAgent()
  await expect.poll(() => String(shown(agent)[1])).toContain('One two three')
  agent.abortRun()
  await running.catch(() => {})
  expect((await latestRun(agent)).status).toBe('RUNNING')
  await agent.runAgent()
  expect(shown(agent).slice(1)).toEqual([['assistant', answer]])
  const { conversation } = await ground.server.data(latest, { id: agent.threadId })
  expect(conversation.runs.totalCount).toBe(1)
})

test('[ADA84] with `cancelOnDisconnect`, `abortRun` cancels the run', async () => {
  cancelOnDisconnect = true
  try {
    const agent = await openAgent()
    say(agent, `slow 100\nsay ${'word '.repeat(200)}`)
    const running = agent.runAgent()
    await expect.poll(() => String(shown(agent)[1])).toContain('word word')
    agent.abortRun()
    await running.catch(() => {})
    await expect.poll(async () => (await latestRun(agent)).status).toBe('CANCELLED')
  } finally {
    cancelOnDisconnect = false
  }
})
