import { afterAll, afterEach, expect, test } from 'vitest'

import { executions, secretAgent } from '../support/secret-tools.ts'
import { approve, deny, giveReturn } from '../support/talk.ts'
import { hello, startGround } from './ground.ts'

const ground = await startGround()
const talk = ground.talk
afterEach(() => ground.check())
afterAll(() => ground.app.stop())

const two = [
  ['get_secret_code', hello],
  ['get_secret_code', { text: 'other' }],
] as const

test('[APR18] ids that are not pending in this run are refused together, and nothing of the mutation is applied', async () => {
  const agent = await talk.createAgent(secretAgent)
  const { runId, calls } = await ground.ask(agent, [...two, ['roll_dice', { sides: 6 }]])
  const other = await ground.ask(await talk.createAgent(secretAgent))
  const held = (await talk.run(runId)).steps[0].toolCalls[2]
  const unknown = { id: `call_${'0'.repeat(32)}` }
  const cases: [decisions: object[], invalid: string[]][] = [
    [[approve(calls[0]), approve(unknown)], [unknown.id]],
    [[approve(calls[0]), deny(other.calls[0])], [other.calls[0].id]],
    [[approve(held)], [held.id]],
    [[approve(calls[0]), approve(calls[0])], [calls[0].id]],
    [[approve(calls[0]), deny(calls[0])], [calls[0].id]],
    [[giveReturn(calls[1], 'x'), approve(calls[0]), deny(calls[1])], [calls[1].id]],
  ]
  for (const [decisions, invalidIds] of cases) {
    expect(await talk.submit(runId, decisions, { followUp: [{ text: 'lost?' }] })).toMatchObject({
      __typename: 'InvalidToolCallIdsRefusal',
      invalidIds,
      expectedIds: calls.map(({ id }) => id),
    })
  }
  expect(await talk.run(runId)).toMatchObject({
    status: 'AWAITING_APPROVAL',
    pendingToolCalls: calls.map(({ id }) => ({ id })),
  })
  await talk.cancel({ runId })
  await talk.cancel({ runId: other.runId })
  expect((await talk.messages(runId)).map((message) => message.__typename)).not.toContain('ApprovalResponseMessage')
})

test('[APR19] a different decision is AlreadyDecidedRefusal with the decision, who made it and when, however far the run has come', async () => {
  const agent = await talk.createAgent(secretAgent)
  const { runId, calls } = await ground.ask(agent, two)
  await talk.submit(runId, [deny(calls[0], 'no')])
  const others = [approve(calls[0]), deny(calls[0]), deny(calls[0], 'never'), giveReturn(calls[0], 'x')]
  const stands = {
    __typename: 'AlreadyDecidedRefusal',
    message: expect.stringMatching(new RegExp(`${calls[0].id} was denied by open at \\d{4}-`)),
    decisions: [
      { toolCallId: calls[0].id, kind: 'DENIED', reason: 'no', decidedBy: 'open', decidedAt: expect.any(String) },
    ],
  }
  for (const other of others) expect(await talk.submit(runId, [approve(calls[1]), other])).toMatchObject(stands)
  expect((await talk.run(runId)).pendingToolCalls).toEqual([{ id: calls[1].id }])

  await talk.submit(runId, [deny(calls[0], 'no'), approve(calls[1])])
  const next = await ground.model.nextCall()
  for (const other of others) expect(await talk.submit(runId, [other])).toMatchObject(stands)
  next.finish()
  await talk.settled(runId)
  const log = await talk.log(runId)
  for (const other of others) {
    expect(await talk.submit(runId, [other])).toMatchObject(stands)
    expect(await talk.submit(runId, [other, approve({ id: 'nonsense' })])).toMatchObject(stands)
    expect(await talk.submit(runId, [other], { followUp: [{ text: 'late' }] })).toMatchObject(stands)
    // Each decision that stands is told once, however often its call is given.
    expect(await talk.submit(runId, [other, other])).toMatchObject(stands)
  }
  expect(await talk.submit(runId, [deny(calls[1])])).toMatchObject({
    __typename: 'AlreadyDecidedRefusal',
    decisions: [{ toolCallId: calls[1].id, kind: 'APPROVED', decidedBy: 'open' }],
  })
  expect(await talk.log(runId)).toEqual(log)
})

