import { expect, test } from 'vitest'

import { changedArguments, notesOf } from '../../src/domain/tools/call-notes.ts'
import type { ContextMessage } from '../../src/domain/context/context.ts'
import type { ToolCall } from '../../src/domain/tools/tool-call.ts'
import { transcriptWithin } from '../../src/domain/context/transcript.ts'

const written = {
  name: 'pay',
  needs: 'APPROVAL',
  argumentsText: '{"sum": 500, "to": "Ada"}',
  arguments: { to: 'Ada', sum: 500 },
  editedArguments: null,
  decision: {
    kind: 'APPROVED',
    reason: null,
    note: null,
    scope: 'ONCE',
    actor: { kind: 'OPEN', id: 'open', name: 'open' },
  },
  decidedAt: new Date('2026-01-01'),
  result: null,
} as unknown as ToolCall

test('[PRV40] only a change of value is a change, whatever the order of keys and what cannot be stored', () => {
  expect(changedArguments(written)).toBeUndefined()
  expect(changedArguments({ ...written, editedArguments: { to: 'Ada', sum: 500 } })).toBeUndefined()
  expect(changedArguments({ ...written, argumentsText: '{"to":"A\\u0000"}', arguments: { to: 'A' } })).toBeUndefined()
  expect(changedArguments({ ...written, argumentsText: '{"to', arguments: null })).toBeUndefined()
  expect(changedArguments({ ...written, arguments: { to: 'Bob' } })).toEqual({ by: 'a tool rule', ran: '{"to":"Bob"}' })
  expect(changedArguments({ ...written, argumentsText: '{"to', arguments: null, editedArguments: { sum: 5 } })).toEqual(
    {
      by: 'a person',
      ran: '{"sum":5}',
    },
  )
})

test('[PRV40] the approver’s note is sent with the return', () => {
  const decision = { ...written.decision!, note: 'only this once' }
  expect(notesOf({ ...written, decision })).toEqual(['The person who approved this call says: only this once'])
})

test('[PRV41] a transcript shows what the assistant wrote, what ran instead and who changed it', () => {
  const message = { type: 'APPROVAL_REQUEST', content: {} } as ContextMessage['message']
  const edited = { ...written, editedArguments: { sum: 5 } }
  expect(transcriptWithin([{ message, callsOfStep: [edited] }], 1_000)).toBe(
    'assistant asks to call pay:\n> {"sum": 500, "to": "Ada"}\n\na person changed the arguments of pay, which ran with:\n> {"sum":5}',
  )
})
