import type { ExecutionResult } from 'graphql'
import { afterAll, describe, expect, it } from 'vitest'

import { encodeCursor } from '../../src/domain/cursor.ts'
import { HoldpointError } from '../../src/domain/errors.ts'
import { encodeId, encodeStepId } from '../../src/domain/ids.ts'
import { createGround } from '../support/execute.ts'
import { createFixtures } from '../support/fixtures.ts'
import { createExecutor, type Executor } from '../support/run-executor.ts'

const ground = await createGround()
const make = createFixtures(ground.db)
afterAll(() => ground.close())

let tenants = 0
async function createTenant() {
  const tenantId = await make.tenant(`run events ${(tenants += 1)}`)
  const agent = await make.agent({ tenant_id: tenantId })
  const conversation = await make.conversation({ tenant_id: tenantId, agent_id: agent.id, is_main: true })
  return { tenantId, agent, conversation, api: createExecutor(ground, tenantId) }
}

const subscription = `subscription ($runId: ID!, $after: EventCursor) { runEvents(runId: $runId, after: $after) {
  __typename cursor runId at ... on RunEntry { seq }
  ... on RunStatusChanged { status stopReason error { type } usage { totalTokens steps } run { status answer } }
  ... on StepStarted { stepId index } ... on StepRestarted { stepId attempt } ... on StepFinished { step { id status } }
  ... on MessageAdded { message { __typename id position ... on UserMessage { text } } }
  ... on ToolCallChanged { toolCallStatus toolCall { id status } } ... on ChildRunStarted { child { id } } } }`

async function open(api: Executor, variables: Record<string, unknown>): Promise<AsyncGenerator<ExecutionResult>> {
  const opened = await api.subscribe(subscription, variables)
  if (!(Symbol.asyncIterator in opened)) throw new Error(`no events: ${JSON.stringify(opened)}`)
  return opened
}

async function refusedWith(api: Executor, variables: Record<string, unknown>): Promise<unknown> {
  const opened = await api.subscribe(subscription, variables)
  if (Symbol.asyncIterator in opened) throw new Error('events were opened')
  const cause = opened.errors?.[0]?.originalError
  return cause instanceof HoldpointError ? cause.code : cause
}

const usage = { inputTokens: 3, outputTokens: 4, cachedInputTokens: 0, reasoningTokens: 0, costUsd: null, steps: 1 }
const shownRun = (run: { readonly id: string }) => encodeId('Run', run.id)
const cursor = (run: { readonly id: string; readonly conversation_id: string }, seq: number) =>
  encodeCursor(run.conversation_id, { runId: run.id, seq, item: 0, offset: 0 })

