import { fork, type ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { fileURLToPath } from 'node:url'

import { ask } from './ask.ts'
import type { FromMemoryServer } from './memory-server.ts'
import { createAgent } from './turn.ts'

const turns = Number(process.env['BENCH_TURNS'] ?? 2_000)
const atOnce = 20
const stages = 10
/** A conversation is cleared after this many turns, so that what is in use does not grow. */
const turnsPerConversation = 10

/** Whether the server's memory grows with the number of turns: the heap after a garbage collection, ten times. */
export async function benchMemory(): Promise<void> {
  const child = fork(fileURLToPath(new URL('memory-server.ts', import.meta.url)), { execArgv: ['--expose-gc'] })
  const [{ url }] = (await once(child, 'message')) as [{ readonly url: string }]
  try {
    const conversations = await createConversations(url)
    const heapMb: number[] = []
    for (let stage = 1; stage <= stages; stage += 1) {
      await Promise.all(conversations.map((id) => converse(url, id, Math.ceil(turns / stages / atOnce))))
      const { heapMb: heap, residentMb } = await measure(child)
      heapMb.push(heap)
      console.error(`memory: ${(stage * turns) / stages} turns, heap ${heap} MB, resident ${residentMb} MB`)
    }
    // Up to the first stage, code is loaded and caches are filled.
    const grownMb = heapMb.at(-1)! - heapMb[0]!
    console.log(JSON.stringify({ bench: 'memory', turns, heapMb, grownMb }))
  } finally {
    child.send('stop')
    await once(child, 'exit')
  }
}

async function createConversations(url: string): Promise<string[]> {
  const agentId = await createAgent(url)
  const ids: string[] = []
  while (ids.length < atOnce) {
    const { createConversation } = await ask(
      url,
      'mutation ($agentId: ID!) { createConversation(input: { agentId: $agentId }) { conversation { id } } }',
      { agentId },
    )
    ids.push(createConversation.conversation.id)
  }
  return ids
}

async function converse(url: string, conversationId: string, count: number): Promise<void> {
  for (let turn = 1; turn <= count; turn += 1) {
    const { sendMessage } = await ask(
      url,
      `mutation ($id: ID!) { sendMessage(input: { to: { conversationId: $id }, messages: [{ text: "The weather?" }], waitMs: 60000 }) {
        ... on SendMessageSuccess { run { status } } } }`,
      { id: conversationId },
    )
    if (sendMessage.run?.status !== 'COMPLETED') throw new Error(`A turn ended with ${JSON.stringify(sendMessage)}.`)
    if (turn % turnsPerConversation !== 0 && turn !== count) continue
    await ask(url, 'mutation ($id: ID!) { clearConversation(input: { id: $id }) { __typename } }', {
      id: conversationId,
    })
  }
}

async function measure(child: ChildProcess): Promise<Extract<FromMemoryServer, { readonly heapMb: number }>> {
  const answer = once(child, 'message')
  child.send('memory')
  const [memory] = (await answer) as [Extract<FromMemoryServer, { readonly heapMb: number }>]
  return memory
}
