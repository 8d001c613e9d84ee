import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'

import { afterAll, afterEach, describe, expect, test } from 'vitest'
import { z } from 'zod'

import { loadTools } from '../../src/tools/load-tools.ts'
import { defineTool, type ToolContext } from '../../src/tools/registry.ts'
import { startGround } from '../approvals/ground.ts'
import { makeTemporaryFolder } from '../support/temporary-folder.ts'

const fixtures = fileURLToPath(new URL('./fixtures', import.meta.url))
const events: string[] = []
const gates = new Map<string, ReturnType<typeof Promise.withResolvers<void>>>()
const gated = (name: string, parallel: boolean) =>
  defineTool({
    name,
    description: '',
    parameters: z.object({ id: z.string() }),
    parallel,
    async run({ id }) {
      events.push(`start ${id}`)
      await gates.get(id)!.promise
      events.push(`end ${id}`)
      return id
    },
  })

/** What a tool may return or throw by mistake, and what its result says. */
const mistakes: Readonly<Record<string, { readonly run: () => unknown; readonly says: RegExp }>> = {
  returns_a_function: { run: () => () => 1, says: /^The tool returned a function, which is not JSON\.$/ },
  returns_a_symbol: { run: () => Symbol('x'), says: /^The tool returned a symbol, which is not JSON\.$/ },
  returns_a_bigint: { run: () => 5n, says: /BigInt/ },
  throws_what_cannot_be_read: {
    run: () => Promise.reject(unreadable()),
    says: /^Something was thrown that has no text\.$/,
  },
}

function unreadable(): Error {
  const get = (): never => {
    throw new Error('It cannot be read.')
  }
  return Object.defineProperties(new Error('x'), { message: { get }, stack: { get } })
}

let lastContext: ToolContext | undefined
const ground = await startGround({
  env: { HOLDPOINT_TOOLS: fixtures, HOLDPOINT_TOOL_GRACE_MS: '100' },
  tools: [
    gated('together', true),
    gated('alone', false),
    ...Object.entries(mistakes).map(([name, { run }]) =>
      defineTool({ name, description: '', parameters: { type: 'object' }, run }),
    ),
    defineTool({
      name: 'greeter',
      description: '',
      parameters: {
        type: 'object',
        properties: {
          name: { type: 'string', default: 'world' },
          times: { type: 'integer', default: 5 },
          people: { type: 'array', items: { type: 'object', properties: { title: { default: 'Dr.' } } } },
        },
        required: ['name'],
      },
      approvalCondition: { properties: { times: { minimum: 3 } }, required: ['times'] },
      run: (args) => args,
    }),
    defineTool({
      name: 'stuck',
      description: '',
      parameters: { type: 'object' },
      timeoutMs: 50,
      run: () => Promise.withResolvers<void>().promise,
    }),
    defineTool({
      name: 'long_text',
      description: '',
      parameters: { type: 'object' },
      run: (_args, context) => {
        lastContext = context
        return 'x'.repeat(45_000)
      },
    }),
  ],
})
const talk = ground.talk
afterEach(() => ground.check())
afterAll(() => ground.app.stop())

const upsert = 'mutation ($input: UpsertToolInput!) { upsertTool(input: $input) { tool { id } } }'

async function callOne(name: string, args: unknown, agentOptions: object = {}) {
  const agent = await talk.createAgent({ tools: [name], ...agentOptions })
  const runId = await talk.start(agent, 'go')
  await ground.call([name, args])
  const next = await ground.answer('done')
  const run = await talk.settled(runId)
  return { run, agent, next, call: run.steps[0].toolCalls[0] }
}

