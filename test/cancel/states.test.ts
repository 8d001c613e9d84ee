import { afterAll, afterEach, describe, expect, test } from 'vitest'

import { startGround } from '../approvals/ground.ts'
import { executions, secretAgent } from '../support/secret-tools.ts'
import { approve, giveReturn } from '../support/talk.ts'
import { createStubbornTool } from './stubborn-tool.ts'

const stubborn = createStubbornTool('stubborn')

const ground = await startGround({ tools: [stubborn.definition], env: { HOLDPOINT_TOOL_GRACE_MS: '300' } })
const talk = ground.talk
afterEach(() => ground.check())
afterAll(() => ground.app.stop())

const cancelled = { __typename: 'CancelRunSuccess', run: { status: 'CANCELLED', stopReason: 'CANCELLED' } }

/** Exactly one final status, the last entry of all. */
async function expectOneEnd(runId: string, status = 'CANCELLED'): Promise<void> {
  const log = await talk.log(runId)
  const ends = log.filter((line) => /^RunStatusChanged (COMPLETED|FAILED|CANCELLED)$/.test(line))
  expect(ends).toEqual([`RunStatusChanged ${status}`])
  expect(log.at(-1)).toBe(ends[0])
}

describe('queued', () => {
  test('[CAN1] a queued run ends, keeps its input and does not change the conversation; the run before it continues', async () => {
    const agent = await talk.createAgent(secretAgent)
    const first = await talk.start(agent, 'first')
    const call = await ground.model.nextCall()
    const second = await talk.start(agent, 'second', { whenBusy: 'ENQUEUE' })
    const third = await talk.start(agent, 'third', { whenBusy: 'ENQUEUE' })
    expect(await talk.cancel({ runId: second })).toMatchObject({
      ...cancelled,
      run: { id: second, status: 'CANCELLED', input: [{ text: 'second' }] },
    })
    expect(await talk.messages(second)).toEqual([])
    await expectOneEnd(second)
    call.say('one')
    call.finish()
    const next = await ground.answer('three')
    expect(next.request.messages.map((message) => message.role)).toEqual(['user', 'assistant', 'user'])
    expect(await talk.settled(third)).toMatchObject({ answer: 'three' })
    expect(await talk.run(first)).toMatchObject({ status: 'COMPLETED' })
  })
})

