import fc from 'fast-check'
import { describe, expect, test } from 'vitest'

import { firstToStay, planCompaction, unitsOf, withoutOpenCalls } from '../../src/domain/context/compaction.ts'
import { toModelMessages, type ContextMessage } from '../../src/domain/context/context.ts'
import type { Message, MessageType } from '../../src/domain/conversations/message.ts'
import type { ModelMessage } from '../../src/domain/models/model-request.ts'
import type { ToolCall } from '../../src/domain/tools/tool-call.ts'

/** A step: its text, its calls, and whether the calls have their returns. */
interface GivenStep {
  readonly reasoning: boolean
  readonly text: boolean
  readonly own: number
  readonly waiting: number
}

interface GivenRun {
  readonly inputs: number
  readonly steps: readonly GivenStep[]
  readonly followUps: number
}

const step = fc.record({
  reasoning: fc.boolean(),
  text: fc.boolean(),
  own: fc.nat({ max: 2 }),
  waiting: fc.nat({ max: 2 }),
})
const run = fc.record({
  inputs: fc.integer({ min: 1, max: 2 }),
  steps: fc.array(step, { maxLength: 4 }),
  followUps: fc.nat({ max: 1 }),
})
/** The last step of all may still wait for its returns. */
const conversation = fc.record({ runs: fc.array(run, { minLength: 1, maxLength: 8 }), open: fc.boolean() })

function build({ runs, open }: { readonly runs: readonly GivenRun[]; readonly open: boolean }): ContextMessage[] {
  const context: ContextMessage[] = []
  const add = (runId: string, type: MessageType, stepIndex: number | null, callsOfStep: readonly ToolCall[] = []) => {
    const position = context.length + 1
    const content = { content: [{ text: `${position}` }], text: `${position}`, provider: null }
    context.push({
      message: { id: `${position}`, runId, type, stepIndex, position, content } as unknown as Message,
      callsOfStep,
    })
  }
  for (const [number, { inputs, steps, followUps }] of runs.entries()) {
    const runId = `run ${number}`
    for (let index = 0; index < inputs; index += 1) add(runId, 'USER', null)
    for (const [index, { reasoning, text, own, waiting }] of steps.entries()) {
      const isLast = number === runs.length - 1 && index === steps.length - 1
      const calls = Array.from({ length: own + waiting }, (_, ordinal) => {
        return {
          providerCallId: `${runId} ${index} ${ordinal}`,
          name: 'tool',
          argumentsText: '{}',
          ordinal,
          needs: ordinal < own ? 'NOTHING' : 'APPROVAL',
          decision: null,
          result: { status: 'SUCCESS', output: 'done' },
        } as unknown as ToolCall
      })
      if (reasoning) add(runId, 'REASONING', index)
      if (text) add(runId, 'ASSISTANT', index)
      if (own > 0) add(runId, 'TOOL_CALL', index, calls)
      if (waiting > 0) add(runId, 'APPROVAL_REQUEST', index, calls)
      if (calls.length > 0 && !(open && isLast)) {
        if (waiting > 0) add(runId, 'APPROVAL_RESPONSE', index, calls)
        add(runId, 'TOOL_RETURN', index, calls)
      }
    }
    if (!open || number < runs.length - 1) for (let i = 0; i < followUps; i += 1) add(runId, 'USER', null)
  }
  return context
}

const task = fc.record({
  fixed: fc.nat({ max: 1_500 }),
  window: fc.integer({ min: 200, max: 1_000 }),
  mode: fc.constantFrom('ALL' as const, 'SLIDING_WINDOW' as const),
  keepRatio: fc.double({ min: 0, max: 1, noNaN: true }),
  weights: fc.array(fc.integer({ min: 1, max: 120 }), { minLength: 200, maxLength: 200 }),
})

