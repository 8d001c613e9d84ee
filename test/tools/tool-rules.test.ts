import { afterAll, afterEach, beforeEach, describe, expect, test } from 'vitest'

import { defineTool } from '../../src/tools/registry.ts'
import { startGround } from '../approvals/ground.ts'
import { approve, deny } from '../support/talk.ts'

/** Every execution by name, with its arguments. */
const ran: [string, unknown][] = []
const tool = (name: string) =>
  defineTool({
    name,
    description: '',
    parameters: {
      type: 'object',
      properties: { say: { type: 'string' }, count: { type: 'integer' } },
      additionalProperties: false,
    },
    parallel: true,
    run: (args) => {
      ran.push([name, args])
      return String(args['say'] ?? 'done')
    },
  })

const ground = await startGround({ tools: ['first', 'second', 'third'].map(tool) })
const talk = ground.talk
beforeEach(() => void ran.splice(0))
afterEach(() => ground.check())
afterAll(() => ground.app.stop())

const agentWith = (toolRules: object[], more: object = {}) =>
  talk.createAgent({ tools: ['first', 'second', 'third'], toolRules, ...more })
const namesOf = (request: { tools: readonly { name: string }[] }) => request.tools.map(({ name }) => name)
const outputs = async (runId: string) =>
  (await talk.run(runId)).steps.flatMap((step: any) => step.toolCalls.map((call: any) => call.result.output))

