import fc from 'fast-check'

import type { MessageFields, RunEventFields, ToolCallFields } from '../../client/documents.ts'
import type { RunStatus, ToolCallStatus } from '../../client/schema-types.ts'

/** A random event of a run. */
type Action =
  | { readonly type: 'say' | 'think'; readonly pieces: readonly string[]; readonly isStored: boolean }
  | { readonly type: 'call'; readonly pieces: readonly string[]; readonly statuses: readonly ToolCallStatus[] }
  | { readonly type: 'restart' }

const action: fc.Arbitrary<Action> = fc.oneof(
  fc.record({
    type: fc.constantFrom('say' as const, 'think' as const),
    pieces: fc.array(fc.string({ minLength: 1, maxLength: 4 }), { minLength: 1, maxLength: 4 }),
    isStored: fc.boolean(),
  }),
  fc.record({
    type: fc.constant('call' as const),
    pieces: fc.array(fc.string({ minLength: 1, maxLength: 4 }), { minLength: 1, maxLength: 3 }),
    statuses: fc.constantFrom<readonly ToolCallStatus[]>(
      ['RUNNING', 'SUCCEEDED'],
      ['PENDING', 'READY', 'RUNNING', 'FAILED'],
      ['PENDING', 'DENIED'],
      ['PENDING'],
    ),
  }),
  fc.constant({ type: 'restart' as const }),
)

const tokens = { inputTokens: 1, outputTokens: 1, totalTokens: 2, cachedInputTokens: 0, reasoningTokens: 0 }
const usage = { steps: 1, ...tokens, costUsd: null }
const at = '2026-01-01T00:00:00.000Z'

/** An event whose position in the conversation is known only when the runs are mixed. */
type Planned = (position: () => number) => RunEventFields

/** The events of one run that does these things, each as a function of the conversation's next position. */
export function planRun(runId: string, actions: readonly Action[], end: RunStatus): Planned[] {
  const planned: Planned[] = []
  let seq = 0
  let items = 0
  const entry = (): { runId: string; at: string; seq: number; cursor: string } => {
    seq++
    return { runId, at, seq, cursor: `${runId}:${seq}` }
  }
  const status = (to: RunStatus): void => {
    const base = entry()
    planned.push(() => ({ __typename: 'RunStatusChanged', ...base, status: to, stopReason: null, error: null, usage }))
  }
  const step = (type: 'StepStarted' | 'StepRestarted' | 'StepFinished'): void => {
    const base = entry()
    if (type === 'StepFinished') planned.push(() => ({ __typename: type, ...base, step: { model: 'demo/scripted' } }))
    else if (type === 'StepStarted') planned.push(() => ({ __typename: type, ...base, stepId: 'step', index: 0 }))
    else planned.push(() => ({ __typename: type, ...base, stepId: 'step', attempt: 2 }))
  }
  const message = (rest: object, id: string): void => {
    const base = entry()
    planned.push((position) => {
      const fields = { id, position: position(), clientId: null, inContext: true, createdAt: at, run: { id: runId } }
      return { __typename: 'MessageAdded', ...base, message: { ...fields, ...rest } as MessageFields }
    })
  }
  const say = ({ type, pieces, isStored }: Extract<Action, { pieces: unknown; isStored: unknown }>): void => {
    const id = `${runId}.${items++}`
    let offset = 0
    for (const text of pieces) {
      const from = offset
      const cursor = `${runId}:${seq}.${id}.${from}`
      const kind = type === 'say' ? 'ASSISTANT' : 'REASONING'
      planned.push(() => ({
        __typename: 'TextDelta',
        runId,
        at,
        cursor,
        stepId: 'step',
        messageId: id,
        kind,
        offset: from,
        text,
      }))
      offset += text.length
    }
    const text = pieces.join('')
    if (!isStored) return step('StepRestarted')
    if (type === 'say') message({ __typename: 'AssistantMessage', text, interrupted: false }, id)
    else message({ __typename: 'ReasoningMessage', text, redacted: false }, id)
  }
  const call = ({ pieces, statuses }: Extract<Action, { type: 'call' }>): void => {
    const id = `${runId}.${items++}`
    let offset = 0
    for (const argumentsText of pieces) {
      const from = offset
      const cursor = `${runId}:${seq}.${id}.${from}`
      planned.push(() => ({
        __typename: 'ToolCallDelta',
        runId,
        at,
        cursor,
        stepId: 'step',
        toolCallId: id,
        name: 'tool',
        needs: null,
        offset: from,
        argumentsText,
      }))
      offset += argumentsText.length
    }
    const made = toolCall(id, runId, pieces.join(''), statuses)
    const __typename = statuses.includes('PENDING') ? 'ApprovalRequestMessage' : 'ToolCallMessage'
    message({ __typename, toolCalls: [made] }, `${id}.message`)
    for (const toolCallStatus of statuses) {
      const base = entry()
      planned.push(() => ({ __typename: 'ToolCallChanged', ...base, toolCallStatus, toolCall: made }))
    }
  }

  status('QUEUED')
  status('RUNNING')
  message({ __typename: 'UserMessage', text: `to ${runId}`, content: [] }, `${runId}.input`)
  step('StepStarted')
  for (const one of actions) {
    if (one.type === 'restart') step('StepRestarted')
    else if (one.type === 'call') call(one)
    else say(one)
  }
  step('StepFinished')
  status(end)
  return planned
}

/** Events of up to four runs, mixed at random; each run's own order is kept. */
export const interleavedRuns: fc.Arbitrary<readonly RunEventFields[]> = fc
  .array(
    fc.record({
      actions: fc.array(action, { maxLength: 5 }),
      end: fc.constantFrom<RunStatus>('COMPLETED', 'FAILED', 'CANCELLED', 'AWAITING_APPROVAL'),
    }),
    { minLength: 1, maxLength: 4 },
  )
  .chain((drawn) => {
    const runs = drawn.map(({ actions, end }, index) => planRun(`run_${index}`, actions, end))
    const turns = runs.flatMap((planned, index) => planned.map(() => index))
    return fc.shuffledSubarray(turns, { minLength: turns.length }).map((order) => {
      let position = 0
      const next = runs.map(() => 0)
      return order.map((run) => runs[run]![next[run]!++]!(() => ++position))
    })
  })

/** Like the server's: fields of the call may be newer than the event. */
function toolCall(
  id: string,
  runId: string,
  argumentsText: string,
  statuses: readonly ToolCallStatus[],
): ToolCallFields {
  const status = statuses.at(-1)!
  const isOver = status !== 'PENDING'
  return {
    id,
    name: 'tool',
    argumentsText,
    arguments: null,
    editedArguments: null,
    status,
    needs: statuses.includes('PENDING') ? 'APPROVAL' : 'NOTHING',
    approvalsRequired: statuses.includes('PENDING') ? 1 : 0,
    createdAt: at,
    startedAt: isOver ? at : null,
    finishedAt: isOver ? at : null,
    expiresAt: null,
    run: { id: runId },
    decision: null,
    result: isOver
      ? {
          status: 'SUCCESS',
          output: 'done',
          json: null,
          content: [],
          stdout: [],
          stderr: [],
          truncated: false,
          durationMs: 1,
        }
      : null,
  }
}
