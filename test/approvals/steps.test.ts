import { afterAll, afterEach, expect, test } from 'vitest'

import { executions, secretAgent, secretOf } from '../support/secret-tools.ts'
import { approve, deny, giveReturn, type Talk } from '../support/talk.ts'
import { hello, startGround } from './ground.ts'

const ground = await startGround()
const talk = ground.talk
afterEach(() => ground.check())
afterAll(() => ground.app.stop())

const mixed = [
  ['get_secret_code', { text: 'one' }],
  ['roll_dice', { sides: 16 }],
  ['get_secret_code', { text: 'two' }],
  ['get_secret_code', { text: 'three' }],
] as const

test('[APR11] test_parallel_tool_calling: if one call of a step waits, all wait, and one message returns them all in call order', async () => {
  const agent = await talk.createAgent(secretAgent)
  executions.length = 0
  const { runId, calls } = await ground.ask(agent, mixed)
  expect(calls.map((call) => call.arguments.text)).toEqual(['one', 'two', 'three'])
  const held = (await talk.run(runId)).steps[0].toolCalls[1]
  expect(held).toMatchObject({ name: 'roll_dice', status: 'READY', needs: 'NOTHING' })
  expect(await talk.messages(runId)).toMatchObject([
    { __typename: 'UserMessage' },
    { __typename: 'ToolCallMessage', toolCalls: [{ name: 'roll_dice' }] },
    { __typename: 'ApprovalRequestMessage', toolCalls: calls.map(({ id }) => ({ id })) },
  ])
  expect(executions).toEqual([])

  await talk.submit(runId, [approve(calls[0]), deny(calls[1]), giveReturn(calls[2], '740845635798344975')])
  const next = await ground.answer('done')
  expect(executions).toEqual(['get_secret_code one', 'roll_dice 16'])
  expect(next.request.messages.slice(-2)).toMatchObject([
    { role: 'assistant', parts: mixed.map(([name], place) => ({ name, callId: `call_${place}` })) },
    {
      role: 'tool',
      returns: [
        { callId: 'call_0', failed: false, output: secretOf('one') },
        { callId: 'call_1', failed: false, output: 'rolled 16' },
        { callId: 'call_2', failed: true, output: 'The request to call this tool was denied.' },
        { callId: 'call_3', failed: false, output: '740845635798344975' },
      ],
    },
  ])
  expect(await talk.settled(runId)).toMatchObject({ status: 'COMPLETED' })
  expect((await talk.messages(runId)).map((message) => message.__typename)).toEqual([
    'UserMessage',
    'ToolCallMessage',
    'ApprovalRequestMessage',
    'ApprovalResponseMessage',
    'ToolReturnMessage',
    'AssistantMessage',
  ])
  await ground.expectUsable(agent)
})

test('[APR12] decisions come one by one in any order: each is announced at once, the rest wait, the last continues the run', async () => {
  const agent = await talk.createAgent(secretAgent)
  const { runId, calls } = await ground.ask(agent, mixed)
  const watch = talk.watch(runId)
  for (const place of [2, 0]) {
    const { run } = await talk.submit(runId, [approve(calls[place])])
    expect(run).toMatchObject({ status: 'AWAITING_APPROVAL' })
  }
  const { run } = await talk.submit(runId, [deny(calls[1], 'no')], { waitMs: 0 })
  expect(run.pendingToolCalls).toEqual([])
  await ground.answer('done')
  await watch.ended
  const from = watch.lines.indexOf('RunStatusChanged AWAITING_APPROVAL')
  expect(watch.lines.slice(from, from + 9)).toEqual([
    'RunStatusChanged AWAITING_APPROVAL',
    'ToolCallChanged get_secret_code READY',
    'ToolCallChanged get_secret_code READY',
    'ToolCallChanged get_secret_code DENIED',
    'MessageAdded ApprovalResponseMessage',
    'RunStatusChanged RUNNING',
    'ToolCallChanged get_secret_code RUNNING',
    'ToolCallChanged get_secret_code SUCCEEDED',
    'ToolCallChanged roll_dice RUNNING',
  ])
  const response = (await talk.messages(runId)).find((message) => message.__typename === 'ApprovalResponseMessage')
  expect(response.decisions.map((decision: any) => decision.kind)).toEqual(['APPROVED', 'DENIED', 'APPROVED'])
})

