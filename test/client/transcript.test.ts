import fc from 'fast-check'
import { expect, test } from 'vitest'

import type { MessageFields, RunEventFields } from '../../client/documents.ts'
import { createTranscript, type Transcript, type TranscriptEntry } from '../../client/transcript.ts'
import { interleavedRuns, planRun } from './run-script.ts'
import { longer } from '../support/long.ts'

const shown = ({ state }: Transcript): unknown => ({
  entries: state.entries.map(describe),
  pending: state.pendingCalls.map(({ id }) => id),
  runs: state.runs.map(({ id, status }) => [id, status]),
})

function describe(entry: TranscriptEntry): unknown {
  if (entry.kind === 'live') return ['live', entry.id, entry.text]
  if (entry.kind === 'message') return ['message', entry.id, entry.message.text]
  return ['call', entry.id, entry.call.status, entry.call.result?.output ?? null]
}

/** What the messages query would show: every stored message in order, calls with their last status. */
function storedView(events: readonly RunEventFields[]): unknown[] {
  const messages = events.flatMap((event) => (event.__typename === 'MessageAdded' ? [event.message] : []))
  const statuses = new Map(
    events.flatMap((event) =>
      event.__typename === 'ToolCallChanged' ? [[event.toolCall.id, event.toolCallStatus] as const] : [],
    ),
  )
  return messages
    .toSorted((a, b) => a.position - b.position)
    .flatMap((message: MessageFields) => {
      if ('text' in message) return [['message', message.id, message.text]]
      if (!('toolCalls' in message)) return []
      return message.toolCalls.map(({ id, result }) => {
        const status = statuses.get(id)!
        return ['call', id, status, status === 'PENDING' ? null : (result?.output ?? null)]
      })
    })
}

test('[LIB1] any mix of runs ends with the stored messages, whatever is repeated on the way', () => {
  fc.assert(
    fc.property(interleavedRuns, fc.array(fc.nat(19), { size: 'medium' }), (events, rewinds) => {
      const once = createTranscript()
      for (const event of events) once.apply(event)
      expect((shown(once) as { entries: unknown[] }).entries).toEqual(storedView(events))

      const often = createTranscript()
      for (let index = 0; index < events.length; index++) {
        often.apply(events[index]!)
        const back = rewinds[index] ?? 0
        // A library resubscribed with an old cursor, so everything after it is repeated.
        for (const again of events.slice(Math.max(0, index - back), index + 1)) often.apply(again)
      }
      expect(shown(often)).toEqual(shown(once))
      expect(often.state.cursor).toBe(once.state.cursor)
    }),
    { numRuns: longer(300, 2_000) },
  )
})

test('[LIB2] live text only grows, except where its step starts again, and merged deltas read the same', () => {
  fc.assert(
    fc.property(interleavedRuns, (events) => {
      const transcript = createTranscript()
      const texts = new Map<string, string>()
      for (const event of events) {
        transcript.apply(event)
        for (const entry of transcript.state.entries) {
          if (entry.kind !== 'live') continue
          expect(entry.text.startsWith(texts.get(entry.id) ?? '')).toBe(true)
          texts.set(entry.id, entry.text)
        }
      }
      const merged = createTranscript()
      for (const event of mergeDeltas(events)) merged.apply(event)
      expect(shown(merged)).toEqual(shown(transcript))
    }),
  )
})

/** Like a slow reader's: each delta has the whole text so far. */
function mergeDeltas(events: readonly RunEventFields[]): RunEventFields[] {
  const texts = new Map<string, string>()
  return events.map((event) => {
    if (event.__typename !== 'TextDelta') return event
    const text = (texts.get(event.messageId) ?? '') + event.text
    texts.set(event.messageId, text)
    return { ...event, offset: 0, text }
  })
}

test('[LIB3] a snapshot in mid-stream and the events after its cursor leave no gap', () => {
  fc.assert(
    fc.property(interleavedRuns, fc.nat(), (events, at) => {
      const cut = at % (events.length + 1)
      const before = createTranscript()
      for (const event of events.slice(0, cut)) before.apply(event)
      const whole = createTranscript()
      for (const event of events) whole.apply(event)

      const messages = events
        .slice(0, cut)
        .flatMap((event) => (event.__typename === 'MessageAdded' ? [event.message] : []))
      const resumed = createTranscript()
      resumed.load({ messages, runs: before.state.runs })
      // The cursor of a snapshot names a stored entry, so the live step is sent from its first character.
      const live = new Set(before.state.entries.flatMap((entry) => (entry.kind === 'live' ? [entry.id] : [])))
      const again = events
        .slice(0, cut)
        .filter((event) => event.__typename === 'TextDelta' && live.has(event.messageId))
      for (const event of [...again, ...events.slice(cut)]) resumed.apply(event)
      expect(resumed.state.entries.map(({ id }) => id)).toEqual(whole.state.entries.map(({ id }) => id))
    }),
  )
})