describe('execution', () => {
  test('[EXE1] parallel calls run together, the others in order after them, and the returns come in call order', async () => {
    for (const id of ['a', 'b', 'c', 'd']) gates.set(id, Promise.withResolvers<void>())
    const agent = await talk.createAgent({ tools: ['together', 'alone'] })
    const runId = await talk.start(agent, 'go')
    await ground.call(
      ['alone', { id: 'a' }],
      ['together', { id: 'b' }],
      ['alone', { id: 'c' }],
      ['together', { id: 'd' }],
    )
    await expect.poll(() => events).toEqual(['start b', 'start d'])
    gates.get('d')!.resolve()
    gates.get('b')!.resolve()
    await expect.poll(() => events.at(-1)).toBe('start a')
    gates.get('a')!.resolve()
    await expect.poll(() => events.at(-1)).toBe('start c')
    gates.get('c')!.resolve()
    const next = await ground.answer('done')
    const returned = next.request.messages.at(-1)
    expect(returned?.role === 'tool' && returned.returns.map(({ output }) => output)).toEqual(['a', 'b', 'c', 'd'])
    const run = await talk.settled(runId)
    const times = await ground.app.data(
      'query ($id: ID!) { run(id: $id) { steps { toolCalls { startedAt finishedAt result { durationMs } } } } }',
      { id: run.id },
    )
    for (const call of times.run.steps[0].toolCalls) {
      expect(Date.parse(call.finishedAt)).toBeGreaterThanOrEqual(Date.parse(call.startedAt))
      expect(call.result.durationMs).toBeGreaterThan(0)
    }
  })

  test('[EXE2] a tool that takes too long is stopped and returns an error, and the run continues', async () => {
    expect((await callOne('stuck', {})).call).toMatchObject({
      status: 'FAILED',
      result: { output: 'stuck did not finish within 50 ms.' },
    })
  })

  test('[EXE3] a return is stored whole, and cut to a fifth of the window for the model', async () => {
    const { call, next, agent } = await callOne('long_text', {}, { modelSettings: { contextWindow: 10_000 } })
    expect(call.result).toMatchObject({ truncated: false, output: 'x'.repeat(45_000) })
    const returned = next.request.messages.at(-1)
    const shown = returned?.role === 'tool' ? returned.returns[0]!.output : ''
    expect(shown).toBe(`${'x'.repeat(8_000)}\n[cut after 8000 characters]`)
    expect(lastContext).toMatchObject({
      agentId: agent,
      idempotencyKey: call.id,
      runId: expect.stringMatching(/^run_/),
    })
  })

  test('[EXE4] a JavaScript tool runs in the sandbox, with its own output, limits and errors', async () => {
    const tool = (source: string, more: object = {}) =>
      ground.app.request(upsert, {
        input: { name: 'script', parameters: { type: 'object' }, implementation: { javascript: { source } }, ...more },
      })
    await tool(
      'export default async ({ n }) => { console.log("seen", n); if (n > 2) throw new Error("too many"); return { n } }',
    )
    expect((await callOne('script', { n: 2 })).call).toMatchObject({
      status: 'SUCCEEDED',
      result: { output: '{"n":2}', stdout: ['seen 2'], stderr: [] },
    })
    expect((await callOne('script', { n: 3 })).call).toMatchObject({
      status: 'FAILED',
      result: { status: 'ERROR', output: 'too many', stdout: ['seen 3'] },
    })
    await tool('export default () => { for (;;); }', { timeoutMs: 100 })
    expect((await callOne('script', {})).call.result.output).toBe('script did not finish within 100 ms.')
    await tool('export default () => "y".repeat(500)', { returnCharLimit: 10 })
    expect((await callOne('script', {})).call.result).toMatchObject({
      truncated: true,
      output: `${'y'.repeat(10)}\n[cut after 10 characters]`,
    })
    await tool('export default () => { for (let n = 0; n < 50; n++) console.log("line"); return 1 }', {
      returnCharLimit: 100,
    })
    const { result } = (await callOne('script', {})).call
    expect(result).toMatchObject({ status: 'SUCCESS', output: '1', truncated: true })
    expect(result.stdout.length).toBeLessThan(50)

    const { errors } = await tool('export default (\n) =>')
    expect(errors![0]).toMatchObject({
      message: expect.stringMatching(/SyntaxError: .*\(line 2, column \d+\)/),
      extensions: { code: 'BAD_USER_INPUT', field: 'input.implementation.javascript.source' },
    })
    expect((await tool('export const x = 1')).errors![0]!.message).toMatch(/no default export that is a function/)
  })

  test.each(Object.entries(mistakes))('[EXE6] the result of a tool that %s is an error', async (name, { says }) => {
    const { run, call } = await callOne(name, {})
    expect(run.attempts).toBe(1)
    expect(call.result).toMatchObject({ status: 'ERROR', output: expect.stringMatching(says) })
  })

  test('[EXE5] a JavaScript tool is killed when its run is cancelled', async () => {
    await ground.app.data(upsert, {
      input: { name: 'endless', implementation: { javascript: { source: 'export default () => { for (;;); }' } } },
    })
    const agent = await talk.createAgent({ tools: ['endless'] })
    const runId = await talk.start(agent, 'go')
    const watch = talk.watch(runId)
    await ground.call(['endless', {}])
    await watch.until((line) => line === 'ToolCallChanged endless RUNNING')
    expect(await talk.cancel({ runId })).toMatchObject({ run: { status: 'CANCELLED' } })
    await watch.ended
    expect((await talk.run(runId)).steps[0].toolCalls[0]).toMatchObject({ status: 'CANCELLED' })
    await ground.expectUsable(agent)
  })
})

