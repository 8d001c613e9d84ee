import { afterAll, expect, test } from 'vitest'

import { followConversation } from '../../src/live/follow-conversation.ts'
import { Hub } from '../../src/live/hub.ts'
import { RunPoll } from '../../src/live/poll-runs.ts'
import { createLog } from '../../src/util/log.ts'
import { startTestApp } from '../support/app.ts'
import { createTestDatabase } from '../support/database.ts'
import { createGround } from '../support/execute.ts'
import { createFixtures } from '../support/fixtures.ts'
import { hookDatabase } from '../support/gated-database.ts'
import { createGatedModel, type ModelCall } from '../support/gated-model.ts'
import { talkTo } from '../support/talk.ts'

/**
 * What an answer or an event shows, and what its cursor names, while everything changes in between: the reader's
 * process has a database whose statements the test holds up.
 */
const model = createGatedModel()
let gate: { readonly fits: (statement: string) => boolean; reached(): void; readonly opened: Promise<void> } | undefined

const database = await createTestDatabase()
const db = hookDatabase(database.pool, {
  async before(statement) {
    if (!gate?.fits(statement)) return
    const { reached, opened } = gate
    gate = undefined
    reached()
    await opened
  },
})
const reading = await startTestApp({ database: { ...database, db }, env: { HOLDPOINT_WORKERS: '0' } })
const writing = await startTestApp({ database, providers: [model.provider] })
const talk = talkTo(writing)
afterAll(async () => {
  model.assertAllTaken()
  await reading.stop()
  await writing.stop()
  await database.close()
})

/** Holds up the next statement of the reader's process that fits. */
function hold(fits: (statement: string) => boolean) {
  const [reached, opened] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()]
  gate = { fits, reached: reached.resolve, opened: opened.promise }
  return { reached: reached.promise, open: opened.resolve }
}

/** The statements that load the rows of runs, and those of messages. */
const loadsRuns = (statement: string) => /from "?runs"?\s/.test(statement) && statement.includes('parent_id')
const loadsMessages = (statement: string) => statement.includes('"messages"."position"')

async function newConversation(): Promise<{ readonly id: string; readonly lastCursor: string }> {
  const { createConversation } = await writing.data(
    'mutation ($agent: ID!) { createConversation(input: { agentId: $agent }) { conversation { id lastCursor } } }',
    { agent: await talk.createAgent() },
  )
  return createConversation.conversation
}

async function answered(id: string, text: string): Promise<string> {
  const run = await talk.start(id, text)
  await answer()
  await talk.settled(run)
  return run
}

async function answer(): Promise<void> {
  const call = await model.nextCall()
  call.say('yes')
  call.finish()
}

/** A run that holds the conversation until the returned call is answered. */
async function running(id: string): Promise<{ readonly run: string; readonly call: ModelCall }> {
  return { run: await talk.start(id, 'first'), call: await model.nextCall() }
}

async function mutate(name: string, input: Record<string, unknown>): Promise<any> {
  const type = `${name[0]!.toUpperCase()}${name.slice(1)}Input`
  const success = name === 'selectBranch' ? '' : 'run { id }'
  const data = await writing.data(
    `mutation ($input: ${type}!) { ${name}(input: $input) { __typename
      ... on ${type.replace('Input', 'Success')} { __typename ${success} } } }`,
    { input },
  )
  return data[name]
}

function follow(id: string, after: string) {
  const socket = reading.webSocket()
  const stream = socket.stream(
    `subscription ($id: ID!, $after: EventCursor!) { conversationEvents(conversationId: $id, after: $after) {
      __typename cursor ... on RunEvent { runId } ... on RunEntry { seq } ... on RunStatusChanged { status }
      ... on MessageAdded { message { id } } ... on QueueChanged { queue { id } }
      ... on BranchChanged { lastSharedMessage { id } } } }`,
    { id, after },
  )
  const next = async (): Promise<any> => {
    const result = await stream.next()
    if (result?.errors) throw new Error(result.errors[0]!.extensions.code)
    return result?.data.conversationEvents
  }
  return {
    next,
    async until(fits: (event: any) => boolean): Promise<any[]> {
      const read: any[] = []
      while (!read.some(fits)) read.push(await next())
      return read
    },
    close: () => socket.dispose(),
  }
}