describe('runEvents', () => {
  it('[EVT1] every entry of the log becomes one event, and the stream ends with the run', async () => {
    const { api, conversation, tenantId, agent } = await createTenant()
    const run = await make.run(conversation, { status: 'COMPLETED', stop_reason: 'END_TURN' })
    const other = await make.conversation({ tenant_id: tenantId, agent_id: agent.id })
    const child = await make.run(other, { kind: 'SLEEPTIME', parent_id: run.id })
    await make.step(run, { index: 0 })
    const message = await make.message(run, 'USER', { content: [{ text: 'hi' }] })
    const call = await make.call(run, { step_index: 0, ordinal: 0, status: 'SUCCEEDED' })
    await make.log(run, 1, [
      { type: 'status', status: 'QUEUED', stopReason: null, error: null, usage: { ...usage, steps: 0 } },
    ])
    await make.log(run, 2, [
      { type: 'status', status: 'RUNNING', stopReason: null, error: null, usage: { ...usage, steps: 0 } },
      { type: 'message', id: message.id },
      { type: 'stepStarted', index: 0 },
    ])
    await make.log(run, 5, [
      { type: 'stepRestarted', index: 0, attempt: 2 },
      { type: 'call', id: call.id, status: 'RUNNING' },
      { type: 'stepFinished', index: 0 },
      { type: 'child', runId: child.id },
      { type: 'status', status: 'COMPLETED', stopReason: 'END_TURN', error: null, usage },
    ])

    const events: any[] = []
    for await (const { data, errors } of await open(api, { runId: shownRun(run) })) {
      expect(errors).toBeUndefined()
      events.push(data!.runEvents)
    }
    const stepId = encodeStepId(run.id, 0)
    expect(events).toMatchObject([
      {
        __typename: 'RunStatusChanged',
        status: 'QUEUED',
        stopReason: null,
        run: { status: 'COMPLETED', answer: null },
      },
      { __typename: 'RunStatusChanged', status: 'RUNNING' },
      {
        __typename: 'MessageAdded',
        message: { __typename: 'UserMessage', id: encodeId('Message', message.id), position: 1, text: 'hi' },
      },
      { __typename: 'StepStarted', stepId, index: 0 },
      { __typename: 'StepRestarted', stepId, attempt: 2 },
      {
        __typename: 'ToolCallChanged',
        toolCallStatus: 'RUNNING',
        toolCall: { id: encodeId('ToolCall', call.id), status: 'SUCCEEDED' },
      },
      { __typename: 'StepFinished', step: { id: stepId, status: 'COMPLETED' } },
      { __typename: 'ChildRunStarted', child: { id: shownRun(child) } },
      {
        __typename: 'RunStatusChanged',
        status: 'COMPLETED',
        stopReason: 'END_TURN',
        usage: { totalTokens: 7, steps: 1 },
      },
    ])
    expect(events.map((event) => event.seq)).toEqual([1, 2, 3, 4, 5, 6, 7, 8, 9])
    expect(events.every((event) => event.runId === shownRun(run))).toBe(true)

    const rest = await open(api, { runId: shownRun(run), after: events[6].cursor })
    const seqs: number[] = []
    for await (const { data } of rest) seqs.push((data as any).runEvents.seq)
    expect(seqs).toEqual([8, 9])
  })

  it('[EVT2] an unknown run, another tenant’s run and a cursor that is not this run’s are errors before any event', async () => {
    const mine = await createTenant()
    const other = await createTenant()
    const run = await make.run(mine.conversation, { next_seq: 3 })
    const second = await make.run(mine.conversation, { next_seq: 3 })
    const theirs = await make.run(other.conversation)
    expect(await refusedWith(mine.api, { runId: 'run_x' })).toBe('NOT_FOUND')
    expect(await refusedWith(mine.api, { runId: shownRun(theirs) })).toBe('NOT_FOUND')
    for (const after of ['', 'nonsense', cursor(second, 1), cursor(run, 3)]) {
      expect(await refusedWith(mine.api, { runId: shownRun(run), after })).toBe('BAD_CURSOR')
    }
    expect(ground.context.hub.runsWithReaders()).toEqual([])
  })

  it('[EVT3] a cursor at or past the end of a run that has ended completes at once', async () => {
    const { api, conversation } = await createTenant()
    const run = await make.run(conversation, { status: 'COMPLETED' })
    await make.log(run, 1, [{ type: 'status', status: 'COMPLETED', stopReason: 'END_TURN', error: null, usage }])
    for (const seq of [1, 5]) {
      const events = await open(api, { runId: shownRun(run), after: cursor(run, seq) })
      expect(await events.next()).toEqual({ done: true, value: undefined })
    }
  })

  it('[EVT4] each event shows what is stored when it is sent, not what an earlier one loaded', async () => {
    const { api, conversation } = await createTenant()
    const run = await make.run(conversation, { status: 'QUEUED', hold: 1, previous_hold: 0 })
    await make.log(run, 1, [{ type: 'status', status: 'QUEUED', stopReason: null, error: null, usage }])
    const events = await open(api, { runId: shownRun(run) })
    expect((await events.next()).value.data.runEvents.run).toEqual({ status: 'QUEUED', answer: null })

    const next = events.next()
    await make.message(run, 'ASSISTANT', { text: 'Done.', interrupted: false, provider: null })
    await make.log(run, 2, [{ type: 'status', status: 'COMPLETED', stopReason: 'END_TURN', error: null, usage }])
    const change = { status: 'COMPLETED' as const, finished_at: new Date() }
    await ground.db.updateTable('runs').set(change).where('id', '=', run.id).execute()
    ground.context.hub.runChanged(run.id)
    expect((await next).value.data.runEvents.run).toEqual({ status: 'COMPLETED', answer: 'Done.' })
    expect((await events.next()).done).toBe(true)
  })

  it('[EVT5] a reader that leaves while it waits is released at once', async () => {
    const { api, conversation } = await createTenant()
    const run = await make.run(conversation, { status: 'QUEUED' })
    await make.log(run, 1, [{ type: 'status', status: 'QUEUED', stopReason: null, error: null, usage }])
    const events = await open(api, { runId: shownRun(run) })
    await events.next()
    const parked = events.next()
    expect(ground.context.hub.runsWithReaders()).toEqual([run.id])
    expect(await events.return(undefined)).toEqual({ done: true, value: undefined })
    expect((await parked).done).toBe(true)
    expect(ground.context.hub.runsWithReaders()).toEqual([])
  })
})