describe('model streaming', () => {
  test('[CAN2] test_token_streaming_cancellation, test_background_streaming_cancellation: what was streamed is what is stored, for every subscriber', async () => {
    const agent = await talk.createAgent(secretAgent)
    const runId = await talk.start(agent, 'tell me')
    const watches = [talk.watch(runId), talk.watch(runId)]
    const call = await ground.model.nextCall()
    call.think('hm')
    call.part({ type: 'done', item: 'reasoning' })
    call.say('half of a sent')
    call.say('ence 😀'.slice(0, -1))
    for (const watch of watches) await watch.until((line) => line.endsWith('ence '))
    const late = talk.watch(runId)
    expect(await talk.cancel({ agentId: agent })).toMatchObject(cancelled)
    await call.aborted
    for (const watch of [...watches, late]) await watch.ended

    const messages = await talk.messages(runId)
    expect(messages).toMatchObject([
      { __typename: 'UserMessage', text: 'tell me', inContext: true },
      { __typename: 'AssistantMessage', text: 'half of a sentence ', interrupted: true, inContext: true },
    ])
    for (const watch of [...watches, late]) {
      expect([...watch.messages.values()]).toEqual(messages)
      expect(watch.lines.at(-1)).toBe('RunStatusChanged CANCELLED')
    }
    for (const watch of watches) expect(watch.texts.get(messages[1].id)).toBe('half of a sentence ')
    await expectOneEnd(runId)
    expect(await talk.run(runId)).toMatchObject({
      agent: { lastStopReason: 'CANCELLED' },
      conversation: { activeRun: null },
    })
    const next = await talk.start(agent, 'go on')
    const { request } = await ground.answer('sure')
    expect(request.messages).toMatchObject([
      { role: 'user' },
      { role: 'assistant', parts: [{ type: 'text', text: 'half of a sentence ' }] },
      { role: 'user' },
    ])
    await talk.settled(next)
  })

  test('[CAN3] half a tool call is dropped, and reasoning too unless it is signed and text follows it', async () => {
    const agent = await talk.createAgent(secretAgent)
    const signed = { model: 'test/gated', data: { signature: 'x' } }
    const half = talk.start(agent, 'call')
    const first = await ground.model.nextCall()
    const runId = await half
    const watch = talk.watch(runId)
    await watch.until((line) => line === 'StepStarted')
    first.part({ type: 'reasoning', item: 'r', text: 'signed, but nothing follows' })
    first.part({ type: 'done', item: 'r', provider: signed })
    first.part({ type: 'call', item: 'c', callId: 'call_0', name: 'get_secret_code' })
    first.part({ type: 'arguments', item: 'c', text: '{"text": "hel' })
    await watch.until((line) => line.startsWith('ToolCallDelta'))
    await talk.cancel({ runId })
    await watch.ended
    expect(watch.lines.slice(-2)).toEqual(['StepFinished', 'RunStatusChanged CANCELLED'])
    expect(await talk.messages(runId)).toMatchObject([{ __typename: 'UserMessage' }])
    expect((await talk.run(runId)).steps).toMatchObject([{ status: 'CANCELLED', toolCalls: [] }])

    const second = await talk.start(agent, 'again')
    const call = await ground.model.nextCall()
    const again = talk.watch(second)
    call.part({ type: 'reasoning', item: 'unsigned', text: 'not signed' })
    call.part({ type: 'done', item: 'unsigned' })
    call.part({ type: 'reasoning', item: 'signed', text: 'signed' })
    call.part({ type: 'done', item: 'signed', provider: signed })
    call.say('so far')
    call.part({ type: 'reasoning', item: 'open', text: 'and' })
    await again.until((line) => line === 'TextDelta so far')
    await talk.cancel({ runId: second })
    expect(await talk.messages(second)).toMatchObject([
      { __typename: 'UserMessage' },
      { __typename: 'ReasoningMessage', text: 'signed' },
      { __typename: 'AssistantMessage', text: 'so far', interrupted: true },
    ])
    await ground.expectUsable(agent)
  })

  test('[CAN4] before the first word, only the user’s message is stored', async () => {
    const agent = await talk.createAgent(secretAgent)
    const runId = await talk.start(agent, 'hello?')
    const call = await ground.model.nextCall()
    await talk.cancel({ runId })
    await call.aborted
    expect(await talk.messages(runId)).toMatchObject([{ __typename: 'UserMessage', inContext: true }])
    await ground.expectUsable(agent)
  })

  test('[CAN5] test_step_streaming_cancellation, test_message_state_consistency_after_cancellation: finished steps stay, stream and table agree', async () => {
    const agent = await talk.createAgent(secretAgent)
    const runId = await talk.start(agent, 'roll')
    const watch = talk.watch(runId)
    await ground.call(['roll_dice', { sides: 6 }])
    await ground.model.nextCall()
    // The model is asked before the checkpoint that starts its step is stored.
    await watch.until((line) => line === 'StepStarted', 2)
    await talk.cancel({ runId })
    await watch.ended
    const messages = await talk.messages(runId)
    expect(messages.map((message) => message.__typename)).toEqual([
      'UserMessage',
      'ToolCallMessage',
      'ToolReturnMessage',
    ])
    expect(messages.map((message) => message.inContext)).toEqual([true, true, true])
    // A reader that sees the call before its return is stored is told that the model does not see it yet.
    const watched = [...watch.messages.values()].map((message) => ({ ...message, inContext: true }))
    expect(watched).toEqual(messages)
    expect(await talk.run(runId)).toMatchObject({
      steps: [{ status: 'COMPLETED' }, { status: 'CANCELLED', stopReason: 'CANCELLED' }],
    })
    const { conversation } = await ground.app.data(
      `query ($id: ID!) { conversation(id: $id) { messages(first: 50) { nodes { id } } } }`,
      { id: (await talk.run(runId)).conversation.id },
    )
    expect(conversation.messages.nodes).toEqual(messages.map(({ id }) => ({ id })))
    await ground.expectUsable(agent)
  })
})

