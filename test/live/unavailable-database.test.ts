import { afterAll, beforeEach, describe, expect, test } from 'vitest'

import { defineTool } from '../../src/tools/registry.ts'
import { startTestApp } from '../support/app.ts'
import { createTestDatabase } from '../support/database.ts'
import { createFailingDatabase } from '../support/failing-database.ts'
import { createGatedModel } from '../support/gated-model.ts'
import type { GraphQLResult } from '../support/graphql-client.ts'
import { approve, talkTo } from '../support/talk.ts'
import { eventFields, Reader, storedTexts } from './reader.ts'

const model = createGatedModel()
const pay = defineTool({ name: 'pay', description: 'Pays.', parameters: { type: 'object' }, run: () => 'paid' })

const database = await createTestDatabase()
const failing = createFailingDatabase(database)
const options = { providers: [model.provider], tools: [pay] }
/** Takes the mutations and drives the runs. */
const worker = await startTestApp({ ...options, database })
/** Serves the streams. Its database fails when the test says so. */
const api = await startTestApp({ ...options, database: failing, env: { HOLDPOINT_WORKERS: '0' } })
const talk = talkTo(worker)
afterAll(async () => {
  model.assertAllTaken()
  await api.stop()
  await worker.stop()
  await database.close()
})
beforeEach(() => failing.recover())

interface Events {
  /** The next event. Undefined at the end. Throws the error that the server sent instead of an event. */
  next(): Promise<any>
  close(): Promise<void>
}

const transports = {
  async WebSocket(query: string, variables: Record<string, unknown>): Promise<Events> {
    const socket = api.webSocket()
    const stream = socket.stream(query, variables)
    return { next: async () => eventOf(await stream.next()), close: () => socket.dispose() }
  },
  async SSE(query: string, variables: Record<string, unknown>): Promise<Events> {
    const stream = await api.events(query, variables)
    return { next: async () => eventOf(await stream.next()), close: async () => stream.close() }
  },
}

function eventOf(result: GraphQLResult | undefined): any {
  if (result?.errors) throw new Error(JSON.stringify(result.errors))
  return result && Object.values(result.data)[0]
}

async function newConversation(): Promise<{ readonly id: string; readonly lastCursor: string }> {
  const agent = await talk.createAgent({ tools: [{ name: 'pay', approvalOverride: true }] })
  const { createConversation } = await worker.data(
    'mutation ($agent: ID!) { createConversation(input: { agentId: $agent }) { conversation { id lastCursor } } }',
    { agent },
  )
  return createConversation.conversation
}

/** A run that streams an answer, waits for an approval, and ends once it is given. */
async function startRun(conversation: string) {
  const run = await talk.start(conversation, 'go')
  return {
    run,
    async finish(beforeApproval: () => Promise<void> = async () => {}): Promise<void> {
      const first = await model.nextCall()
      first.think('hm')
      first.say('I will pay.')
      first.call('pay', { amount: 1 })
      first.finish()
      const [call] = await talk.pending(run)
      await beforeApproval()
      await talk.submit(run, [approve(call)])
      const second = await model.nextCall()
      second.say('Paid.')
      second.finish()
      await talk.settled(run)
    },
  }
}

describe.each(Object.keys(transports) as (keyof typeof transports)[])('over %s', (transport) => {
  const open = transports[transport]

  /** The texts of a run that continues to its end while statements fail. Throws if an entry is missing or repeated. */
  async function readWhileFailing(events: Events, finish: () => Promise<void>): Promise<Reader['stored']> {
    const reader = new Reader()
    reader.apply(await events.next())
    failing.failEachOnce()
    const finished = finish()
    while (reader.end === undefined) reader.apply(await events.next())
    await finished
    return reader.stored
  }

  test('[STR12] runEvents skips no event when every statement fails once', async () => {
    const { run, finish } = await startRun((await newConversation()).id)
    const query = `subscription ($run: ID!) { runEvents(runId: $run) { ${eventFields} } }`
    const events = await open(query, { run })
    expect(await readWhileFailing(events, finish)).toEqual(await storedTexts(worker, run))
    expect(await events.next()).toBeUndefined()
    expect(failing.failures).toBeGreaterThan(0)
    await events.close()
  })

  test('[STR12] conversationEvents skips no event when every statement fails once', async () => {
    const { id, lastCursor } = await newConversation()
    const query = `subscription ($id: ID!, $after: EventCursor!) {
      conversationEvents(conversationId: $id, after: $after) { ${eventFields} } }`
    const events = await open(query, { id, after: lastCursor })
    for (let turn = 0; turn < 2; turn += 1) {
      const { run, finish } = await startRun(id)
      expect(await readWhileFailing(events, finish)).toEqual(await storedTexts(worker, run))
    }
    await events.close()
  })

  test('[STR12] approvalInbox skips no change when every statement fails once', async () => {
    const query = `subscription { approvalInbox { __typename
      ... on InboxSnapshot { toolCalls { id run { id } } }
      ... on InboxAdded { toolCall { id run { id } agent { id } } } ... on InboxRemoved { toolCall { id run { id } } } } }`
    const events = await open(query, {})
    expect((await events.next()).__typename).toBe('InboxSnapshot')
    failing.failEachOnce()
    const { run, finish } = await startRun((await newConversation()).id)
    const expectNext = async (type: string) =>
      expect(await events.next()).toMatchObject({ __typename: type, toolCall: { run: { id: run } } })
    await finish(() => expectNext('InboxAdded'))
    await expectNext('InboxRemoved')
    await events.close()
  })

  test('[STR12] runChanges skips no change when every statement fails once', async () => {
    const query = `subscription ($since: DateTime!, $id: ID!) {
      runChanges(since: $since, conversationId: $id) { id status conversation { id } agent { id } } }`
    const { id } = await newConversation()
    const events = await open(query, { since: '2026-01-01T00:00:00Z', id })
    const { run, finish } = await startRun(id)
    let { status } = await events.next()
    failing.failEachOnce()
    const finished = finish()
    while (status !== 'COMPLETED') {
      const change = await events.next()
      expect(change).toMatchObject({ id: run, conversation: { id } })
      status = change.status
    }
    await finished
    await events.close()
  })
})
