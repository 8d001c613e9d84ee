import { afterAll, expect, test } from 'vitest'

import { defineTool } from '../../src/tools/registry.ts'
import { startTestApp } from '../support/app.ts'
import { createGatedModel } from '../support/gated-model.ts'
import { talkTo } from '../support/talk.ts'

const model = createGatedModel()
const toolOf = (name: string, approval: object) =>
  defineTool({ name, description: '', parameters: { type: 'object' }, ...approval, run: () => name })
const tools = [
  toolOf('plain', {}),
  toolOf('ask', { requiresApproval: true }),
  toolOf('perhaps', { approvalCondition: { required: ['much'] } }),
]

const app = await startTestApp({ providers: [model.provider], tools })
const talk = talkTo(app)
afterAll(async () => {
  model.assertAllTaken()
  await app.stop()
})

const events = `__typename cursor ... on RunEvent { runId } ... on RunEntry { seq } ... on RunStatusChanged { status }
  ... on MessageAdded { message { __typename id position } } ... on TextDelta { kind text offset }
  ... on QueueChanged { queue { id input { text } } } ... on BranchChanged { lastSharedMessage { id } }`

/** Reads a conversation's stream as one line per event, and leaves out what runs do between RUNNING and their end. */
function follow(id: string, after: string, more = '') {
  const socket = app.webSocket()
  const stream = socket.stream(
    `subscription ($id: ID!, $after: EventCursor!) {
      conversationEvents(conversationId: $id, after: $after ${more}) { ${events} } }`,
    { id, after },
  )
  return {
    async next(): Promise<any> {
      const result = await stream.next()
      if (result?.errors) throw new Error(result.errors[0]!.extensions.code)
      return result?.data.conversationEvents
    },
    /** The events up to and including the first that matches. */
    async until(fits: (event: any) => boolean): Promise<any[]> {
      const read: any[] = []
      for (;;) {
        const event = await this.next()
        if (!event) throw new Error('the stream ended')
        read.push(event)
        if (fits(event)) return read
      }
    },
    async close() {
      await stream.close()
      await socket.dispose()
    },
  }
}

const ofType = (type: string) => (event: any) => event.__typename === type
const ends = (run: string) => (event: any) => event.runId === run && event.status === 'COMPLETED'
const queueOf = (event: any) => event.queue.map(({ input }: any) => input[0].text)

async function newConversation(): Promise<string> {
  const { createConversation } = await app.data(
    'mutation ($agent: ID!) { createConversation(input: { agentId: $agent }) { conversation { id } } }',
    { agent: await talk.createAgent() },
  )
  return createConversation.conversation.id
}