test('[APR13] a tool runs with the edited arguments; arguments that do not match are refused with each problem', async () => {
  const agent = await talk.createAgent(secretAgent)
  const { runId, calls } = await ground.ask(agent, [
    ['get_secret_code', hello],
    ['get_secret_code', { text: 'other' }],
  ])
  for (const [args, problems] of [
    [{ text: 5 }, [{ path: '/text', message: 'must be string' }]],
    [{}, [{ path: '', message: "must have required property 'text'" }]],
    [['text'], [{ path: '', message: expect.any(String) }]],
  ] as const) {
    expect(await talk.submit(runId, [deny(calls[1]), approve(calls[0], { arguments: args })])).toMatchObject({
      __typename: 'InvalidArgumentsRefusal',
      toolCall: { id: calls[0].id, status: 'PENDING' },
      problems,
    })
  }
  expect(await talk.run(runId)).toMatchObject({ pendingToolCalls: calls.map(({ id }) => ({ id })) })

  const edit = [approve(calls[0], { arguments: { text: 'edited\u0000' } }), approve(calls[1])]
  await talk.submit(runId, edit)
  const next = await ground.answer('done')
  expect(next.request.messages.at(-1)).toMatchObject({
    returns: [{ output: secretOf('edited') }, { output: secretOf('other') }],
  })
  const run = await talk.settled(runId)
  expect(run.steps[0].toolCalls[0]).toMatchObject({ arguments: hello, editedArguments: { text: 'edited' } })
  expect(await talk.submit(runId, edit)).toMatchObject({ __typename: 'SubmitApprovalsSuccess' })
})

test('[APR14] scope RUN covers later calls of the tool in this run, scope AGENT those of every later run', async () => {
  const agent = await talk.createAgent(secretAgent)
  const { runId, calls } = await ground.ask(agent)
  await talk.submit(runId, [approve(calls[0], { scope: 'RUN' })])
  await ground.call(['get_secret_code', { text: 'again' }])
  await ground.answer('done')
  expect(await talk.settled(runId)).toMatchObject({ status: 'COMPLETED' })

  const second = await ground.ask(agent)
  const toAgent = [approve(second.calls[0], { scope: 'AGENT' })]
  await talk.submit(second.runId, toAgent)
  await ground.call(['get_secret_code', { text: 'again' }])
  await ground.answer('done')
  expect(await talk.settled(second.runId)).toMatchObject({ status: 'COMPLETED' })
  expect(await talk.submit(second.runId, toAgent)).toMatchObject({ __typename: 'SubmitApprovalsSuccess' })
  expect(await talk.submit(second.runId, [approve(second.calls[0])])).toMatchObject({
    __typename: 'AlreadyDecidedRefusal',
  })

  const third = await talk.start(agent, 'once more')
  await ground.call(['get_secret_code', hello])
  await ground.answer('done')
  expect(await talk.settled(third)).toMatchObject({ status: 'COMPLETED', usage: { steps: 2 } })
})

test('[APR15] a rule, the agent’s setting, the tool’s condition and `requiresApproval` decide in this order', async () => {
  const setTool = async (settings: object) =>
    ground.app.data('mutation ($input: UpdateToolInput!) { updateTool(input: $input) { tool { id } } }', {
      input: { id: await talk.toolId('roll_dice'), ...settings },
    })
  const minimum = { properties: { sides: { minimum: 100 } } }
  const toolRules = [{ kind: 'REQUIRES_APPROVAL', tool: 'roll_dice' }]
  const own = (approvalOverride: boolean) => ({ tools: [{ name: 'roll_dice', approvalOverride }] })
  const plain = { tools: ['roll_dice'] }
  type Case = [settings: object, agent: Parameters<Talk['createAgent']>[0], sides: number, waits: boolean]
  const cases: Case[] = [
    [{ approvalCondition: minimum, requiresApproval: true }, plain, 6, false],
    [{}, plain, 100, true],
    [{}, own(false), 100, false],
    [{}, own(true), 6, true],
    [{}, { ...own(false), toolRules }, 6, true],
    // A condition requires approval by itself.
    [{ requiresApproval: false }, plain, 100, true],
    [{}, plain, 6, false],
    // A schema that refers to itself endlessly cannot be evaluated.
    [{ approvalCondition: { $ref: '#/$defs/a', $defs: { a: { allOf: [{ $ref: '#/$defs/a' }] } } } }, plain, 6, true],
    [{ approvalCondition: null }, plain, 100, false],
    [{ requiresApproval: true }, plain, 6, true],
  ]
  for (const [settings, options, sides, waits] of cases) {
    await setTool(settings)
    const runId = await talk.start(await talk.createAgent(options), 'roll')
    await ground.call(['roll_dice', { sides }])
    if (!waits) await ground.answer('done')
    expect(await talk.settled(runId)).toMatchObject({ status: waits ? 'AWAITING_APPROVAL' : 'COMPLETED' })
    await talk.cancel({ runId })
  }
  await setTool({ requiresApproval: false })
})

