import { afterAll, expect, test } from 'vitest'

import { startTestApp } from '../support/app.ts'
import { createTestDatabase } from '../support/database.ts'
import { createGatedModel } from '../support/gated-model.ts'
import { talkTo } from '../support/talk.ts'
import { eventFields } from './reader.ts'

const model = createGatedModel()

const database = await createTestDatabase()
const api = await startTestApp({ database, providers: [model.provider], env: { HOLDPOINT_WORKERS: '0' } })
const worker = await startTestApp({ database, role: 'worker', providers: [model.provider] })
const talk = talkTo(api)
afterAll(async () => {
  model.assertAllTaken()
  await worker.stop()
  await api.stop()
  await database.close()
})

async function newConversation(): Promise<{ readonly id: string; readonly lastCursor: string }> {
  const { createConversation } = await api.data(
    'mutation ($agent: ID!) { createConversation(input: { agentId: $agent }) { conversation { id lastCursor } } }',
    { agent: await talk.createAgent() },
  )
  return createConversation.conversation
}

async function lastCursor(id: string): Promise<string> {
  const { conversation } = await api.data('query ($id: ID!) { conversation(id: $id) { lastCursor } }', { id })
  return conversation.lastCursor
}

const document = `subscription ($id: ID!, $after: EventCursor!) {
  conversationEvents(conversationId: $id, after: $after) { ${eventFields}
    ... on QueueChanged { queue { input { text } } } ... on BranchChanged { lastSharedMessage { id } } } }`

/** Collects events as lines: `<name of the run> <what happened>`. */
function follow(id: string, after: string) {
  const socket = api.webSocket()
  const stream = socket.stream(document, { id, after })
  const names = new Map<string, string>()
  const lines: string[] = []
  const queues: string[][] = []
  let cursor = after
  return {
    lines,
    queues,
    names,
    cursor: () => cursor,
    async until(last: string): Promise<void> {
      while (lines.at(-1) !== last) {
        const result = await stream.next()
        if (!result) throw new Error('the stream ended')
        if (result.errors) throw new Error(result.errors[0]!.extensions.code)
        const event = result.data.conversationEvents
        cursor = event.cursor
        if (event.__typename === 'QueueChanged') {
          queues.push(event.queue.map(({ input }: any) => input[0].text))
          continue
        }
        const what = event.status ?? event.text ?? event.message?.text ?? event.__typename
        lines.push(`${names.get(event.runId) ?? event.runId} ${what}`)
      }
    },
    ended: async () => (await stream.next()) === undefined,
    async close() {
      await stream.close()
      await socket.dispose()
    },
  }
}

const turn = (name: string, answer: string) => [
  `${name} QUEUED`,
  `${name} RUNNING`,
  `${name} ${name}`,
  `${name} StepStarted`,
  `${name} ${answer}`,
  `${name} ${answer}`,
  `${name} StepFinished`,
  `${name} COMPLETED`,
]

test('[CEV1] runs are sent one after another in the order in which they hold the conversation, also from before the first', async () => {
  const { id, lastCursor } = await newConversation()
  const stream = follow(id, lastCursor)
  const send = async (name: string, options?: Record<string, unknown>) =>
    stream.names.set(await talk.start(id, name, options), name)
  await send('first')
  const first = await model.nextCall()
  first.say('one')
  await stream.until('first one')
  await send('patient', { whenBusy: 'ENQUEUE' })
  const dropped = await talk.start(id, 'never', { whenBusy: 'ENQUEUE' })
  await talk.cancel({ runId: dropped })
  await send('urgent', { whenBusy: 'INTERRUPT' })
  const urgent = await model.nextCall()
  urgent.say('two')
  await stream.until('urgent two')
  urgent.finish()
  const patient = await model.nextCall()
  patient.say('three')
  await stream.until('patient three')
  patient.finish()
  await stream.until('patient COMPLETED')
  expect(stream.lines).toEqual([
    ...turn('first', 'one').slice(0, -1),
    'first CANCELLED',
    ...turn('urgent', 'two'),
    ...turn('patient', 'three'),
  ])

  // A stream resumed at any of the cursors sends the rest.
  const again = follow(id, lastCursor)
  for (const [run, name] of stream.names) again.names.set(run, name)
  await again.until('first CANCELLED')
  const middle = follow(id, again.cursor())
  for (const [run, name] of stream.names) middle.names.set(run, name)
  await middle.until('patient COMPLETED')
  expect(middle.lines.filter((line) => line.endsWith('COMPLETED'))).toEqual(['urgent COMPLETED', 'patient COMPLETED'])
  await Promise.all([stream.close(), again.close(), middle.close()])
})

test('[CEV2] it waits between runs, continues with a run that is retried, and ends when the conversation is deleted', async () => {
  const { id } = await newConversation()
  const run = await talk.start(id, 'turn')
  const failing = await model.nextCall()
  failing.fail()
  await talk.settled(run)
  const stream = follow(id, await lastCursor(id))
  stream.names.set(run, 'turn')
  await api.data('mutation ($run: ID!) { retryRun(input: { runId: $run }) { __typename } }', { run })
  const call = await model.nextCall()
  call.say('yes')
  await stream.until('turn yes')
  call.finish()
  await stream.until('turn COMPLETED')
  const next = await talk.start(id, 'next')
  stream.names.set(next, 'next')
  const second = await model.nextCall()
  await stream.until('next StepStarted')
  second.finish()
  await stream.until('next COMPLETED')
  await api.data('mutation ($id: ID!) { deleteConversation(input: { id: $id }) { __typename } }', { id })
  expect(await stream.ended()).toBe(true)
  await stream.close()
})

test('[CEV3] a cursor that is malformed, of another conversation, or of a run that is still queued is BAD_CURSOR', async () => {
  const { id } = await newConversation()
  const other = await newConversation()
  const run = await talk.start(id, 'active')
  const call = await model.nextCall()
  const queued = await talk.send(id, 'waits', { whenBusy: 'ENQUEUE' })
  const { run: waiting } = await api.data('query ($id: ID!) { run(id: $id) { lastCursor } }', { id: queued.run.id })
  for (const after of [other.lastCursor, waiting.lastCursor, 'nonsense', `c1.${run.slice(4)}.${'0'.repeat(8)}.99`]) {
    const stream = follow(id, after)
    await expect(stream.until('')).rejects.toThrow('BAD_CURSOR')
    await stream.close()
  }
  const unknown = follow(
    id.replace(/.$/, (last) => (last === '0' ? '1' : '0')),
    other.lastCursor,
  )
  await expect(unknown.until('')).rejects.toThrow('NOT_FOUND')
  await unknown.close()
  await talk.cancel({ runId: queued.run.id })
  call.finish()
  await talk.settled(run)
})
