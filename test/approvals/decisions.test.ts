import { afterAll, afterEach, describe, expect, test } from 'vitest'

import { executions, secretAgent, secretOf } from '../support/secret-tools.ts'
import { approve, deny, giveReturn } from '../support/talk.ts'
import { hello, startGround } from './ground.ts'

const ground = await startGround()
const talk = ground.talk
afterEach(() => ground.check())
afterAll(() => ground.app.stop())

/** What the model would be sent now, which can be shown at any time. */
async function contextOf(runId: string): Promise<string[]> {
  const { run } = await ground.app.data(
    'query ($id: ID!) { run(id: $id) { conversation { context { messages { __typename } request } } } }',
    { id: runId },
  )
  return run.conversation.context.messages.map((message: { __typename: string }) => message.__typename)
}

describe('requests', () => {
  test('[APR1] test_send_approval_without_pending_request', async () => {
    const agent = await talk.createAgent(secretAgent)
    const runId = await talk.start(agent, 'hi')
    const decision = approve({ id: 'call_0' })
    const call = await ground.model.nextCall()
    expect(await talk.submit(runId, [decision])).toMatchObject({
      __typename: 'NoPendingApprovalRefusal',
      message: expect.stringContaining('No tool call is currently awaiting approval'),
      run: { id: runId },
    })
    call.say('hello')
    call.finish()
    expect(await talk.settled(runId)).toMatchObject({ status: 'COMPLETED' })
    expect(await talk.submit(runId, [decision])).toMatchObject({ __typename: 'NoPendingApprovalRefusal' })
  })

  test('[APR2] test_send_user_message_with_pending_request', async () => {
    const agent = await talk.createAgent(secretAgent)
    const { runId, calls } = await ground.ask(agent)
    expect(await talk.send(agent, 'hi')).toEqual({
      __typename: 'PendingApprovalRefusal',
      message: expect.stringContaining('Please approve or deny the pending request before continuing'),
      run: { id: runId, status: 'AWAITING_APPROVAL' },
      toolCalls: [{ id: calls[0].id }],
    })
    await talk.submit(runId, [approve(calls[0])])
    await ground.answer('done')
    expect(await talk.settled(runId)).toMatchObject({ status: 'COMPLETED' })
  })

  test('[APR3] test_send_approval_message_with_incorrect_request_id', async () => {
    const agent = await talk.createAgent(secretAgent)
    const { runId, calls } = await ground.ask(agent)
    expect(await talk.submit(runId, [approve({ id: 'call_0' })])).toMatchObject({
      __typename: 'InvalidToolCallIdsRefusal',
      message: expect.stringContaining('Invalid tool call IDs'),
      invalidIds: ['call_0'],
      expectedIds: [calls[0].id],
    })
    await talk.submit(runId, [approve(calls[0])])
    await ground.answer('done')
    expect(await talk.settled(runId)).toMatchObject({ status: 'COMPLETED' })
  })

  test('[APR4] test_invoke_approval_request: the run waits, and everything that shows it agrees', async () => {
    const agent = await talk.createAgent(secretAgent)
    const { runId, calls } = await ground.ask(agent)
    expect(calls).toMatchObject([{ name: 'get_secret_code', needs: 'APPROVAL', arguments: hello, result: null }])
    expect(await talk.run(runId)).toMatchObject({
      status: 'AWAITING_APPROVAL',
      stopReason: 'REQUIRES_APPROVAL',
      agent: { lastStopReason: 'REQUIRES_APPROVAL' },
      pendingToolCalls: [{ id: calls[0].id }],
      steps: [{ status: 'PAUSED' }],
      conversation: { activeRun: { id: runId } },
    })
    expect(await talk.messages(runId)).toMatchObject([
      { __typename: 'UserMessage' },
      { __typename: 'ApprovalRequestMessage', toolCalls: [{ id: calls[0].id, name: 'get_secret_code' }] },
    ])
    const { toolCalls } = await ground.app.data(
      'query ($agent: ID!) { toolCalls(filter: { agentIds: [$agent], statuses: [PENDING] }) { nodes { id } } }',
      { agent },
    )
    expect(toolCalls.nodes).toEqual([{ id: calls[0].id }])
    // A waiting step is not in the context yet.
    expect(await contextOf(runId)).toEqual(['UserMessage'])
    // It occupies no worker.
    const { rows } = await ground.app.database.pool.query(
      'select lease from runs where not ended and lease is not null',
    )
    expect(rows).toEqual([])
    await talk.cancel({ runId })
  })

  test('[APR5] test_invoke_approval_request_stream: a pause does not end the stream, which shows everything in order', async () => {
    const agent = await talk.createAgent(secretAgent)
    const runId = await talk.start(agent, 'call the tool')
    const watch = talk.watch(runId)
    const call = await ground.model.nextCall()
    await watch.until((line) => line === 'StepStarted')
    call.think('I need the code')
    call.part({ type: 'done', item: 'reasoning' })
    call.call('get_secret_code', hello)
    call.finish()
    await watch.until((line) => line === 'RunStatusChanged AWAITING_APPROVAL')
    expect(watch.lines.find((line) => line.startsWith('ToolCallDelta'))).toBe(`ToolCallDelta ${JSON.stringify(hello)}`)
    await talk.submit(runId, [approve((await talk.pending(runId))[0])])
    await ground.answer('done')
    await watch.ended
    expect(watch.lines.filter((line) => !line.includes('Delta'))).toEqual([
      'RunStatusChanged QUEUED',
      'RunStatusChanged RUNNING',
      'MessageAdded UserMessage',
      'StepStarted',
      'MessageAdded ReasoningMessage',
      'MessageAdded ApprovalRequestMessage',
      'ToolCallChanged get_secret_code PENDING',
      'RunStatusChanged AWAITING_APPROVAL',
      'ToolCallChanged get_secret_code READY',
      'MessageAdded ApprovalResponseMessage',
      'RunStatusChanged RUNNING',
      'ToolCallChanged get_secret_code RUNNING',
      'ToolCallChanged get_secret_code SUCCEEDED',
      'MessageAdded ToolReturnMessage',
      'StepFinished',
      'StepStarted',
      'MessageAdded AssistantMessage',
      'StepFinished',
      'RunStatusChanged COMPLETED',
    ])
  })

  test('[APR6] test_invoke_tool_after_turning_off_requires_approval: a waiting call keeps waiting, the next one runs at once', async () => {
    const agent = await talk.createAgent(secretAgent)
    const { runId, calls } = await ground.ask(agent)
    await ground.app.data(
      `mutation ($agent: ID!, $tool: ID!) {
        setToolApproval(input: { agentId: $agent, toolId: $tool, requiresApproval: false }) { agent { id } } }`,
      { agent, tool: await talk.toolId('get_secret_code') },
    )
    expect(await talk.run(runId)).toMatchObject({
      status: 'AWAITING_APPROVAL',
      pendingToolCalls: [{ id: calls[0].id }],
    })
    await talk.submit(runId, [approve(calls[0])])
    await ground.call(['get_secret_code', { text: 'again' }])
    const last = await ground.answer('done')
    await talk.settled(runId)
    expect(last.request.messages.at(-1)).toMatchObject({ returns: [{ output: secretOf('again'), failed: false }] })
    expect((await talk.messages(runId)).map((message) => message.__typename)).toEqual([
      'UserMessage',
      'ApprovalRequestMessage',
      'ApprovalResponseMessage',
      'ToolReturnMessage',
      'ToolCallMessage',
      'ToolReturnMessage',
      'AssistantMessage',
    ])
  })
})

