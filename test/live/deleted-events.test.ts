import { afterAll, expect, test } from 'vitest'

import { deleteRunLogs } from '../../src/store/retention.ts'
import { startTestApp } from '../support/app.ts'
import { createGatedModel } from '../support/gated-model.ts'
import { talkTo } from '../support/talk.ts'

const model = createGatedModel()

const app = await startTestApp({ providers: [model.provider] })
const talk = talkTo(app)
afterAll(async () => {
  model.assertAllTaken()
  await app.stop()
})

const uuidOf = (id: string) => id.slice(id.indexOf('_') + 1)

async function turn(to: string, text: string): Promise<string> {
  const run = await talk.start(to, text)
  const first = await model.nextCall()
  first.call('nothing', {})
  first.finish()
  const call = await model.nextCall()
  call.say(`You said ${text}`)
  call.finish()
  await talk.settled(run)
  return run
}

/** As retention does. */
async function deleteLogs(...runs: string[]): Promise<void> {
  await app.database.db.transaction().execute((trx) => deleteRunLogs(trx, runs.map(uuidOf)))
}

const runEvents = `subscription ($run: ID!, $after: EventCursor) { runEvents(runId: $run, after: $after) {
  __typename cursor ... on RunEntry { seq } } }`

interface Seen {
  readonly __typename: string
  readonly cursor: string
  readonly seq?: number
}

async function readRun(run: string, after?: string): Promise<Seen[]> {
  const seen: Seen[] = []
  const stream = await app.events(runEvents, { run, after })
  for await (const { data } of stream) seen.push(data.runEvents)
  return seen
}

test('[OPS87] a cursor whose next events retention has deleted is refused, on every transport, and later ones are not', async () => {
  const run = await turn(await talk.createAgent(), 'hi')
  const all = await readRun(run)
  await deleteLogs(run)
  const kept = (await readRun(run)).slice(1)
  const firstKept = kept[0]!.seq!
  expect(firstKept).toBeGreaterThan(3)
  for (const event of all.filter(({ seq }) => seq !== undefined)) {
    const variables = { run, after: event.cursor }
    if (event.seq! >= firstKept - 1) {
      expect(await readRun(run, event.cursor)).toEqual(kept.filter(({ seq }) => seq! > event.seq!))
      continue
    }
    const refused = {
      extensions: { code: 'BAD_CURSOR' },
      message: expect.stringContaining('continue after its lastCursor'),
    }
    expect(await (await app.events(runEvents, variables)).next()).toMatchObject({ errors: [refused] })
    const socket = app.webSocket()
    expect(await socket.request(runEvents, variables)).toMatchObject({ errors: [refused] })
    await socket.dispose()
  }
})

const conversationEvents = `subscription ($id: ID!, $after: EventCursor!) {
  conversationEvents(conversationId: $id, after: $after) { __typename cursor
    ... on MessageAdded { message { id position } } ... on RunEvent { runId } ... on RunStatusChanged { status }
    ... on BranchChanged { lastSharedMessage { id position } } } }`

async function listMessages(id: string): Promise<{ id: string; position: number }[]> {
  const { conversation } = await app.data(
    'query ($id: ID!) { conversation(id: $id) { messages(first: 200) { nodes { id position } } } }',
    { id },
  )
  return conversation.messages.nodes
}

/** Reads as the contract says, until a run has ended. */
async function readConversation(id: string, { after, until }: { after: string; until: string }) {
  const messages = new Map<number, string>()
  /** The cursors of the first event and of the end of each run. */
  const cursors = new Map<string, string>()
  const changes: (string | null)[] = []
  const stream = await app.events(conversationEvents, { id, after })
  for await (const { data } of stream) {
    const event = data.conversationEvents
    if (event.status === 'QUEUED' || event.status === 'COMPLETED')
      cursors.set(`${event.status} ${event.runId}`, event.cursor)
    if (event.__typename === 'MessageAdded') messages.set(event.message.position, event.message.id)
    if (event.__typename === 'BranchChanged') {
      const last = event.lastSharedMessage?.position ?? 0
      changes.push(event.lastSharedMessage?.id ?? null)
      for (const position of messages.keys()) if (position > last) messages.delete(position)
      for (const message of await listMessages(id))
        if (message.position > last) messages.set(message.position, message.id)
    }
    if (event.runId === until && event.status === 'COMPLETED') break
  }
  stream.close()
  const ids = [...messages].toSorted(([one], [other]) => one - other).map((entry) => entry[1])
  return { ids, cursors, changes }
}

test('[OPS88] a reader of a conversation that missed deleted events is told once to load the messages, and loses none', async () => {
  const agent = await talk.createAgent()
  const { agent: shown } = await app.data(
    'query ($id: ID!) { agent(id: $id) { mainConversation { id lastCursor } } }',
    { id: agent },
  )
  const { id, lastCursor: start } = shown.mainConversation
  const runs = [await turn(id, 'one'), await turn(id, 'two'), await turn(id, 'three'), await turn(id, 'four')]
  const until = runs[3]!
  const before = await readConversation(id, { after: start, until })
  const stored = (await listMessages(id)).map((message) => message.id)
  expect(before).toMatchObject({ ids: stored, changes: [] })
  await deleteLogs(...runs.slice(0, 3))

  // From the beginning, and from the first event: none of the messages is known for sure.
  for (const after of [start, before.cursors.get(`QUEUED ${runs[0]}`)!])
    expect(await readConversation(id, { after, until })).toMatchObject({ ids: stored, changes: [null] })
  // After the first run: its messages stay.
  const afterFirst = before.cursors.get(`COMPLETED ${runs[0]}`)!
  const rest = await readConversation(id, { after: afterFirst, until })
  expect(rest).toMatchObject({ ids: stored.slice(4), changes: [stored[3]] })
  // After the third: nothing was missed.
  const afterThird = before.cursors.get(`COMPLETED ${runs[2]}`)!
  expect(await readConversation(id, { after: afterThird, until })).toMatchObject({ ids: stored.slice(12), changes: [] })

  // The runs are deleted too.
  await app.database.pool.query('delete from runs where id = any($1::uuid[])', [runs.slice(0, 2).map(uuidOf)])
  expect(await readConversation(id, { after: afterFirst, until })).toMatchObject({
    ids: stored.slice(8),
    changes: [null],
  })
})