async function show(id: string): Promise<any> {
  const { conversation } = await app.data(
    `query ($id: ID!) { conversation(id: $id) { lastCursor queue { id } messages { nodes { id } } } }`,
    { id },
  )
  return conversation
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

async function mutate(name: string, input: Record<string, unknown>): Promise<any> {
  const type = `${name[0]!.toUpperCase()}${name.slice(1)}Input`
  const success = name === 'selectBranch' || name === 'clearConversation' ? '' : 'run { id }'
  const data = await app.data(
    `mutation ($input: ${type}!) { ${name}(input: $input) { __typename
      ... on ${type.replace('Input', 'Success')} { __typename ${success} } } }`,
    { input },
  )
  return data[name]
}

test('[CEV4] a message that waits, starts or is cancelled changes the queue, which a reader gets whole and once, wherever it resumes', async () => {
  const id = await newConversation()
  const { lastCursor } = await show(id)
  const stream = follow(id, lastCursor)
  const first = await talk.start(id, 'first')
  const call = await model.nextCall()
  await stream.until(ofType('StepStarted'))
  const second = await talk.start(id, 'second', { whenBusy: 'ENQUEUE' })
  const [one] = await stream.until(ofType('QueueChanged'))
  expect(queueOf(one)).toEqual(['second'])
  const third = await talk.start(id, 'third', { whenBusy: 'ENQUEUE' })
  expect(queueOf(await stream.next())).toEqual(['second', 'third'])
  await talk.cancel({ runId: second })
  expect(queueOf(await stream.next())).toEqual(['third'])

  // Cursors after a change of the queue include the known queue.
  call.say('yes')
  const delta = await stream.next()
  expect(delta).toMatchObject({ __typename: 'TextDelta', runId: first })
  const resumed = follow(id, delta.cursor)
  // A reader that was away for two changes gets one event. One that knows the queue gets none.
  const behind = follow(id, one.cursor)
  expect(queueOf(await behind.next())).toEqual(['third'])
  const shown = await show(id)
  expect(shown.queue.map((run: any) => run.id)).toEqual([third])
  const current = follow(id, shown.lastCursor)

  call.finish()
  await answer()
  for (const reader of [stream, resumed, behind, current]) {
    const read = await reader.until(ends(third))
    expect(read.filter(ofType('QueueChanged')).map(queueOf)).toEqual([[]])
    // The message leaves the queue before the first event of its run.
    expect(read.findIndex(ofType('QueueChanged'))).toBeLessThan(read.findIndex((event) => event.runId === third))
    await reader.close()
  }
})

test('[CEV5] a change of branch is sent once, with the last message that stays, and before the events of the new branch', async () => {
  const id = await newConversation()
  await answered(id, 'one')
  const two = await answered(id, 'two')
  const three = await answered(id, 'three')
  const { lastCursor, messages } = await show(id)
  const [, firstAnswer, question, secondAnswer] = messages.nodes
  const stream = follow(id, lastCursor)

  const edited = await mutate('editMessage', { messageId: question.id, message: { text: 'two again' } })
  await answer()
  const [changed, queued, ...rest] = await stream.until(ends(edited.run.id))
  expect(changed).toMatchObject({ __typename: 'BranchChanged', lastSharedMessage: { id: firstAnswer.id } })
  expect(queued).toMatchObject({ runId: edited.run.id, seq: 1 })
  expect(rest.every((event) => event.runId === edited.run.id)).toBe(true)

  await mutate('selectBranch', { runId: two })
  const selected = await stream.next()
  expect(selected).toMatchObject({ __typename: 'BranchChanged', lastSharedMessage: { id: firstAnswer.id } })
  const another = await mutate('regenerate', { runId: three })
  await answer()
  const [regenerated] = await stream.until(ends(another.run.id))
  expect(regenerated).toMatchObject({ __typename: 'BranchChanged', lastSharedMessage: { id: secondAnswer.id } })

  // Two selections while a reader is away are one event for it, and none if they undo each other.
  const before = (await show(id)).lastCursor
  await mutate('selectBranch', { runId: edited.run.id })
  const between = (await show(id)).lastCursor
  await mutate('selectBranch', { runId: three })
  const late = follow(id, before)
  expect(await late.next()).toMatchObject({ __typename: 'BranchChanged', lastSharedMessage: { id: secondAnswer.id } })
  const later = follow(id, between)
  expect(await later.next()).toMatchObject({ __typename: 'BranchChanged', lastSharedMessage: { id: firstAnswer.id } })
  await mutate('selectBranch', { runId: another.run.id })
  const undone = follow(id, before)
  const last = await talk.start(id, 'last')
  await answer()
  expect((await undone.until(ends(last)))[0]).toMatchObject({ runId: last, seq: 1 })

  const whole = follow(id, before)
  expect((await whole.until(ends(last))).filter(ofType('BranchChanged'))).toEqual([])
  await Promise.all([stream, late, later, undone, whole].map((reader) => reader.close()))
})

test('[CEV6] after a clear, every cursor of the conversation is still valid: all messages are dropped, and new runs follow', async () => {
  const id = await newConversation()
  const empty = (await show(id)).lastCursor
  await answered(id, 'one')
  const { lastCursor } = await show(id)
  const stream = follow(id, lastCursor)
  await mutate('clearConversation', { id })
  const cleared = await stream.next()
  expect(cleared).toMatchObject({ __typename: 'BranchChanged', lastSharedMessage: null })
  const after = (await show(id)).lastCursor
  const run = await answered(id, 'two')
  expect((await stream.until(ends(run)))[0]).toMatchObject({ runId: run, seq: 1 })
  for (const cursor of [empty, lastCursor]) {
    const reader = follow(id, cursor)
    const [first, second] = await reader.until(ends(run))
    expect(first).toMatchObject({ __typename: 'BranchChanged', lastSharedMessage: null })
    expect(second).toMatchObject({ runId: run, seq: 1 })
    await reader.close()
  }
  for (const cursor of [cleared.cursor, after]) {
    const reader = follow(id, cursor)
    expect(await reader.next()).toMatchObject({ runId: run, seq: 1 })
    await reader.close()
  }
  const other = follow(await newConversation(), lastCursor)
  await expect(other.next()).rejects.toThrow('BAD_CURSOR')
  await Promise.all([stream.close(), other.close()])
})

test('[CEV7] `types` sends only events of those types, in both streams, and `deltas` still excludes deltas', async () => {
  const id = await newConversation()
  const { lastCursor } = await show(id)
  const stream = follow(id, lastCursor, ', types: [MESSAGE_ADDED, TEXT_DELTA, BRANCH_CHANGED]')
  const quiet = follow(id, lastCursor, ', deltas: false, types: [TEXT_DELTA, RUN_STATUS_CHANGED]')
  const run = await talk.start(id, 'one')
  const call = await model.nextCall()
  call.say('yes')
  expect((await stream.until(ofType('TextDelta'))).map((event) => event.__typename)).toEqual([
    'MessageAdded',
    'TextDelta',
  ])
  call.finish()
  await talk.settled(run)
  expect((await stream.next()).__typename).toBe('MessageAdded')
  expect((await quiet.until(ends(run))).map((event) => event.status)).toEqual(['QUEUED', 'RUNNING', 'COMPLETED'])
  const socket = app.webSocket()
  const ofRun = socket.stream(
    `subscription ($run: ID!) { runEvents(runId: $run, types: [STEP_STARTED, STEP_FINISHED]) { __typename } }`,
    { run },
  )
  const types: string[] = []
  for (let next = await ofRun.next(); next; next = await ofRun.next()) types.push(next.data.runEvents.__typename)
  expect(types).toEqual(['StepStarted', 'StepFinished'])
  await socket.dispose()
  await mutate('clearConversation', { id })
  expect((await stream.next()).__typename).toBe('BranchChanged')
  await Promise.all([stream.close(), quiet.close()])
})

test('[CEV80] `messageTypes` leaves out other messages and their deltas, in both streams, and streams resume', async () => {
  const id = await newConversation()
  const { lastCursor } = await show(id)
  const filter = ', messageTypes: [ASSISTANT]'
  const stream = follow(id, lastCursor, filter)
  const run = await talk.start(id, 'one')
  const call = await model.nextCall()
  call.think('hm')
  call.part({ type: 'done', item: 'reasoning' })
  call.say('yes')
  const before = await stream.until(ofType('TextDelta'))
  expect(before.map(nameOf)).toEqual(['RunStatusChanged', 'RunStatusChanged', 'StepStarted', 'TextDelta ASSISTANT'])
  await stream.close()
  const resumed = follow(id, before.at(-1).cursor, filter)
  call.say(' and no')
  expect(await resumed.next()).toMatchObject({ __typename: 'TextDelta', text: ' and no', offset: 3 })
  call.finish()
  const after = await resumed.until(ends(run))
  expect(after.map(nameOf)).toEqual(['MessageAdded AssistantMessage', 'StepFinished', 'RunStatusChanged'])
  await resumed.close()

  const socket = app.webSocket()
  const addedOf = async (types: string, from?: string) => {
    const document = `subscription ($run: ID!, $after: EventCursor) {
      runEvents(runId: $run, after: $after, types: [MESSAGE_ADDED], messageTypes: [${types}]) {
        __typename cursor ... on MessageAdded { message { __typename } } } }`
    const names: string[] = []
    const cursors: string[] = []
    const read = socket.stream(document, { run, after: from ?? null })
    for (let next = await read.next(); next; next = await read.next()) {
      names.push(nameOf(next.data.runEvents))
      cursors.push(next.data.runEvents.cursor)
    }
    return { names, cursors }
  }
  const { names, cursors } = await addedOf('USER, REASONING')
  expect(names).toEqual(['MessageAdded UserMessage', 'MessageAdded ReasoningMessage'])
  expect((await addedOf('USER, REASONING', cursors[0])).names).toEqual(['MessageAdded ReasoningMessage'])
  expect((await addedOf('USER, REASONING', cursors[1])).names).toEqual([])
  expect((await addedOf('SUMMARY')).names).toEqual([])
  expect((await addedOf('')).names).toEqual([])
  await socket.dispose()
})

test('[CEV80] `messageTypes` sends the deltas of a call with the type of message that the call becomes a part of', async () => {
  const run = await talk.start(await talk.createAgent({ tools: tools.map(({ name }) => name) }), 'go')
  const call = await model.nextCall()
  for (const { name } of tools) call.call(name, {})
  call.say('end')
  const socket = app.webSocket()
  // The model has not finished, so what is sent does not depend on what was stored.
  const deltasWith = async (types: string) => {
    const stream = socket.stream(
      `subscription ($run: ID!) {
        runEvents(runId: $run, types: [TOOL_CALL_DELTA, TEXT_DELTA], messageTypes: [ASSISTANT, ${types}]) {
          ... on ToolCallDelta { name needs } ... on TextDelta { text } } }`,
      { run },
    )
    const read: string[] = []
    while (read.at(-1) !== 'end') read.push(Object.values((await stream.next())!.data!.runEvents).join(' '))
    await stream.close()
    return read.slice(0, -1)
  }
  // Whether `perhaps` waits depends on its arguments, so its deltas are for both.
  expect(await deltasWith('TOOL_CALL')).toEqual(['plain NOTHING', 'perhaps '])
  expect(await deltasWith('APPROVAL_REQUEST')).toEqual(['ask APPROVAL', 'perhaps '])
  expect(await deltasWith('TOOL_CALL, APPROVAL_REQUEST')).toEqual(['plain NOTHING', 'ask APPROVAL', 'perhaps '])
  call.finish()
  const [waiting] = await talk.pending(run)
  await talk.submit(run, [{ deny: { toolCallId: waiting.id } }])
  await answer()
  await talk.settled(run)
  await socket.dispose()
})

const nameOf = ({ __typename, kind, message }: any) => [__typename, kind, message?.__typename].filter(Boolean).join(' ')