describe('tools running', () => {
  const agentOf = () => talk.createAgent({ tools: ['stubborn', 'roll_dice', 'get_secret_code'] })

  test('[CAN6] test_cancellation_during_tool_execution: a tool that finishes in the grace period keeps its result, the others return that they were cancelled, nothing new starts', async () => {
    const agent = await agentOf()
    executions.length = 0
    const runId = await talk.start(agent, 'work')
    await ground.call(
      ['stubborn', { when: 'finishes' }],
      ['roll_dice', { sides: 6 }],
      ['stubborn', { when: 'throws' }],
      ['stubborn', { when: 'ignores' }],
    )
    const ends = await stubborn.running(3)
    expect(await talk.cancel({ runId })).toMatchObject(cancelled)
    const [step] = (await talk.run(runId)).steps
    expect(step.toolCalls).toMatchObject([
      { status: 'SUCCEEDED', result: { output: 'finished in time' } },
      { status: 'CANCELLED', result: { output: expect.stringContaining('The user cancelled the request') } },
      { status: 'CANCELLED', result: { output: expect.stringContaining('cancelled the request while') } },
      { status: 'CANCELLED', result: { output: expect.stringContaining('It was told to stop') } },
    ])
    expect(executions).toEqual([])
    const returns = (await talk.messages(runId)).filter((message) => message.__typename === 'ToolReturnMessage')
    expect(returns).toHaveLength(1)
    expect(returns[0].toolReturns.map((entry: any) => entry.toolCallId)).toEqual(
      step.toolCalls.map((call: any) => call.id),
    )
    // Its later result is discarded.
    ends[2]!()
    await ground.expectUsable(agent)
    expect((await talk.run(runId)).steps).toEqual([step])
    await expectOneEnd(runId)
  })

  test('[CAN7] a cancel at the step limit is a cancel (test_cancellation_with_max_steps_reached)', async () => {
    const agent = await agentOf()
    const runId = await talk.start(agent, 'work', { maxSteps: 1 })
    await ground.call(['stubborn', { when: 'finishes' }])
    await stubborn.running(1)
    expect(await talk.cancel({ runId })).toMatchObject(cancelled)
    expect(await talk.run(runId)).toMatchObject({ agent: { lastStopReason: 'CANCELLED' } })
  })
})