test('[APR37] if nothing waits, calls that never waited, expired or were cancelled are NoPendingApprovalRefusal', async () => {
  const nothing = { __typename: 'NoPendingApprovalRefusal', message: 'No tool call is currently awaiting approval.' }
  const agent = await talk.createAgent(secretAgent)
  const { runId, calls } = await ground.ask(agent, [...two, ['roll_dice', { sides: 6 }]])
  const held = (await talk.run(runId)).steps[0].toolCalls[2]
  await talk.submit(runId, [approve(calls[0])])
  await talk.cancel({ runId })
  for (const call of [calls[1], held, { id: 'nonsense' }]) {
    expect(await talk.submit(runId, [approve(call)])).toMatchObject(nothing)
    expect(await talk.submit(runId, [deny(call)])).toMatchObject(nothing)
  }
  // A decision that was made before the cancel still counts.
  expect(await talk.submit(runId, [approve(calls[0])])).toMatchObject({ __typename: 'SubmitApprovalsSuccess' })
  expect(await talk.submit(runId, [deny(calls[0])])).toMatchObject({ __typename: 'AlreadyDecidedRefusal' })
})

test('[APR20] the same decision again succeeds and changes nothing, while the run waits, after it continued and after it ended', async () => {
  const agent = await talk.createAgent(secretAgent)
  executions.length = 0
  const { runId, calls } = await ground.ask(agent, two)
  const first = [approve(calls[0], { scope: 'RUN', arguments: { text: 'edited' } })]
  const both = [...first, giveReturn(calls[1], 'mine')]
  const succeeds = { __typename: 'SubmitApprovalsSuccess', run: { id: runId } }
  expect(await talk.submit(runId, first)).toMatchObject(succeeds)
  expect(await talk.submit(runId, first)).toMatchObject(succeeds)
  expect(await talk.submit(runId, both)).toMatchObject(succeeds)
  const next = await ground.model.nextCall()
  expect(await talk.submit(runId, both)).toMatchObject(succeeds)
  expect(await talk.submit(runId, first)).toMatchObject(succeeds)
  next.say('done')
  next.finish()
  await talk.settled(runId)
  const log = await talk.log(runId)
  expect(await talk.submit(runId, both)).toMatchObject({ ...succeeds, run: { status: 'COMPLETED' } })
  expect(await talk.submit(runId, [...both, ...both])).toMatchObject(succeeds)
  expect(await talk.log(runId)).toEqual(log)
  expect(executions).toEqual(['get_secret_code edited'])
})

test('[APR21] with one idempotency key the whole mutation happens once, including its follow-up; other input is a conflict', async () => {
  const agent = await talk.createAgent(secretAgent)
  const { runId, calls } = await ground.ask(agent)
  const options = { idempotencyKey: `key of ${runId}`, followUp: [{ text: 'and then' }] }
  const decisions = [approve(calls[0])]
  const answers = await Promise.all([1, 2, 3].map(() => talk.submit(runId, decisions, options)))
  expect(answers.map((answer) => answer.__typename)).toEqual(Array(3).fill('SubmitApprovalsSuccess'))
  const next = await ground.answer('done')
  expect(next.request.messages.filter((message) => message.role === 'user')).toHaveLength(2)
  await talk.settled(runId)
  expect(await talk.submit(runId, decisions, options)).toMatchObject({ __typename: 'SubmitApprovalsSuccess' })
  const { errors } = await ground.app.request(
    'mutation ($input: SubmitApprovalsInput!) { submitApprovals(input: $input) { __typename } }',
    { input: { runId, ...options, decisions: [deny(calls[0])] } },
  )
  expect(errors).toMatchObject([{ extensions: { code: 'IDEMPOTENCY_CONFLICT' } }])
  expect((await talk.messages(runId)).filter((message) => message.__typename === 'UserMessage')).toHaveLength(2)
})