test('[LIB4] what was streamed and not stored is gone when the step starts again or the run ends', () => {
  for (const end of ['COMPLETED', 'FAILED', 'CANCELLED'] as const) {
    const said = { type: 'say', pieces: ['half an ', 'answer'], isStored: true } as const
    const events = planRun('run', [said], end).map((event) => event(() => 1))
    const transcript = createTranscript()
    for (const event of events.filter(({ __typename }) => !['MessageAdded', 'StepFinished'].includes(__typename))) {
      if (event.__typename === 'RunStatusChanged' && event.status === end) {
        expect(shown(transcript)).toMatchObject({ entries: [['live', 'run.0', 'half an answer']] })
      }
      transcript.apply(event)
    }
    expect(shown(transcript)).toMatchObject({ entries: [], runs: [['run', end]] })
  }
})

test('[LIB5] a change of branch drops what is no longer current, and a change of the queue replaces it', () => {
  const said = { type: 'say', pieces: ['one'], isStored: true } as const
  let position = 0
  const events = ['run_0', 'run_1'].flatMap((id) =>
    planRun(id, [said], 'COMPLETED').map((event) => event(() => ++position)),
  )
  const transcript = createTranscript()
  for (const event of events) transcript.apply(event)
  expect(transcript.state.entries).toHaveLength(4)
  transcript.apply({ __typename: 'BranchChanged', cursor: 'b', lastSharedMessage: { id: 'run_0.0', position: 2 } })
  expect(transcript.state.entries.map(({ id }) => id)).toEqual(['run_0.input', 'run_0.0'])
  expect(transcript.state.cursor).toBe('b')
  const queued = { id: 'run_2', status: 'QUEUED', createdAt: '', input: [] } as const
  transcript.apply({ __typename: 'QueueChanged', cursor: 'q', queue: [queued] })
  expect(transcript.state.queue).toEqual([queued])
  transcript.apply({ __typename: 'BranchChanged', cursor: 'c', lastSharedMessage: null })
  expect(transcript.state.entries).toEqual([])
})

test('[LIB5] a change of branch anywhere in any mix of runs leaves what is shared, and what comes after it', () => {
  fc.assert(
    fc.property(interleavedRuns, fc.nat(), fc.nat(), (events, at, last) => {
      const cut = at % (events.length + 1)
      const added = events
        .slice(0, cut)
        .flatMap((event) => (event.__typename === 'MessageAdded' ? [event.message] : []))
      const shared = added.length === 0 ? undefined : added[last % added.length]
      const isDropped = (event: RunEventFields) =>
        event.__typename === 'MessageAdded' && event.message.position > (shared?.position ?? 0)
      const transcript = createTranscript()
      for (const event of events.slice(0, cut)) transcript.apply(event)
      const lastSharedMessage = shared ? { id: shared.id, position: shared.position } : null
      const change = { __typename: 'BranchChanged', cursor: 'branch', lastSharedMessage } as const
      transcript.apply(change)
      // A library that resubscribes may repeat everything, but dropped messages do not come back.
      for (const event of events.slice(0, cut)) transcript.apply(event)
      transcript.apply(change)
      for (const event of events.slice(cut)) transcript.apply(event)
      const kept = events.filter((event, index) => index >= cut || !isDropped(event))
      expect((shown(transcript) as { entries: unknown[] }).entries).toEqual(storedView(kept))
    }),
  )
})

test('[LIB6] an entry stays the same object until something about it changes', () => {
  const said = { type: 'say', pieces: ['a', 'b', 'c'], isStored: true } as const
  let position = 0
  const events = planRun('run', [said, said], 'COMPLETED').map((event) => event(() => ++position))
  const transcript = createTranscript()
  let before = transcript.state
  for (const event of events) {
    const changed = transcript.apply(event)
    expect(transcript.apply(event)).toBe(false)
    const after = transcript.state
    expect(after === before).toBe(!changed)
    expect(transcript.state).toBe(after)
    for (const [index, entry] of before.entries.entries()) {
      if (entry.kind === 'message') expect(after.entries[index]).toBe(entry)
    }
    before = after
  }
})
