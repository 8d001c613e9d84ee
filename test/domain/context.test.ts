import { expect, test } from 'vitest'

import { toModelMessages, type ContextMessage } from '../../src/domain/context/context.ts'
import type { ToolCall } from '../../src/domain/tools/tool-call.ts'

const at = new Date('2026-11-17T10:00:00Z')
const call = { providerCallId: 'call_1', name: 'pay', needs: null, argumentsText: '{}', arguments: {}, ordinal: 0 }
const result = { status: 'SUCCESS', output: 'paid' }
const paid = { ...call, finishedAt: at, decision: null, result } as unknown as ToolCall

function entry(type: string, content: object, callsOfStep: readonly ToolCall[] = []): ContextMessage {
  const stepIndex = type === 'USER' ? null : 0
  const message = { type, content, runId: 'run', stepIndex, conversationId: 'c', excluded: false, createdAt: at }
  return { message: message as ContextMessage['message'], callsOfStep }
}

const context = [
  entry('USER', { content: [{ text: 'Pay.' }] }),
  entry('ASSISTANT', { text: 'I pay.', provider: null }),
  entry('TOOL_CALL', {}, [paid]),
  entry('TOOL_RETURN', {}, [paid]),
]

test('[ENG60] a message that has not changed is made for a model once, a changed one is made again', () => {
  const first = toModelMessages(context)
  expect(first.map(({ role }) => role)).toEqual(['user', 'assistant', 'tool'])
  const changed = { ...paid, result: { ...paid.result!, output: 'refused' } }
  const second = toModelMessages([...context.slice(0, 3), entry('TOOL_RETURN', {}, [changed])])
  expect(second.slice(0, 2).every((message, place) => message === first[place])).toBe(true)
  expect(second[2]).toMatchObject({ returns: [{ output: 'refused' }] })
})

test('[ENG60] a step that has lost a message, and a model that is told times, get messages of their own', () => {
  const first = toModelMessages(context)
  const shorter = toModelMessages(context.toSpliced(2, 1))
  expect(shorter[1]).toEqual({ role: 'assistant', parts: [{ type: 'text', text: 'I pay.', provider: null }] })
  const timed = toModelMessages(context, { tellTimes: true, timezone: 'UTC' })
  expect(timed[0]).toMatchObject({ at: '2026-11-17 10:00:00 (UTC)' })
  expect(toModelMessages(context)).toEqual(first)
})
