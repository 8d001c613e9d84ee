import { afterAll, beforeAll, expect, test } from 'vitest'

import type { OpenDatabase } from '../../../src/store/database/open-database.ts'
import { startTestApp, type TestApp } from '../../support/app.ts'
import { createTestDatabase } from '../../support/database.ts'
import { hookDatabase } from '../../support/gated-database.ts'
import { createGatedModel } from '../../support/gated-model.ts'
import { talkTo } from '../../support/talk.ts'

const model = createGatedModel()
let database: OpenDatabase
let app: TestApp
let statements: string[] = []

beforeAll(async () => {
  database = await createTestDatabase()
  const db = hookDatabase(database.pool, { before: (text) => void statements.push(text.trim()) })
  app = await startTestApp({ database: { ...database, db }, providers: [model.provider] })
})
afterAll(async () => {
  model.assertAllTaken()
  await app.stop()
  await database.close()
})

const document = `subscription ($id: ID!, $after: EventCursor!) { conversationEvents(conversationId: $id, after: $after) {
  __typename ... on RunStatusChanged { status } ... on TextDelta { text } ... on MessageAdded { message { id } } } }`

const turns = 5

/** Where the conversation stands, and the text of a message that a watcher has seen a part of. */
const isReadOfWatcher = (text: string) =>
  text.includes('as next_id') || text.startsWith('select type, step_index, content')

/** How often this many watchers read the database during five turns. */
async function readsOf(watchers: number): Promise<number> {
  const talk = talkTo(app)
  const { createConversation } = await app.data(
    'mutation ($agent: ID!) { createConversation(input: { agentId: $agent }) { conversation { id lastCursor } } }',
    { agent: await talk.createAgent() },
  )
  const { id, lastCursor: after } = createConversation.conversation
  const sockets = Array.from({ length: watchers }, () => app.webSocket())
  const streams = sockets.map((socket) => socket.stream(document, { id, after }))
  const seen = streams.map(async (stream) => {
    let ended = 0
    while (ended < turns) {
      const { data } = (await stream.next())!
      if (data.conversationEvents.status === 'COMPLETED') ended += 1
    }
  })
  await expect.poll(openSubscribers).toBe(watchers)
  statements = []
  for (let turn = 0; turn < turns; turn += 1) {
    const run = await talk.start(id, 'go')
    const call = await model.nextCall()
    call.say('word')
    call.finish()
    await talk.settled(run)
  }
  await Promise.all(seen)
  await Promise.all(sockets.map((socket) => socket.dispose()))
  return statements.filter(isReadOfWatcher).length
}

async function openSubscribers(): Promise<number> {
  const text = await (await fetch(new URL('/metrics', app.url))).text()
  return Number(/^holdpoint_subscribers (\d+)/m.exec(text)![1])
}

test('[QUO60] many watchers of one conversation share the reads of its changes', { timeout: 120_000 }, async () => {
  const alone = await readsOf(1)
  expect(alone).toBeGreaterThanOrEqual(2 * turns)
  // Each for itself, they would read fifty times as often.
  expect(await readsOf(50)).toBeLessThan(5 * alone)
})