const ofType = (type: string) => (event: any) => event.__typename === type
const idsOf = (list: readonly { readonly id: string }[]) => list.map(({ id }) => id)

test('[CEV81] QueueChanged shows the queue that its cursor names, also if another run waits when its fields are loaded', async () => {
  const { id, lastCursor } = await newConversation()
  const { run: first, call } = await running(id)
  const stream = follow(id, lastCursor)
  await stream.until(ofType('StepStarted'))
  const held = hold(loadsRuns)
  const one = await talk.start(id, 'one', { whenBusy: 'ENQUEUE' })
  await held.reached
  const two = await talk.start(id, 'two', { whenBusy: 'ENQUEUE' })
  held.open()
  const changed = await stream.next()
  expect(idsOf(changed.queue)).toEqual([one])
  await stream.close()

  // The reader knows the queue, so it is told nothing. What it shows must be true.
  await talk.cancel({ runId: two })
  const resumed = follow(id, changed.cursor)
  call.finish()
  await answer()
  const rest = await resumed.until((event) => event.runId === one && event.status === 'COMPLETED')
  expect(rest.filter(ofType('QueueChanged')).map(({ queue }) => idsOf(queue))).toEqual([[]])
  expect(rest.some((event) => event.runId === first)).toBe(true)
  await resumed.close()
})

test('[CEV81] the queue of a query is the one that its lastCursor names', async () => {
  const { id } = await newConversation()
  const { run, call } = await running(id)
  const one = await talk.start(id, 'one', { whenBusy: 'ENQUEUE' })
  const held = hold(loadsRuns)
  const shown = reading.data('query ($id: ID!) { conversation(id: $id) { lastCursor queue { id } } }', { id })
  await held.reached
  const two = await talk.start(id, 'two', { whenBusy: 'ENQUEUE' })
  held.open()
  const { lastCursor, queue } = (await shown).conversation
  expect(idsOf(queue)).toEqual([one])
  await talk.cancel({ runId: two })
  const stream = follow(id, lastCursor)
  await talk.cancel({ runId: one })
  expect((await stream.until(ofType('QueueChanged'))).at(-1).queue).toEqual([])
  await stream.close()
  call.finish()
  await talk.settled(run)
})

test('[CEV82] the messages of a query are those of the branch that its lastCursor names', async () => {
  const { id } = await newConversation()
  await answered(id, 'one')
  const two = await answered(id, 'two')
  const again = await regenerated(two)
  const expected = idsOf(await messagesOf(id))

  const held = hold(loadsMessages)
  const shown = reading.data(
    `query ($id: ID!) { conversation(id: $id) { lastCursor messages { totalCount nodes { id } } } }`,
    { id },
  )
  await held.reached
  await mutate('selectBranch', { runId: two })
  held.open()
  const { lastCursor, messages } = (await shown).conversation
  expect(idsOf(messages.nodes)).toEqual(expected)
  expect(messages.totalCount).toBe(4)

  // The reader knows the branch, so it is told nothing when it is current again.
  await mutate('selectBranch', { runId: again })
  const stream = follow(id, lastCursor)
  const three = await answered(id, 'three')
  const rest = await stream.until((event) => event.runId === three && event.status === 'COMPLETED')
  expect(rest.filter(ofType('BranchChanged'))).toEqual([])
  await stream.close()
})

test('[CEV82] what was added since the lastCursor of a query is not mixed into its messages', async () => {
  const { id } = await newConversation()
  const one = await answered(id, 'one')
  const expected = idsOf(await messagesOf(id))
  const held = hold(loadsMessages)
  const shown = reading.data('query ($id: ID!) { conversation(id: $id) { lastCursor messages { nodes { id } } } }', {
    id,
  })
  await held.reached
  const again = await regenerated(one)
  held.open()
  const { lastCursor, messages } = (await shown).conversation
  expect(idsOf(messages.nodes)).toEqual(expected)
  const stream = follow(id, lastCursor)
  expect(await stream.next()).toMatchObject({ __typename: 'BranchChanged', lastSharedMessage: null })
  await stream.until((event) => event.runId === again && event.status === 'COMPLETED')
  await stream.close()
})