test('[APR16] a client tool of the request waits only for its result, and hides the server’s tool of the same name', async () => {
  const agent = await talk.createAgent(secretAgent)
  executions.length = 0
  const clientTools = [
    { name: 'roll_dice', description: 'mine', parameters: { type: 'object', required: ['faces'] } },
    { name: 'open_door', parameters: { type: 'object' } },
  ]
  const { runId, calls } = await ground.ask(
    agent,
    [
      ['roll_dice', { faces: 6 }],
      ['open_door', {}],
    ],
    { clientTools },
  )
  expect(calls.map((call) => [call.name, call.needs])).toEqual([
    ['roll_dice', 'CLIENT_EXECUTION'],
    ['open_door', 'CLIENT_EXECUTION'],
  ])
  const refused = await talk.submit(runId, [giveReturn(calls[0], '4'), approve(calls[1])])
  expect(refused).toMatchObject({
    __typename: 'InvalidToolCallIdsRefusal',
    message: expect.stringMatching(/^Invalid tool call IDs: .*open_door.*`toolReturn`/),
    invalidIds: [calls[1].id],
    expectedIds: calls.map(({ id }) => id),
  })
  expect((await talk.run(runId)).pendingToolCalls).toHaveLength(2)

  await talk.submit(runId, [
    giveReturn(calls[0], '4', { stdout: ['rolling'], stderr: ['careful'] }),
    giveReturn(calls[1], 'it is locked', { status: 'ERROR' }),
  ])
  // Arguments that do not match the client tool's parameters reach nobody, least of all the server's tool.
  const next = await ground.call(['roll_dice', { sides: 6 }])
  expect(next.request.tools.filter((tool) => tool.name === 'roll_dice')).toMatchObject([{ description: 'mine' }])
  expect(next.request.messages.at(-1)).toMatchObject({
    returns: [
      { output: '4', failed: false },
      { output: 'it is locked', failed: true },
    ],
  })
  const last = await ground.answer('done')
  expect(last.request.messages.at(-1)).toMatchObject({
    returns: [{ failed: true, output: expect.stringContaining('faces') }],
  })
  expect((await talk.settled(runId)).steps[0].toolCalls).toMatchObject([
    { status: 'SUCCEEDED', result: { stdout: ['rolling'], stderr: ['careful'], truncated: false } },
    { status: 'FAILED', result: { status: 'ERROR' } },
  ])
  expect(executions).toEqual([])

  // Only for that run.
  const after = await talk.start(agent, 'roll')
  await ground.call(['roll_dice', { sides: 6 }])
  await ground.answer('done')
  await talk.settled(after)
  expect(executions).toEqual(['roll_dice 6'])
  await ground.expectUsable(agent)
})

test('[APR17] a client result is cut to the tool’s limit, and compared with an earlier one by what was sent', async () => {
  const agent = await talk.createAgent(secretAgent)
  const tool = await talk.toolId('get_secret_code')
  const limit = (returnCharLimit: number | null) =>
    ground.app.data('mutation ($input: UpdateToolInput!) { updateTool(input: $input) { tool { id } } }', {
      input: { id: tool, returnCharLimit },
    })
  await limit(1_000)
  const { runId, calls } = await ground.ask(agent, [
    ['get_secret_code', hello],
    ['get_secret_code', hello],
  ])
  const long = 'x'.repeat(2_000)
  await talk.submit(runId, [giveReturn(calls[0], long)])
  const [call] = (await talk.run(runId)).steps[0].toolCalls
  expect(call.result).toMatchObject({
    truncated: true,
    output: expect.stringMatching(/^x{1000}\n\[cut after 1000 characters\]$/),
  })
  expect(await talk.submit(runId, [giveReturn(calls[0], long)])).toMatchObject({ __typename: 'SubmitApprovalsSuccess' })
  for (const other of [
    giveReturn(calls[0], `${long}y`),
    giveReturn(calls[0], long, { stdout: ['more'] }),
    giveReturn(calls[0], long, { status: 'ERROR' }),
  ]) {
    expect(await talk.submit(runId, [other])).toMatchObject({ __typename: 'AlreadyDecidedRefusal' })
  }
  await limit(null)
  await talk.cancel({ runId })
})

