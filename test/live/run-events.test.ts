import { afterAll, expect, test } from 'vitest'

import { defineTool } from '../../src/tools/registry.ts'
import { startTestApp } from '../support/app.ts'
import { createGatedModel } from '../support/gated-model.ts'
import { talkTo } from '../support/talk.ts'
import { eventFields, openRunEvents, Reader, readToEnd, readUntil, storedTexts, textsOf } from './reader.ts'

const model = createGatedModel()
const echo = defineTool({
  name: 'echo',
  description: 'Returns what it is given.',
  parameters: { type: 'object' },
  parallel: true,
  run: () => 'echo',
})

const app = await startTestApp({ providers: [model.provider], tools: [echo] })
const talk = talkTo(app)
afterAll(async () => {
  model.assertAllTaken()
  await app.stop()
})

const hasText = (text: string) => (reader: Reader) => [...reader.live.values()].includes(text)

test('[STR2] items are sent one after another, also when a provider interleaves tool calls', async () => {
  const run = await talk.start(await talk.createAgent({ tools: ['echo'] }), 'hi')
  const stream = openRunEvents(app, { run })
  const reader = new Reader()
  const call = await model.nextCall()
  for (const item of ['a', 'b']) call.part({ type: 'call', item, callId: item, name: 'echo' })
  call.part({ type: 'arguments', item: 'b', text: '{"which":' })
  call.part({ type: 'arguments', item: 'a', text: '{"which":"a' })
  call.part({ type: 'arguments', item: 'b', text: '"b"}' })
  call.part({ type: 'done', item: 'b' })
  await readUntil(stream, reader, hasText('{"which":"a'))
  expect(reader.live.size).toBe(1)
  call.part({ type: 'arguments', item: 'a', text: '"}' })
  call.part({ type: 'done', item: 'a' })
  call.finish()
  const next = await model.nextCall()
  next.finish()
  await readUntil(stream, reader, () => false)
  expect(reader.deltas.join('')).toBe('{"which":"a"}{"which":"b"}')
  expect(reader.stored).toEqual(await storedTexts(app, run))
  await stream.close()
})

test('[STR3] a reader whose cursor is inside a stored message gets the rest of it as one delta, then the message', async () => {
  const run = await talk.start(await talk.createAgent(), 'hi')
  const stream = openRunEvents(app, { run })
  const reader = new Reader()
  const call = await model.nextCall()
  call.say('one 🙂 ')
  await readUntil(stream, reader, hasText('one 🙂 '))
  const middle = reader.cursor!
  await stream.close()
  call.say('two')
  call.finish()
  await talk.settled(run)
  await readToEnd(app, run, reader)
  expect(reader.deltas).toEqual(['one 🙂 ', 'two'])
  expect(reader.stored.at(-1)![1]).toBe('one 🙂 two')

  // A cursor between the two halves of a surrogate pair, which no event has, does not split the character.
  const split = openRunEvents(app, { run, after: middle.replace(/\d+$/, '5') })
  expect(await split.next()).toMatchObject({ offset: 4, text: '🙂 two' })
  await split.close()
  const without = openRunEvents(app, { run, after: middle, deltas: false })
  expect(await without.next()).toMatchObject({ __typename: 'MessageAdded' })
  await without.close()
})

test('[STR4] a pause does not end the stream, and without deltas the stream has only the stored entries', async () => {
  const agent = await talk.createAgent({ tools: [{ name: 'echo', approvalOverride: true }] })
  const run = await talk.start(agent, 'hi')
  const stream = openRunEvents(app, { run, deltas: false })
  const reader = new Reader()
  const call = await model.nextCall()
  call.say('text')
  call.call('echo', {})
  call.finish()
  await readUntil(stream, reader, ({ seq, types }) => types.at(-1) === 'RunStatusChanged' && seq > 4)
  const [waiting] = await talk.pending(run)
  await talk.submit(run, [{ approve: { toolCallId: waiting.id } }])
  ;(await model.nextCall()).finish()
  await readUntil(stream, reader, () => false)
  expect(reader.end).toBe('COMPLETED')
  expect(reader.deltas).toEqual([])
  expect(reader.stored).toEqual(await storedTexts(app, run))
  await stream.close()
})

test('[STR5] the stream of a retried run has both its endings; resumed at the first, it has the second', async () => {
  const run = await talk.start(await talk.createAgent(), 'hi')
  const failing = await model.nextCall()
  failing.say('void')
  failing.fail()
  const first = await readToEnd(app, run)
  expect(first.end).toBe('FAILED')
  expect(first.live.size).toBe(0)
  await app.data('mutation ($run: ID!) { retryRun(input: { runId: $run }) { __typename } }', { run })
  const call = await model.nextCall()
  call.say('yes')
  call.finish()
  await talk.settled(run)
  first.reopen()
  await readToEnd(app, run, first)
  expect(first.end).toBe('COMPLETED')
  expect(first.stored.at(-1)![1]).toBe('yes')
  expect(first.stored).toEqual(await storedTexts(app, run))

  const statuses: string[] = []
  const whole = openRunEvents(app, { run })
  for (let event = await whole.next(); event; event = await whole.next()) if (event.status) statuses.push(event.status)
  expect(statuses).toEqual(['QUEUED', 'RUNNING', 'FAILED', 'QUEUED', 'RUNNING', 'COMPLETED'])
  await whole.close()
})

test('[STR6] messages and lastCursor of one query, and the events after that cursor, leave no gap at any moment', async () => {
  const run = await talk.start(await talk.createAgent(), 'hi')
  const call = await model.nextCall()
  const look = async () => {
    const { run: shown } = await app.data(
      `query ($id: ID!) { run(id: $id) { lastCursor messages(first: 200) { nodes { __typename id
        ... on UserMessage { text } ... on AssistantMessage { text } } } } }`,
      { id: run },
    )
    const reader = new Reader()
    reader.cursor = shown.lastCursor
    reader.seq = Number(shown.lastCursor.split('.')[3])
    return { reader, had: shown.messages.nodes.flatMap(textsOf) as [string, string][] }
  }
  const looks = [await look()]
  call.say('half ')
  looks.push(await look())
  const streaming = looks.map(({ reader }) => readToEnd(app, run, reader))
  call.say('whole')
  call.finish()
  await talk.settled(run)
  looks.push(await look())
  await Promise.all([...streaming, readToEnd(app, run, looks[2]!.reader)])
  const stored = await storedTexts(app, run)
  for (const { reader, had } of looks) expect(new Map([...had, ...reader.stored])).toEqual(new Map(stored))
})

test('[STR7] server-sent events carry the same events as a WebSocket', async () => {
  const run = await talk.start(await talk.createAgent(), 'hi')
  const events = await app.events(`subscription ($run: ID!) { runEvents(runId: $run) { ${eventFields} } }`, { run })
  const reader = new Reader()
  const call = await model.nextCall()
  const reading = (async () => {
    for await (const { data } of events) reader.apply(data.runEvents)
  })()
  const socket = readToEnd(app, run)
  let said = ''
  for (const word of ['over ', 'both ', 'wires']) {
    call.say(word)
    said += word
    // Must be read before the message is stored, because it would be sent as a whole after that.
    await expect.poll(() => reader.deltas.join('')).toBe(said)
  }
  call.finish()
  await reading
  const other = await socket
  expect(events.headers.get('x-accel-buffering')).toBe('no')
  expect(reader.deltas.join('')).toBe('over both wires')
  expect(reader.stored).toEqual(other.stored)
  expect([reader.end, reader.seq, reader.cursor]).toEqual([other.end, other.seq, other.cursor])
})