test('[CEV82] a branch that changes back while BranchChanged is made is told as two changes, and each cursor names its own', async () => {
  const { id } = await newConversation()
  await answered(id, 'one')
  const two = await answered(id, 'two')
  const again = await regenerated(two)
  const [, first] = idsOf(await messagesOf(id))
  const stream = follow(id, await lastCursorOf(id))
  const held = hold((statement) => statement.includes('recursive meeting'))
  await mutate('selectBranch', { runId: two })
  await held.reached
  await mutate('selectBranch', { runId: again })
  held.open()
  const there = await stream.next()
  const back = await stream.next()
  for (const event of [there, back]) {
    expect(event).toMatchObject({ __typename: 'BranchChanged', lastSharedMessage: { id: first } })
  }
  await stream.close()
  const three = await answered(id, 'three')
  for (const [cursor, changes] of [
    [there.cursor, 1],
    [back.cursor, 0],
  ]) {
    const resumed = follow(id, cursor)
    const rest = await resumed.until((event) => event.runId === three && event.status === 'COMPLETED')
    expect(rest.filter(ofType('BranchChanged'))).toHaveLength(changes)
    await resumed.close()
  }
})

/** A version of a turn that failed, while the other one is current again. */
async function failedVersion(id: string): Promise<{ readonly two: string; readonly failed: string }> {
  await answered(id, 'one')
  const two = await answered(id, 'two')
  const { run } = await mutate('regenerate', { runId: two })
  const call = await model.nextCall()
  call.fail()
  await talk.settled(run.id)
  await mutate('selectBranch', { runId: two })
  return { two, failed: run.id }
}

test.each(['conversation', 'run'])(
  '[CEV82] a retry that gives a run another place takes no message from what a query of the %s shows',
  async (kind) => {
    const { id } = await newConversation()
    const { two, failed } = await failedVersion(id)
    const again = await regenerated(two)
    await mutate('selectBranch', { runId: failed })
    const expected = idsOf(kind === 'run' ? await messagesOf(id, failed) : await messagesOf(id))
    expect(expected.length).toBeGreaterThan(0)
    const held = hold(loadsMessages)
    const messages = 'lastCursor messages { nodes { id } }'
    const shown =
      kind === 'run'
        ? reading.data(`query ($id: ID!) { shown: run(id: $id) { ${messages} } }`, { id: failed })
        : reading.data(`query ($id: ID!) { shown: conversation(id: $id) { ${messages} } }`, { id })
    await held.reached
    await mutate('retryRun', { runId: failed })
    held.open()
    expect(idsOf((await shown).shown.messages.nodes)).toEqual(expected)
    await answer()
    await talk.settled(failed)
    expect(again).not.toBe(failed)
  },
)

test('[CEV83] a run that is retried while its reader knows another branch comes after BranchChanged, and a reader may leave at any event', async () => {
  const { id } = await newConversation()
  const { two, failed } = await failedVersion(id)
  const lastCursor = await lastCursorOf(id)
  const before = idsOf(await messagesOf(id))

  await mutate('selectBranch', { runId: failed })
  await mutate('retryRun', { runId: failed })
  await answer()
  await talk.settled(failed)
  const stream = follow(id, lastCursor)
  const read = await stream.until((event) => event.runId === failed && event.status === 'COMPLETED')
  expect(read[0]).toMatchObject({ __typename: 'BranchChanged', lastSharedMessage: { id: before[1] } })
  expect(read[1]).toMatchObject({ __typename: 'RunStatusChanged', runId: failed, status: 'QUEUED' })
  await stream.close()

  // Whoever has the run's messages, and leaves, is told that they are not current any more.
  await mutate('selectBranch', { runId: two })
  for (const { cursor } of read) {
    const resumed = follow(id, cursor)
    const changed = (await resumed.until(ofType('BranchChanged'))).at(-1)
    expect(changed).toMatchObject({ lastSharedMessage: { id: before[1] } })
    await resumed.close()
  }
})