test('[APR36] the run, the list of calls and the inbox agree on what waits, from the pause to the end', async () => {
  const agent = await talk.createAgent(secretAgent)
  const socket = ground.app.webSocket()
  const inbox = socket.stream(
    `subscription ($agent: ID!) { approvalInbox(agentIds: [$agent]) { __typename
      ... on InboxSnapshot { toolCalls { id } } ... on InboxAdded { toolCall { id } } ... on InboxRemoved { toolCall { id } } } }`,
    { agent },
  )
  const shown = new Set<string>()
  const take = async (): Promise<void> => {
    const { __typename, toolCall, toolCalls } = (await inbox.next())!.data!.approvalInbox
    for (const call of toolCalls ?? []) shown.add(call.id)
    if (__typename === 'InboxAdded') shown.add(toolCall.id)
    if (__typename === 'InboxRemoved') shown.delete(toolCall.id)
  }
  /** The inbox sends changes, so it agrees once all of them have arrived. */
  const expectWaiting = async (runId: string, calls: readonly { readonly id: string }[]): Promise<void> => {
    const ids = calls.map(({ id }) => ({ id }))
    expect((await talk.run(runId)).pendingToolCalls).toEqual(ids)
    const { toolCalls } = await ground.app.data(
      'query ($agent: ID!) { toolCalls(filter: { agentIds: [$agent], statuses: [PENDING] }) { nodes { id } } }',
      { agent },
    )
    expect(toolCalls.nodes).toEqual(ids)
    while (
      [...shown].toSorted().join() !==
      ids
        .map(({ id }) => id)
        .toSorted()
        .join()
    )
      await take()
  }
  await take()
  const { runId, calls } = await ground.ask(agent, mixed)
  await expectWaiting(runId, calls)
  await talk.submit(runId, [deny(calls[1])])
  await expectWaiting(runId, [calls[0], calls[2]])
  await talk.submit(runId, [approve(calls[0]), approve(calls[2])])
  await expectWaiting(runId, [])
  await ground.answer('done')
  await talk.settled(runId)
  const second = await ground.ask(agent)
  await expectWaiting(second.runId, second.calls)
  await talk.cancel({ runId: second.runId })
  await expectWaiting(second.runId, [])
  await socket.dispose()
})

test('[APR44] the model reads the note of whoever approved a call with its result', async () => {
  const agent = await talk.createAgent(secretAgent)
  const { runId, calls } = await ground.ask(agent)
  await talk.submit(runId, [approve(calls[0], { note: 'only this once' })])
  expect(await talk.submit(runId, [approve(calls[0])])).toMatchObject({ __typename: 'AlreadyDecidedRefusal' })
  const next = await ground.answer('done')
  expect(next.request.messages.at(-1)).toMatchObject({
    returns: [{ output: secretOf('hello world'), notes: [expect.stringContaining('only this once')] }],
  })
  await talk.settled(runId)
  const { run } = await ground.app.data(
    'query ($id: ID!) { run(id: $id) { steps { toolCalls { decision { note } approvals { note } result { output } } } } }',
    { id: runId },
  )
  expect(run.steps[0].toolCalls).toEqual([
    {
      decision: { note: 'only this once' },
      approvals: [{ note: 'only this once' }],
      result: { output: secretOf('hello world') },
    },
  ])
})

test('[APR45] a run says what it waits for, and a call what it will wait for while it is being written', async () => {
  await ground.app.data('mutation ($input: UpdateToolInput!) { updateTool(input: $input) { tool { id } } }', {
    input: { id: await talk.toolId('roll_dice'), approvalCondition: { properties: { sides: { minimum: 100 } } } },
  })
  const agent = await talk.createAgent({ tools: [{ name: 'get_secret_code', approvalOverride: true }, 'roll_dice'] })
  const clientTools = [{ name: 'open_door', parameters: { type: 'object' } }]
  const runId = await talk.start(agent, 'go', { clientTools })
  const socket = ground.app.webSocket()
  const deltas = socket.stream(
    'subscription ($id: ID!) { runEvents(runId: $id) { __typename ... on ToolCallDelta { name needs argumentsText } } }',
    { id: runId },
  )
  const nextDelta = async () => {
    for (;;) {
      const event = (await deltas.next())!.data.runEvents
      if (event.__typename === 'ToolCallDelta') return [event.name, event.needs]
    }
  }
  const call = await ground.model.nextCall()
  const expected = {
    get_secret_code: 'APPROVAL',
    roll_dice: null,
    open_door: 'CLIENT_EXECUTION',
    unknown: 'NOTHING',
  }
  const args: Record<string, object> = { get_secret_code: hello, roll_dice: { sides: 6 }, open_door: {}, unknown: {} }
  for (const [name, needs] of Object.entries(expected)) {
    call.call(name, args[name])
    expect(await nextDelta()).toEqual([name, needs])
  }
  call.finish()
  await deltas.close()
  await socket.dispose()
  const calls = await talk.pending(runId)
  const waitingFor = async () =>
    (await ground.app.data('query ($id: ID!) { run(id: $id) { waitingFor } }', { id: runId })).run.waitingFor
  expect(await waitingFor()).toEqual(['APPROVAL', 'CLIENT_RESULT'])
  await talk.submit(runId, [approve(calls[0])])
  expect(await waitingFor()).toEqual(['CLIENT_RESULT'])
  await talk.submit(runId, [giveReturn(calls[1], 'open')])
  await ground.answer('done')
  await talk.settled(runId)
  expect(await waitingFor()).toEqual([])
})