test('[APR22] without a key, a follow-up that came with the same decision is stored once, and another one is refused, not lost', async () => {
  const agent = await talk.createAgent(secretAgent)
  const { runId, calls } = await ground.ask(agent, two)
  const first = [approve(calls[0])]
  const followUp = [{ text: 'and then' }]
  await talk.submit(runId, first, { followUp })
  expect(await talk.submit(runId, first, { followUp })).toMatchObject({ __typename: 'SubmitApprovalsSuccess' })
  const refused = {
    __typename: 'AlreadyDecidedRefusal',
    message: expect.stringContaining('sendMessage'),
    decisions: [{ toolCallId: calls[0].id, kind: 'APPROVED' }],
  }
  expect(await talk.submit(runId, first, { followUp: [{ text: 'what else' }] })).toMatchObject(refused)
  // Together with a new decision, it is accepted.
  await talk.submit(runId, [...first, approve(calls[1])], { followUp: [{ text: 'what else' }] })
  const next = await ground.model.nextCall()
  expect(next.request.messages.slice(-2)).toMatchObject([
    { content: [{ text: 'and then' }] },
    { content: [{ text: 'what else' }] },
  ])
  expect(await talk.submit(runId, first, { followUp: [{ text: 'too late' }] })).toMatchObject(refused)
  next.finish()
  await talk.settled(runId)
  expect(await talk.submit(runId, first, { followUp })).toMatchObject({ __typename: 'SubmitApprovalsSuccess' })
  expect(await talk.submit(runId, first, { followUp: [{ text: 'too late' }] })).toMatchObject(refused)
  expect((await talk.messages(runId)).filter((message) => message.__typename === 'UserMessage')).toHaveLength(3)
})

test('[APR23] if the run ends instead of continuing (terminal tool, step limit, cancel), a follow-up stays in the conversation', async () => {
  const toolRules = [{ kind: 'TERMINAL', tool: 'get_secret_code' }]
  const cases = [
    { agent: { ...secretAgent, toolRules }, options: {}, ends: { status: 'COMPLETED', stopReason: 'TOOL_RULE' } },
    { agent: secretAgent, options: { maxSteps: 1 }, ends: { status: 'COMPLETED', stopReason: 'MAX_STEPS' } },
  ]
  for (const { agent: given, options, ends } of cases) {
    const agent = await talk.createAgent(given)
    const { runId, calls } = await ground.ask(agent, undefined, options)
    await talk.submit(runId, [approve(calls[0])], { followUp: [{ text: 'and then' }] })
    expect(await talk.settled(runId)).toMatchObject(ends)
    const messages = await talk.messages(runId)
    expect(messages.slice(-2)).toMatchObject([
      { __typename: 'ToolReturnMessage' },
      { text: 'and then', inContext: true },
    ])
    await ground.expectUsable(agent)
  }

  const agent = await talk.createAgent(secretAgent)
  const { runId, calls } = await ground.ask(agent, two)
  await talk.submit(runId, [approve(calls[0])], { followUp: [{ text: 'and then' }] })
  await talk.cancel({ runId })
  expect((await talk.messages(runId)).slice(-3)).toMatchObject([
    { __typename: 'ApprovalResponseMessage', decisions: [{ kind: 'APPROVED' }] },
    { __typename: 'ToolReturnMessage' },
    { text: 'and then', inContext: true },
  ])
  await ground.expectUsable(agent)
})

test('[APR24] a message while a run waits queues behind it, or replaces it: then the waiting calls are denied', async () => {
  const agent = await talk.createAgent(secretAgent)
  const { runId, calls } = await ground.ask(agent)
  const behind = await talk.start(agent, 'behind', { whenBusy: 'ENQUEUE' })
  expect(await talk.run(behind)).toMatchObject({ status: 'QUEUED' })
  const instead = await talk.start(agent, 'instead', { whenBusy: 'INTERRUPT' })
  expect(await talk.run(runId)).toMatchObject({
    status: 'CANCELLED',
    steps: [
      { toolCalls: [{ id: calls[0].id, status: 'CANCELLED', result: { output: expect.stringContaining('denied') } }] },
    ],
  })
  const interrupting = await ground.answer('first')
  expect(interrupting.request.messages.at(-1)).toMatchObject({ content: [{ text: 'instead' }] })
  await ground.answer('second')
  expect(await talk.settled(behind)).toMatchObject({ status: 'COMPLETED', answer: 'second' })
  expect(await talk.run(instead)).toMatchObject({ answer: 'first' })
})

test('[APR25] a call that the rules forbid is never offered for approval', async () => {
  const toolRules = [
    { kind: 'RUN_FIRST', tool: 'roll_dice' },
    { kind: 'REQUIRES_APPROVAL', tool: 'get_secret_code' },
  ]
  const agent = await talk.createAgent({ tools: ['get_secret_code', 'roll_dice'], toolRules })
  const runId = await talk.start(agent, 'go')
  await ground.call(['get_secret_code', hello])
  const next = await ground.call(['roll_dice', { sides: 6 }])
  expect(next.request.messages.at(-1)).toMatchObject({ returns: [{ failed: true }] })
  await ground.call(['get_secret_code', hello])
  expect(await talk.pending(runId)).toMatchObject([{ name: 'get_secret_code' }])
  await talk.cancel({ runId })
})