test('[CEV83] a run that was retried at its place, and once more at another place, is sent without a gap', async () => {
  const { id } = await newConversation()
  const { two, failed } = await failedVersion(id)
  const cursors = [await lastCursorOf(id)]
  await mutate('selectBranch', { runId: failed })
  cursors.push(await lastCursorOf(id))
  const { lastCursor } = (await writing.data('query ($id: ID!) { run(id: $id) { lastCursor } }', { id: failed })).run
  const seqBefore = Number(lastCursor.split('.')[3])
  const expectNoGap = async (stream: ReturnType<typeof follow>) => {
    const read = await stream.until((event) => event.runId === failed && event.status === 'COMPLETED')
    const seqs = read.flatMap(({ runId, seq }) => (runId === failed ? [seq] : []))
    expect(seqs).toEqual(seqs.map((_, place) => seqBefore + 1 + place))
    await stream.close()
  }

  // This reader has the run's first entries, and looks again only when everything has happened.
  const held = hold((statement) => statement.includes('runs current'))
  const connected = follow(id, cursors[1]!)
  await held.reached
  await mutate('retryRun', { runId: failed })
  const call = await model.nextCall()
  call.fail()
  await talk.settled(failed)
  await regenerated(two)
  await mutate('selectBranch', { runId: failed })
  await mutate('retryRun', { runId: failed })
  await answer()
  await talk.settled(failed)
  held.open()
  await expectNoGap(connected)
  for (const cursor of cursors) await expectNoGap(follow(id, cursor))
})

async function lastCursorOf(id: string): Promise<string> {
  const { conversation } = await writing.data('query ($id: ID!) { conversation(id: $id) { lastCursor } }', { id })
  return conversation.lastCursor
}

test('[CEV84] the poll finds a queue that changed back, although the news was lost', async () => {
  const ground = await createGround()
  const make = createFixtures(ground.db)
  const agent = await make.agent({ tenant_id: ground.viewer.tenantId })
  const conversation = await make.conversation({ tenant_id: ground.viewer.tenantId, agent_id: agent.id })
  const hub = new Hub()
  // The poll makes one round for each permit.
  let permit = Promise.withResolvers<void>()
  const looked = Promise.withResolvers<void>()
  const db = hookDatabase(ground.pool, {
    async before(statement) {
      if (!statement.includes('concat_ws')) return
      await permit.promise
      permit = Promise.withResolvers()
    },
    after: (statement) => void (statement.includes('concat_ws') && looked.resolve()),
  })
  const poll = new RunPoll(db, hub, createLog('silent'))
  const after = { hold: 0, cursor: undefined, follow: false, tip: 0, queue: '' }
  const stream = followConversation({ ...ground.context, hub }, conversation.id, { after, deltas: false })
  const queue = async () => ((await stream.next()).value as { runIds: readonly string[] }).runIds

  poll.start()
  permit.resolve()
  await looked.promise
  const waiting = await make.run(conversation, { status: 'QUEUED' })
  const { id: runId, conversation_id: conversationId, tenant_id: tenantId } = waiting
  hub.announce({ runId, conversationId, tenantId, status: 'QUEUED', calls: false })
  expect(await queue()).toEqual([runId])

  // Cancelled by a process that died before it could say so.
  await ground.db.deleteFrom('runs').where('id', '=', runId).execute()
  const changed = queue()
  permit.resolve()
  expect(await changed).toEqual([])
  await stream.return!()
  permit.resolve()
  await poll.stop()
  await ground.close()
})

async function regenerated(run: string): Promise<string> {
  const { run: version } = await mutate('regenerate', { runId: run })
  await answer()
  await talk.settled(version.id)
  return version.id
}

async function messagesOf(conversation: string, run?: string): Promise<readonly { readonly id: string }[]> {
  const document = `query ($id: ID!) { shown: ${run ? 'run' : 'conversation'}(id: $id) { messages { nodes { id } } } }`
  return (await writing.data(document, { id: run ?? conversation })).shown.messages.nodes
}