describe('waiting for approval', () => {
  test('[CAN8] test_parallel_tool_calling_cancellation_with_denials: every call gets a return: the client’s result if there is one, otherwise that the user cancelled', async () => {
    const agent = await talk.createAgent(secretAgent)
    executions.length = 0
    const { runId, calls } = await ground.ask(agent, [
      ['get_secret_code', { text: 'given' }],
      ['get_secret_code', { text: 'approved' }],
      ['roll_dice', { sides: 6 }],
      ['get_secret_code', { text: 'pending' }],
    ])
    await talk.submit(runId, [giveReturn(calls[0], 'mine'), approve(calls[1])])
    const watch = talk.watch(runId)
    expect(await talk.cancel({ runId })).toMatchObject({ ...cancelled, run: { pendingToolCalls: [] } })
    await watch.ended
    const denied = {
      status: 'CANCELLED',
      result: { status: 'ERROR', output: 'The user cancelled the request, so the tool call was denied.' },
    }
    expect((await talk.run(runId)).steps[0].toolCalls).toMatchObject([
      { status: 'SUCCEEDED', result: { output: 'mine' } },
      { ...denied, decision: { kind: 'APPROVED' } },
      denied,
      denied,
    ])
    expect(watch.lines.slice(-7)).toEqual([
      'ToolCallChanged get_secret_code CANCELLED',
      'ToolCallChanged roll_dice CANCELLED',
      'ToolCallChanged get_secret_code CANCELLED',
      'MessageAdded ApprovalResponseMessage',
      'MessageAdded ToolReturnMessage',
      'StepFinished',
      'RunStatusChanged CANCELLED',
    ])
    expect(executions).toEqual([])
    await ground.expectUsable(agent)
  })

  test('[CAN9] test_cancellation_while_waiting_for_approval, test_agent_state_after_cancelled_approval, test_approval_state_persisted_correctly_after_cancel, test_approval_request_message_ids_desync: nothing waits any more, anywhere', async () => {
    const agent = await talk.createAgent(secretAgent)
    const { runId, calls } = await ground.ask(agent)
    expect(await talk.send(agent, 'hi')).toMatchObject({ __typename: 'PendingApprovalRefusal' })
    expect(await talk.cancel({ agentId: agent })).toMatchObject(cancelled)
    expect(await talk.submit(runId, [approve(calls[0])])).toMatchObject({ __typename: 'NoPendingApprovalRefusal' })
    const { toolCalls } = await ground.app.data(
      'query ($agent: ID!) { toolCalls(filter: { agentIds: [$agent], statuses: [PENDING] }) { totalCount } }',
      { agent },
    )
    expect(toolCalls.totalCount).toBe(0)
    const next = await talk.start(agent, 'roll instead')
    await ground.call(['roll_dice', { sides: 6 }])
    await ground.answer('done')
    expect(await talk.settled(next)).toMatchObject({ status: 'COMPLETED' })
  })

  test('[CAN10] test_approve_with_cancellation: a cancel right after the approval ends the run once, and its call has one return', async () => {
    for (let round = 0; round < 4; round += 1) {
      const agent = await talk.createAgent(secretAgent)
      const { runId, calls } = await ground.ask(agent)
      const [decided, stopped] = await Promise.all([talk.submit(runId, [approve(calls[0])]), talk.cancel({ runId })])
      expect(stopped).toMatchObject({ __typename: 'CancelRunSuccess' })
      expect(['SubmitApprovalsSuccess', 'NoPendingApprovalRefusal']).toContain(decided.__typename)
      await expectOneEnd(runId)
      const returns = (await talk.messages(runId)).filter((message) => message.__typename === 'ToolReturnMessage')
      expect(returns).toHaveLength(1)
      // If the run had already asked the model, that request was aborted.
      while (ground.model.untaken() > 0) await (await ground.model.nextCall()).aborted
      await ground.expectUsable(agent)
    }
  })
})