const kinds = [
  {
    kind: 'approve',
    suite: 'approve',
    decide: (call: any) => approve(call),
    decision: { kind: 'APPROVED', reason: null, toolReturn: null, status: null },
    status: 'SUCCEEDED',
    returned: { status: 'SUCCESS', output: secretOf('hello world') },
  },
  {
    kind: 'deny',
    suite: 'deny',
    decide: (call: any) => deny(call, 'the secret code is 740845635798344975'),
    decision: { kind: 'DENIED', reason: 'the secret code is 740845635798344975', toolReturn: null, status: null },
    status: 'DENIED',
    returned: { status: 'ERROR', output: expect.stringContaining('the secret code is 740845635798344975') },
  },
  {
    kind: 'client result',
    suite: 'client_side_tool_call',
    decide: (call: any) => giveReturn(call, '740845635798344975'),
    decision: { kind: 'CLIENT_RETURN', reason: null, toolReturn: '740845635798344975', status: 'SUCCESS' },
    status: 'SUCCEEDED',
    returned: { status: 'SUCCESS', output: '740845635798344975' },
  },
]

describe.each(kinds)('$kind', ({ suite, decide, decision, status, returned }) => {
  test(`[APR7] test_${suite}_request, test_${suite}_cursor_fetch: the decision is stored with who and when, and the model reads the return`, async () => {
    const agent = await talk.createAgent(secretAgent)
    executions.length = 0
    const { runId, calls } = await ground.ask(agent)
    expect(await talk.submit(runId, [decide(calls[0])])).toMatchObject({
      __typename: 'SubmitApprovalsSuccess',
      run: { id: runId, pendingToolCalls: [] },
    })
    const next = await ground.answer('done')
    expect(next.request.messages.at(-1)).toEqual({
      role: 'tool',
      returns: [
        { callId: 'call_0', name: 'get_secret_code', failed: returned.status === 'ERROR', output: returned.output },
      ],
    })
    const run = await talk.settled(runId)
    expect(run).toMatchObject({ status: 'COMPLETED', usage: { steps: 2 }, agent: { lastStopReason: 'END_TURN' } })
    expect(run.steps[0].toolCalls).toMatchObject([
      { status, decision: { ...decision, decidedBy: 'open' }, result: returned },
    ])
    expect(await talk.messages(runId)).toMatchObject([
      { __typename: 'UserMessage' },
      { __typename: 'ApprovalRequestMessage' },
      { __typename: 'ApprovalResponseMessage', decisions: [{ toolCallId: calls[0].id, ...decision }] },
      { __typename: 'ToolReturnMessage', toolReturns: [{ toolCallId: calls[0].id, ...returned }] },
      { __typename: 'AssistantMessage', text: 'done' },
    ])
    expect(executions).toEqual(decision.kind === 'APPROVED' ? ['get_secret_code hello world'] : [])
    expect(await contextOf(runId)).toContain('ToolReturnMessage')
  })

  test(`[APR8] test_${suite}_and_follow_up: the next message works`, async () => {
    const agent = await talk.createAgent(secretAgent)
    const { runId, calls } = await ground.ask(agent)
    await talk.submit(runId, [decide(calls[0])])
    await ground.answer('done')
    await talk.settled(runId)
    const next = await talk.start(agent, 'Thank you for the secret code.')
    await ground.answer('you are welcome')
    expect(await talk.settled(next)).toMatchObject({ status: 'COMPLETED', answer: 'you are welcome' })
  })

  test(`[APR9] test_${suite}_and_follow_up_with_error: a failing model undoes neither decision nor return; retry and next message work`, async () => {
    const agent = await talk.createAgent(secretAgent)
    executions.length = 0
    const { runId, calls } = await ground.ask(agent)
    await talk.submit(runId, [decide(calls[0])])
    const failing = await ground.model.nextCall()
    failing.fail({ message: 'TEST: Mocked error' })
    expect(await talk.settled(runId)).toMatchObject({
      status: 'FAILED',
      stopReason: 'LLM_API_ERROR',
      error: { message: 'TEST: Mocked error' },
      canRetry: true,
      steps: [{ toolCalls: [{ status, decision, result: returned }] }, { status: 'FAILED' }],
    })
    // Repeating the decision still changes nothing.
    expect(await talk.submit(runId, [decide(calls[0])])).toMatchObject({ __typename: 'SubmitApprovalsSuccess' })

    await ground.app.data('mutation ($run: ID!) { retryRun(input: { runId: $run }) { __typename } }', { run: runId })
    const retried = await ground.model.nextCall()
    expect(retried.request.messages).toEqual(failing.request.messages)
    retried.fail({ message: 'and again' })
    await talk.settled(runId)

    const next = await talk.start(agent, 'Thank you for the secret code.')
    const call = await ground.answer('you are welcome')
    expect(call.request.messages.at(-2)).toMatchObject({ role: 'tool', returns: [{ output: returned.output }] })
    expect(await talk.settled(next)).toMatchObject({ status: 'COMPLETED' })
    expect(executions.length).toBe(decision.kind === 'APPROVED' ? 1 : 0)
  })

  test(`[APR10] test_${suite}_with_user_message: a follow-up comes after the returns and before the model is asked`, async () => {
    const agent = await talk.createAgent(secretAgent)
    const { runId, calls } = await ground.ask(agent)
    await talk.submit(runId, [decide(calls[0])], { followUp: [{ text: 'No special characters.' }] })
    const next = await ground.answer('done')
    expect(next.request.messages.slice(-2)).toMatchObject([
      { role: 'tool' },
      { role: 'user', content: [{ text: 'No special characters.' }] },
    ])
    await talk.settled(runId)
    expect((await talk.messages(runId)).map((message) => message.__typename).slice(-3)).toEqual([
      'ToolReturnMessage',
      'UserMessage',
      'AssistantMessage',
    ])
  })
})
