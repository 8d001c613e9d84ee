import { afterAll, expect, test } from 'vitest'

import { writeText, type LiveItem } from '../../src/domain/runs/live-step.ts'
import { encodeId } from '../../src/domain/ids.ts'
import type { LogEntry, RunEvent } from '../../src/domain/runs/run-event.ts'
import { noUsage } from '../../src/domain/models/usage.ts'
import { followRun } from '../../src/live/follow-run.ts'
import { createGround } from '../support/execute.ts'
import { createFixtures } from '../support/fixtures.ts'
import { createExecutor, type Executor } from '../support/run-executor.ts'

const ground = await createGround()
const make = createFixtures(ground.db)
const nothing = () => {}
const hub = ground.context.hub.connect({
  topicOpened: nothing,
  topicClosed: nothing,
  textWritten: nothing,
  entriesStored: nothing,
  pollFound: nothing,
  announced: nothing,
  stopRequested: nothing,
  progressed: nothing,
})
afterAll(() => ground.close())

/** A run whose first step is being written. */
async function writtenRun() {
  const tenantId = ground.viewer.tenantId
  const agent = await make.agent({ tenant_id: tenantId })
  const conversation = await make.conversation({ tenant_id: tenantId, agent_id: agent.id })
  const run = await make.run(conversation, { status: 'RUNNING' })
  await make.log(run, 1, [{ type: 'stepStarted', index: 0 }])
  const item: LiveItem = {
    kind: 'ASSISTANT',
    id: ground.context.ids.next(),
    text: '',
    complete: false,
    redacted: false,
    provider: null,
  }
  ground.context.hub.setLiveStep(run.id, { seq: 1, stepIndex: 0, items: [item] })
  const write = (text: string) => {
    writeText(item, text)
    ground.context.hub.textWritten(run.id)
  }
  return { run, conversation, write, item }
}

async function nextText(reader: AsyncIterator<RunEvent>): Promise<string> {
  const { value } = await reader.next()
  return value.type === 'text' ? value.text : value.entry.type
}

test('[STR8] a reader that fell behind gets the text that it missed as one delta, beside a reader that keeps up', async () => {
  const { run, write } = await writtenRun()
  const fast = followRun(
    ground.context,
    { id: run.id, conversationId: run.conversation_id },
    { after: undefined, deltas: true },
  )
  const slow = followRun(
    ground.context,
    { id: run.id, conversationId: run.conversation_id },
    { after: undefined, deltas: true },
  )
  for (const reader of [fast, slow]) expect(await nextText(reader)).toBe('stepStarted')
  write('begin')
  for (const reader of [fast, slow]) expect(await nextText(reader)).toBe('begin')
  let missed = ''
  for (let word = 0; word < 500; word += 1) {
    write(` ${word}`)
    missed += ` ${word}`
    expect(await nextText(fast)).toBe(` ${word}`)
  }
  expect(await nextText(slow)).toBe(missed)
  await fast.return()
  await slow.return()
})

/** The seqs of the next `count` events, or of those up to the end of the stream. */
async function seqsOf(reader: AsyncIterableIterator<RunEvent>, count: number): Promise<number[]> {
  const seqs: number[] = []
  while (seqs.length < count) {
    const { done, value } = await reader.next()
    if (done) break
    seqs.push(value.type === 'entry' ? value.seq : 0)
  }
  return seqs
}

const ending: LogEntry = {
  type: 'status',
  status: 'COMPLETED',
  stopReason: 'END_TURN',
  error: null,
  usage: { ...noUsage, steps: 1 },
}

test('[STR10] a log of any length is read to its end, by the first reader and by others', async () => {
  const { run } = await writtenRun()
  const all = Array.from({ length: 250 }, (_, index) => index + 1)
  for (const seq of all.slice(1, -1)) await make.log(run, seq, [{ type: 'stepStarted', index: seq }])
  const readers = [1, 2].map(() =>
    followRun(ground.context, { id: run.id, conversationId: run.conversation_id }, { after: undefined, deltas: true }),
  )
  for (const reader of readers) expect(await seqsOf(reader, 249)).toEqual(all.slice(0, -1))

  await make.log(run, 250, [ending])
  const ended = { status: 'COMPLETED', finished_at: ground.context.clock.now() } as const
  await ground.db.updateTable('runs').set(ended).where('id', '=', run.id).execute()
  ground.context.hub.runChanged(run.id)
  for (const reader of readers) expect(await seqsOf(reader, 2)).toEqual([250])

  // Also when a read ends exactly at its limit.
  for (const after of [0, 150]) {
    const cursor = { runId: run.id, seq: after, item: 0, offset: 0 }
    const late = followRun(
      ground.context,
      { id: run.id, conversationId: run.conversation_id },
      { after: cursor, deltas: true },
    )
    expect(await seqsOf(late, 251)).toEqual(all.slice(after))
  }
})