describe('where a context is cut', () => {
  test('[CMP1] messages stay in order, and the messages of a step stay together', () => {
    fc.assert(
      fc.property(conversation, (given) => {
        const context = build(given)
        const units = unitsOf(context)
        expect(units.flat()).toEqual(context)
        const keys = units.map((unit) =>
          unit.map(({ message }) => (message.stepIndex === null ? 'input' : `${message.runId} ${message.stepIndex}`)),
        )
        for (const unit of keys) expect(new Set(unit).size).toBe(1)
        const steps = keys.map((unit) => unit[0]!).filter((key) => key !== 'input')
        expect(new Set(steps).size).toBe(steps.length)
      }),
    )
  })

  test('[CMP2] what is kept is a valid exchange that includes everything the model has not answered', () => {
    fc.assert(
      fc.property(conversation, task, (given, { weights, mode, keepRatio, ...size }) => {
        const context = build(given)
        const units = unitsOf(context)
        const runId = `run ${given.runs.length - 1}`
        const plan = planCompaction({
          ...size,
          units: units.map((unit, index) => ({ messages: unit.length, weight: weights[index]! })),
          firstToStay: firstToStay(units, runId),
          settings: { mode, keepRatio },
        })
        if (!plan) return
        expect(plan.evict).toBeGreaterThan(0)
        const kept = units.slice(plan.evict).flat()
        assertWellFormed(toModelMessages(withoutOpenCalls(kept)))
        // The newest messages stay: open calls, the last returns that the model has not read, and the input after them.
        const unread = unreadOf(context, runId)
        expect(kept.slice(kept.length - unread.length)).toEqual(unread)
      }),
    )
  })

  test('[CMP3] a plan fits: the rest, the summary and what cannot be compacted are within the window', () => {
    fc.assert(
      fc.property(conversation, task, (given, { weights, mode, keepRatio, fixed, window }) => {
        const units = unitsOf(build(given)).map((unit, index) => ({ messages: unit.length, weight: weights[index]! }))
        const stay = firstToStay(unitsOf(build(given)), `run ${given.runs.length - 1}`)
        const plan = planCompaction({ units, firstToStay: stay, fixed, window, settings: { mode, keepRatio } })
        const weigh = (from: number) => units.slice(from).reduce((total, { weight }) => total + weight, 0)
        if (!plan) {
          // Nothing may be removed, or there is no room for a summary even if everything possible is removed.
          expect(stay === 0 || window - fixed - weigh(stay) < 40 || window < 320).toBe(true)
          return
        }
        expect(fixed + plan.summaryTokens + weigh(plan.evict)).toBeLessThanOrEqual(window)
        expect(plan.evict).toBeLessThanOrEqual(stay)
        if (mode === 'ALL') expect(plan.evict).toBe(stay)
        else if (plan.evict < stay) {
          expect(fixed + plan.summaryTokens + weigh(plan.evict)).toBeLessThan(window * 0.7)
        }
      }),
    )
  })

  test('[CMP3] a sliding window keeps the configured share if that fits', () => {
    const units = Array.from({ length: 10 }, () => ({ messages: 1, weight: 10 }))
    const sliding = { units, firstToStay: 9, fixed: 0, window: 10_000 }
    const evicted = (keepRatio: number) =>
      planCompaction({ ...sliding, settings: { mode: 'SLIDING_WINDOW', keepRatio } })?.evict
    expect([0, 0.3, 0.7, 0.95, 1].map(evicted)).toEqual([9, 7, 3, 1, 1])
  })
})

/**
 * Computed differently than in the code: from the end, the run's input, then the step whose returns the model has not
 * read.
 */
function unreadOf(context: readonly ContextMessage[], runId: string): ContextMessage[] {
  const isStep = ({ message }: ContextMessage) => message.runId === runId && message.stepIndex !== null
  const lastStep = context.findLast(isStep)
  const lastIndex = lastStep ? context.indexOf(lastStep) : -1
  const reaches = lastStep && ['TOOL_RETURN', 'TOOL_CALL', 'APPROVAL_REQUEST'].includes(lastStep.message.type)
  const from = reaches
    ? context.findIndex((entry) => isStep(entry) && entry.message.stepIndex === lastStep.message.stepIndex)
    : Math.max(
        lastIndex + 1,
        context.findIndex(({ message }) => message.runId === runId),
      )
  return context.slice(from)
}

/** Every call has exactly one return, right after the message that made it. */
function assertWellFormed(messages: readonly ModelMessage[]): void {
  for (const [index, message] of messages.entries()) {
    const calls = callIdsOf(message)
    const next = messages[index + 1]
    const returns = next?.role === 'tool' ? next.returns.map(({ callId }) => callId) : []
    if (calls.join() !== returns.join()) {
      throw new Error(`calls ${calls.join()} have the returns ${returns.join()} in ${JSON.stringify(messages)}`)
    }
  }
  if (messages[0]?.role === 'tool') throw new Error('The exchange begins with a return.')
}

function callIdsOf(message: ModelMessage): string[] {
  return message.role === 'assistant'
    ? message.parts.flatMap((part) => (part.type === 'call' ? [part.callId] : []))
    : []
}