describe('what may be called', () => {
  test('[RUL11] only tools that the rules allow are sent to the model, which is forced to call one if a rule requires it', async () => {
    const agent = await agentWith([
      { kind: 'RUN_FIRST', tool: 'first' },
      { kind: 'CHILDREN', tool: 'first', children: ['second', 'third'] },
      { kind: 'MAX_CALLS', tool: 'second', maxCalls: 1 },
    ])
    const run = await talk.start(agent, 'go')
    const one = await ground.call(['first', {}])
    expect(namesOf(one.request)).toEqual(['first'])
    expect(one.request.toolChoice).toEqual({ tool: 'first' })
    expect(one.request.parallelToolCalls).toBe(false)
    expect(one.request.systemPrompt).toContain('- The first tool that you call must be first.')
    const two = await ground.call(['second', {}])
    expect(namesOf(two.request)).toEqual(['second', 'third'])
    expect(two.request.toolChoice).toBe('required')
    const three = await ground.answer('done')
    expect(namesOf(three.request)).toEqual(['first', 'third'])
    expect(three.request.toolChoice).toBe('auto')
    expect(await talk.settled(run)).toMatchObject({ status: 'COMPLETED', stopReason: 'END_TURN' })
  })

  test('[RUL12] a call against the rules is not run and not offered to anyone, and its return names what is allowed', async () => {
    const agent = await agentWith([
      { kind: 'RUN_FIRST', tool: 'first' },
      { kind: 'REQUIRES_APPROVAL', tool: 'second' },
    ])
    const run = await talk.start(agent, 'go')
    await ground.call(['second', {}])
    const next = await ground.answer('sorry')
    expect(next.request.messages.at(-1)).toMatchObject({
      returns: [{ failed: true, output: "The rules don't allow second now. Tools that may be called now: first." }],
    })
    const { steps } = await talk.settled(run)
    expect(steps[0].toolCalls[0]).toMatchObject({ status: 'FAILED', needs: 'NOTHING', decision: null })
    expect(ran).toEqual([])
  })

  test('[RUL12] an unknown tool and invalid arguments are errors that tell the model what to do instead, and do not count as calls', async () => {
    const agent = await agentWith([{ kind: 'MAX_CALLS', tool: 'first', maxCalls: 1 }])
    const run = await talk.start(agent, 'go')
    await ground.call(['nothing_of_the_kind', {}])
    await ground.call(['first', { count: '1', more: true }])
    await ground.call(['first', 'not JSON'])
    await ground.call(['first', { count: 1 }])
    await ground.call(['first', {}])
    await ground.answer('done')
    await talk.settled(run)
    expect(await outputs(run)).toEqual([
      'There is no tool named nothing_of_the_kind. Tools that may be called now: first, second, third.',
      expect.stringMatching(/don't fit its parameters: .*"more".*\/count must be integer/),
      'The arguments of first are not a JSON object. They were: not JSON',
      'done',
      "The rules don't allow first now. Tools that may be called now: second, third.",
    ])
    expect(ran).toHaveLength(1)
  })

  test('[RUL13] if the rules allow no tool, the model is sent none', async () => {
    const agent = await agentWith([
      { kind: 'CHILDREN', tool: 'first', children: ['second'] },
      { kind: 'PARENT', tool: 'third', children: ['second'] },
    ])
    const run = await talk.start(agent, 'go')
    await ground.call(['first', {}])
    const next = await ground.call(['third', {}])
    expect(next.request.tools).toEqual([])
    await ground.answer('done')
    await talk.settled(run)
    expect((await outputs(run))[1]).toBe(
      "The rules don't allow third now. No tool may be called now: answer without one.",
    )
  })

  test('[RUL14] counts, order and requirements hold across a pause, and a denied call does not count', async () => {
    const agent = await agentWith([
      { kind: 'MAX_CALLS', tool: 'first', maxCalls: 2 },
      { kind: 'REQUIRES_APPROVAL', tool: 'second' },
      { kind: 'PARENT', tool: 'second', children: ['third'] },
    ])
    const run = await talk.start(agent, 'go')
    await ground.call(['first', {}])
    await ground.call(['second', {}])
    await talk.submit(run, [deny((await talk.pending(run))[0])])
    expect(namesOf((await ground.call(['second', {}])).request)).toEqual(['first', 'second'])
    await talk.submit(run, [approve((await talk.pending(run))[0])])
    expect(namesOf((await ground.call(['first', {}])).request)).toEqual(['first', 'second', 'third'])
    expect(namesOf((await ground.answer('done')).request)).toEqual(['second'])
    expect(await talk.settled(run)).toMatchObject({ status: 'COMPLETED' })
    expect(ran.map(([name]) => name)).toEqual(['first', 'second', 'first'])
  })

  test('[RUL15] the output of a tool decides which tool may follow', async () => {
    const rule = { kind: 'CONDITIONAL', tool: 'first', outputMapping: { true: 'second', '5': 'third' } }
    const agent = await agentWith([{ ...rule, requireMapping: true }])
    for (const [say, expected] of [
      ['true', ['second']],
      ['5', ['third']],
      ['else', []],
    ] as const) {
      const run = await talk.start(agent, 'go')
      await ground.call(['first', { say }])
      expect(namesOf((await ground.answer('done')).request)).toEqual(expected)
      await talk.settled(run)
    }
  })
})

describe('when a run may end', () => {
  test('[RUL16] an answer while a required tool is uncalled keeps the run going with a message to the model', async () => {
    const agent = await agentWith([{ kind: 'REQUIRED_BEFORE_EXIT', tool: 'third' }])
    const run = await talk.start(agent, 'go')
    await ground.answer('I am done')
    const second = await ground.call(['third', {}])
    expect(second.request.messages.at(-1)).toEqual({
      role: 'system',
      text: 'The turn cannot end yet: third must be called first.',
    })
    expect(second.request.toolChoice).toBe('required')
    const third = await ground.answer('now I am')
    expect(third.request.toolChoice).toBe('auto')
    expect(await talk.settled(run)).toMatchObject({ status: 'COMPLETED', stopReason: 'END_TURN', answer: 'now I am' })
    expect((await talk.messages(run)).map((message) => message.__typename)).toEqual([
      'UserMessage',
      'AssistantMessage',
      'SystemMessage',
      'ToolCallMessage',
      'ToolReturnMessage',
      'AssistantMessage',
    ])
  })

  test('[RUL16] a model that never calls it is stopped by the step limit', async () => {
    const agent = await agentWith([{ kind: 'REQUIRED_BEFORE_EXIT', tool: 'third' }])
    const run = await talk.start(agent, 'go', { maxSteps: 2 })
    await ground.answer('done')
    await ground.answer('really')
    expect(await talk.settled(run)).toMatchObject({ status: 'COMPLETED', stopReason: 'MAX_STEPS' })
    expect((await talk.messages(run)).map((message) => message.__typename)).toEqual([
      'UserMessage',
      'AssistantMessage',
      'SystemMessage',
      'AssistantMessage',
    ])
  })

  test('[RUL17] a terminal tool ends the run, but not before every required one has been called', async () => {
    const agent = await agentWith([
      { kind: 'TERMINAL', tool: 'first' },
      { kind: 'REQUIRED_BEFORE_EXIT', tool: 'second' },
    ])
    const run = await talk.start(agent, 'go')
    await ground.call(['first', {}])
    await ground.call(['second', {}])
    await ground.call(['first', {}])
    expect(await talk.settled(run)).toMatchObject({ status: 'COMPLETED', stopReason: 'TOOL_RULE' })
    expect(ran.map(([name]) => name)).toEqual(['first', 'second', 'first'])
  })

  test('[RUL17] a terminal call that is refused ends nothing', async () => {
    const agent = await agentWith([{ kind: 'TERMINAL', tool: 'first' }])
    const run = await talk.start(agent, 'go')
    await ground.call(['first', { count: 'x' }])
    await ground.call(['first', {}])
    expect(await talk.settled(run)).toMatchObject({ stopReason: 'TOOL_RULE', usage: { steps: 2 } })
  })
})

describe('prefilled arguments', () => {
  const rules = [
    { kind: 'RUN_FIRST', tool: 'first', prefilledArguments: { count: 7 } },
    { kind: 'CHILDREN', tool: 'first', children: ['second'], prefilledArguments: { say: 'fixed' } },
  ]

  test('[RUL18] they override the model’s, are visible in the call, and end with their rule', async () => {
    const agent = await agentWith(rules)
    const run = await talk.start(agent, 'go')
    await ground.call(['first', { count: 1, say: 'mine' }])
    await ground.call(['second', '{"say": "other", "count": 2}'])
    await ground.call(['second', { say: 'free' }])
    await ground.answer('done')
    const { steps } = await talk.settled(run)
    expect(steps[0].toolCalls[0].arguments).toEqual({ count: 7, say: 'mine' })
    expect(ran).toEqual([
      ['first', { count: 7, say: 'mine' }],
      ['second', { say: 'fixed', count: 2 }],
      ['second', { say: 'free' }],
    ])
  })

  test('[RUL18] whoever approves a call cannot edit them away', async () => {
    const waiting = ['first', 'second'].map((tool) => ({ kind: 'REQUIRES_APPROVAL', tool }))
    const agent = await agentWith([...rules, ...waiting])
    const run = await talk.start(agent, 'go')
    await ground.call(['first', {}])
    const [call] = await talk.pending(run)
    expect(call.arguments).toEqual({ count: 7 })
    expect(await talk.submit(run, [approve(call, { arguments: { count: 8 } })])).toMatchObject({
      __typename: 'InvalidArgumentsRefusal',
      problems: [{ path: '/count', message: 'is fixed by a tool rule to 7' }],
    })
    await talk.submit(run, [approve(call, { arguments: { count: 7, say: 'edited' } })])
    await ground.call(['second', { say: 'other' }])
    await talk.submit(run, [approve((await talk.pending(run))[0])])
    await ground.answer('done')
    await talk.settled(run)
    expect(ran).toEqual([
      ['first', { count: 7, say: 'edited' }],
      ['second', { say: 'fixed' }],
    ])
  })

  test('[RUL19] if they do not fit, the call returns an error and the run fails with INVALID_TOOL_CALL', async () => {
    const agent = await agentWith([{ kind: 'RUN_FIRST', tool: 'first', prefilledArguments: { count: 'seven' } }])
    const run = await talk.start(agent, 'go')
    await ground.call(['first', {}])
    const text = "The arguments that a tool rule fixes for first don't fit its parameters: /count must be integer."
    expect(await talk.settled(run)).toMatchObject({
      status: 'FAILED',
      stopReason: 'INVALID_TOOL_CALL',
      error: { message: text },
      steps: [{ toolCalls: [{ status: 'FAILED', result: { output: text } }] }],
    })
    expect(ran).toEqual([])
    await ground.app.data('mutation ($input: UpdateAgentInput!) { updateAgent(input: $input) { agent { id } } }', {
      input: { id: agent, toolRules: [] },
    })
    await ground.expectUsable(agent)
  })
})

test('[RUL9] rules that form a circle are refused when they are set, with the place', async () => {
  const circle = [
    { kind: 'CHILDREN', tool: 'first', children: ['second'] },
    { kind: 'CHILDREN', tool: 'second', children: ['first'] },
  ]
  const create = 'mutation ($input: CreateAgentInput!) { createAgent(input: $input) { agent { id } } }'
  const toolIds = await Promise.all(['first', 'second'].map((name) => talk.toolId(name)))
  const { errors } = await ground.app.request(create, {
    input: { name: 'a', model: 'test/gated', tools: toolIds.map((toolId) => ({ toolId })), toolRules: circle },
  })
  expect(errors![0]).toMatchObject({
    message: expect.stringContaining('The rules lead in a circle'),
    extensions: { code: 'BAD_USER_INPUT', field: 'input.toolRules.0.children' },
  })
})