test('[STR10] a reader that resumes at the end of an ended run does not wait, also beside one that is still reading', async () => {
  const { run } = await writtenRun()
  await make.log(run, 2, [ending])
  const ended = { status: 'COMPLETED', finished_at: ground.context.clock.now() } as const
  await ground.db.updateTable('runs').set(ended).where('id', '=', run.id).execute()
  const slow = followRun(
    ground.context,
    { id: run.id, conversationId: run.conversation_id },
    { after: undefined, deltas: true },
  )
  expect(await seqsOf(slow, 1)).toEqual([1])
  for (let reader = 0; reader < 2; reader += 1) {
    const after = { runId: run.id, seq: 2, item: 0, offset: 0 }
    expect(
      await seqsOf(
        followRun(ground.context, { id: run.id, conversationId: run.conversation_id }, { after, deltas: true }),
        1,
      ),
    ).toEqual([])
  }
  expect(await seqsOf(slow, 2)).toEqual([2])
})

test('[STR10] a reader that waits at the end does not hide the beginning from one that starts there', async () => {
  const { run } = await writtenRun()
  const after = { runId: run.id, seq: 1, item: 0, offset: 0 }
  const atEnd = followRun(ground.context, { id: run.id, conversationId: run.conversation_id }, { after, deltas: false })
  const parked = atEnd.next()
  // Joins the current read. When it is over, the reader at the end waits.
  await ground.context.hub.tail(run.id)!.read(1, async () => ({ events: [], cut: false, finished: false }))
  const late = followRun(
    ground.context,
    { id: run.id, conversationId: run.conversation_id },
    { after: undefined, deltas: false },
  )
  expect(await seqsOf(late, 1)).toEqual([1])
  await late.return()
  await atEnd.return()
  await parked
})

test('[STR11] a reader that waits gets the entries that another reader of the run finds, although nobody announced them', async () => {
  const { run } = await writtenRun()
  const places = [
    { item: 0, offset: 0 },
    { item: 1, offset: 2 },
  ]
  const readers = places.map((place) =>
    followRun(
      ground.context,
      { id: run.id, conversationId: run.conversation_id },
      { after: { runId: run.id, seq: 1, ...place }, deltas: true },
    ),
  )
  const waiting = readers.map((reader) => seqsOf(reader, 3))
  // Joins the current read of both. When it is over, both wait.
  await ground.context.hub.tail(run.id)!.read(1, async () => ({ events: [], cut: false, finished: false }))
  // The step is restarted and the run ends, in one packed row.
  await make.log(run, 2, [{ type: 'stepRestarted', index: 0, attempt: 2 }, ending])
  const ended = { status: 'COMPLETED', finished_at: ground.context.clock.now() } as const
  await ground.db.updateTable('runs').set(ended).where('id', '=', run.id).execute()
  const other = followRun(
    ground.context,
    { id: run.id, conversationId: run.conversation_id },
    { after: undefined, deltas: true },
  )
  expect(await seqsOf(other, 4)).toEqual([1, 2, 3])
  expect(await Promise.all(waiting)).toEqual([
    [2, 3],
    [2, 3],
  ])
})

test('[STR9] opening and dropping 2,000 subscribers of every kind leaves nothing behind', async () => {
  const { run, conversation, write } = await writtenRun()
  write('half a message')
  const api: Executor = createExecutor(ground, ground.viewer.tenantId)
  const documents = [
    `subscription { runEvents(runId: "${encodeId('Run', run.id)}") { cursor } }`,
    `subscription { conversationEvents(conversationId: "${encodeId('Conversation', conversation.id)}",
      after: "c1.${conversation.id.replaceAll('-', '')}.${conversation.id.slice(-8)}.0") { cursor } }`,
    'subscription { approvalInbox { __typename } }',
    'subscription { runChanges(since: "2026-01-01T00:00:00Z") { id } }',
  ]
  for (let round = 0; round < 20; round += 1) {
    const opened = await Promise.all(
      Array.from({ length: 100 }, async (_, index) => {
        const events = (await api.subscribe(documents[index % documents.length]!)) as AsyncGenerator
        // Some have read and wait for more, some are in the middle of a read, some never read.
        if (index % 3 === 0) await events.next()
        const waiting = index % 3 < 2 ? events.next() : undefined
        return { events, waiting }
      }),
    )
    write('.')
    await Promise.all(opened.map(({ events }) => events.return(undefined)))
    for (const { waiting } of opened) await waiting
  }
  expect(hub.topics()).toEqual([])
  expect(ground.context.hub.runsWithReaders()).toEqual([])
  expect(ground.context.hub.tail(run.id)).toBeUndefined()
  // No timer of a feed is left. The connection pool has some of its own, and so has each statement that is still under way
  // for a reader that has left: one that were forgotten would last for ten seconds.
  const countTimers = () => process.getActiveResourcesInfo().filter((type) => type === 'Timeout').length
  await expect.poll(countTimers, { timeout: 5_000 }).toBeLessThan(50)
})
