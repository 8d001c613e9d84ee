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
let endpoint: Server

beforeAll(async () => {
  ground = await startAdapterGround()
  const handle = createAgUiHandler(ground.client)
  endpoint = createServer((request, response) => {
    void (async () => {
      const answer = await handle(new Request('http://localhost/', { method: 'POST', body: await text(request) }))
      response.writeHead(answer.status, Object.fromEntries(answer.headers))
      Readable.fromWeb(answer.body as never).pipe(response)
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