describe('tools in code', () => {
  test('[COD1] are loaded from the configured folder, with their settings', async () => {
    const { tools } = await ground.app.data(
      '{ tools(first: 50) { nodes { name kind parallel requiresApproval timeoutMs parameters } } }',
    )
    const named = (name: string) => tools.nodes.find((tool: any) => tool.name === name)
    expect(named('weather')).toMatchObject({
      kind: 'BUILTIN',
      parallel: true,
      timeoutMs: 1_000,
      parameters: {
        type: 'object',
        required: ['city'],
        properties: { days: { type: 'integer', maximum: 7, description: 'How many days ahead.' } },
      },
    })
    expect(named('shout')).toMatchObject({ requiresApproval: true, timeoutMs: 60_000 })
  })

  test('[COD2] a Standard Schema checks the arguments, and the function gets the parsed value', async () => {
    expect((await callOne('weather', { city: ' Ulm ' })).call.result.output).toBe(
      '{"city":"Ulm","days":1,"sky":"grey"}',
    )
    expect((await callOne('weather', { city: 'Ulm', days: 8 })).call.result.output).toMatch(/\/days must be <= 7/)
    // The schema itself checks what JSON Schema cannot express.
    expect((await callOne('weather', { city: '  ' })).call.result.output).toMatch(/^The arguments don't fit: \/city /)
  })

  test('[COD3] a tool that cannot be loaded or registered stops the start with one line', async () => {
    const folder = await makeTemporaryFolder()
    const module = async (text: string) => {
      const file = join(folder, `${Math.random()}.mjs`)
      await writeFile(file, text)
      return file
    }
    const refused = (given: unknown, path?: string) => expect(loadTools(given, path)).rejects.toThrow
    await refused([], join(folder, 'nothing'))(/neither a module nor a folder/)
    await refused([], await module('const a = 1'))(/exports no tool/)
    await refused([], await module('throw new Error("boom")'))(/cannot be loaded: boom/)
    const tool = { name: 'a', description: '', parameters: { type: 'object' }, run: () => 1 }
    await refused([tool, tool])(/two tools named a/)
    await refused([{ ...tool, name: 'a b' }])(/not a tool name/)
    await refused([{ ...tool, name: 'memory_insert' }])(/two tools named memory_insert.* one of the server/)
    await refused([{ ...tool, parameters: { type: 'objekt' } }])(/not a valid JSON Schema/)
    await refused([{ ...tool, parameters: {} }])(/"type": "object"/)
  })
})

test('[CNT5] defaults of the schema are filled in before a call is checked, approved and run', async () => {
  const agent = await talk.createAgent({ tools: ['greeter'] })
  const runId = await talk.start(agent, 'go')
  await ground.call(['greeter', { people: [{ id: 1 }, { title: 'Prof.' }] }])
  const [waiting] = await talk.pending(runId)
  expect(waiting.arguments).toEqual({ people: [{ id: 1 }, { title: 'Prof.' }] })
  await talk.submit(runId, [{ approve: { toolCallId: waiting.id, arguments: { people: [{}] } } }])
  await ground.call(['greeter', { times: 1 }])
  await ground.answer('done')
  const { steps } = await talk.settled(runId)
  expect(steps.slice(0, 2).map((step: any) => JSON.parse(step.toolCalls[0].result.output))).toEqual([
    { name: 'world', times: 5, people: [{ title: 'Dr.' }] },
    { name: 'world', times: 1 },
  ])
})