describe('ended', () => {
  test('[CAN11] a finished run refuses, a cancelled one succeeds again, and neither changes; without a run there is nothing to cancel', async () => {
    const agent = await talk.createAgent(secretAgent)
    expect(await talk.cancel({ agentId: agent })).toMatchObject({ __typename: 'NothingToCancelRefusal' })
    const runId = await talk.start(agent, 'hi')
    await ground.answer('hello')
    await talk.settled(runId)
    expect(await talk.cancel({ runId })).toMatchObject({
      __typename: 'RunFinishedRefusal',
      run: { id: runId, status: 'COMPLETED' },
    })
    expect(await talk.cancel({ agentId: agent })).toMatchObject({ __typename: 'NothingToCancelRefusal' })
    await expectOneEnd(runId, 'COMPLETED')

    const { runId: second } = await ground.ask(agent)
    expect(await talk.cancel({ runId: second })).toMatchObject(cancelled)
    const log = await talk.log(second)
    expect(await talk.cancel({ runId: second })).toMatchObject(cancelled)
    expect(await talk.log(second)).toEqual(log)
  })

  test('[CAN12] test_double_cancellation: two at once both succeed and have one effect', async () => {
    const agent = await talk.createAgent(secretAgent)
    for (const pause of [true, false]) {
      const runId = pause ? (await ground.ask(agent)).runId : await talk.start(agent, 'hi')
      const call = pause ? undefined : await ground.model.nextCall()
      const answers = await Promise.all([
        talk.cancel({ runId }),
        talk.cancel({ agentId: agent }),
        talk.cancel({ runId }),
      ])
      for (const answer of answers) {
        // A cancel by agent may arrive after the run has ended.
        if (answer.__typename !== 'NothingToCancelRefusal') expect(answer).toMatchObject(cancelled)
      }
      expect(answers[0]).toMatchObject(cancelled)
      expect(answers[2]).toMatchObject(cancelled)
      await call?.aborted
      await expectOneEnd(runId)
    }
    await ground.expectUsable(agent)
  })

  test('[CAN13] a cancel in one conversation does not affect a run in another', async () => {
    const agent = await talk.createAgent(secretAgent)
    const { createConversation } = await ground.app.data(
      'mutation ($agent: ID!) { createConversation(input: { agentId: $agent }) { conversation { id } } }',
      { agent },
    )
    const conversation = createConversation.conversation.id
    const main = await ground.ask(agent)
    const beside = await ground.ask(conversation)
    expect(await talk.cancel({ conversationId: conversation })).toMatchObject({
      ...cancelled,
      run: { id: beside.runId },
    })
    expect(await talk.run(main.runId)).toMatchObject({ status: 'AWAITING_APPROVAL' })
    const again = await ground.ask(conversation)
    expect(await talk.cancel({ agentId: agent })).toMatchObject({ ...cancelled, run: { id: main.runId } })
    expect(await talk.run(again.runId)).toMatchObject({ status: 'AWAITING_APPROVAL' })
    await talk.submit(again.runId, [approve(again.calls[0])])
    await ground.answer('done')
    expect(await talk.settled(again.runId)).toMatchObject({ status: 'COMPLETED' })
  })

  test('[CAN14] INTERRUPT cancels a streaming run, stores its text so far, and goes next', async () => {
    const agent = await talk.createAgent(secretAgent)
    const runId = await talk.start(agent, 'tell me')
    const call = await ground.model.nextCall()
    const watch = talk.watch(runId)
    call.say('it all began')
    await watch.until((line) => line === 'TextDelta it all began')
    const waiting = await talk.start(agent, 'later', { whenBusy: 'ENQUEUE' })
    const instead = await talk.start(agent, 'stop it', { whenBusy: 'INTERRUPT' })
    await call.aborted
    await watch.ended
    const { request } = await ground.answer('stopped')
    expect(request.messages).toMatchObject([
      { role: 'user' },
      { role: 'assistant', parts: [{ text: 'it all began' }] },
      { role: 'user', content: [{ text: 'stop it' }] },
    ])
    expect(await talk.run(runId)).toMatchObject({ status: 'CANCELLED', answer: 'it all began' })
    expect(await talk.settled(instead)).toMatchObject({ answer: 'stopped' })
    await ground.answer('and later')
    expect(await talk.settled(waiting)).toMatchObject({ answer: 'and later' })
  })
})

test('[CAN15] test_error_data_stored: a failure is typed, stored with the run, sent in the stream, and not a cancel', async () => {
  const agent = await talk.createAgent(secretAgent)
  const types = ['LLM_ERROR', 'LLM_TIMEOUT', 'LLM_RATE_LIMIT', 'LLM_AUTHENTICATION', 'LLM_BAD_REQUEST'] as const
  for (const type of types) {
    const runId = await talk.start(agent, 'hi')
    const call = await ground.model.nextCall()
    call.say('half')
    call.fail({ type, message: `simulated ${type}` })
    expect(await talk.settled(runId)).toMatchObject({ status: 'FAILED', error: { type, message: `simulated ${type}` } })
    await expectOneEnd(runId, 'FAILED')
    expect(await talk.cancel({ runId })).toMatchObject({ __typename: 'RunFinishedRefusal' })
  }
  const runId = await talk.start(agent, 'hi')
  const call = await ground.model.nextCall()
  // No provider would send this, so the engine treats it as a bug.
  call.part({ type: 'arguments', item: 'nothing', text: 'x' })
  expect(await talk.settled(runId)).toMatchObject({ status: 'FAILED', error: { type: 'INTERNAL_ERROR' } })
  await ground.expectUsable(agent)
})
