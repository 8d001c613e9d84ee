import type { Worker } from 'node:worker_threads'

import { afterAll, describe, expect, test } from 'vitest'

import { Sandbox } from '../../src/tools/sandbox/sandbox.ts'
import { runScript, type ScriptOutcome } from '../../src/tools/sandbox/script.ts'

const sandbox = new Sandbox()
afterAll(() => sandbox.close())

function run(
  source: string,
  args: unknown = {},
  given: { readonly limitMs?: number; readonly tenantId?: string; readonly signal?: AbortSignal } = {},
): Promise<ScriptOutcome> {
  const { limitMs = 5_000, tenantId = 'one', signal = new AbortController().signal } = given
  return sandbox.run({ source, argumentsText: JSON.stringify(args), limitMs, charLimit: 10_000 }, { tenantId, signal })
}

describe('a script', () => {
  test('[JST1] gets its arguments and returns a string as it is, anything else as JSON', async () => {
    const outputs = await Promise.all([
      run('export default ({ name }) => `hello ${name}`', { name: 'Ada' }),
      run('export default (args) => ({ ...args, list: [1, null] })', { x: 1 }),
      run('export default () => undefined'),
      run('export default () => 1.5'),
      run('const f = () => "a function declared before"; export { f as default }'),
    ])
    expect(outputs.map(({ output }) => output)).toEqual([
      'hello Ada',
      '{"x":1,"list":[1,null]}',
      'null',
      '1.5',
      'a function declared before',
    ])
  })

  test('[JST2] may be async, await at its top, and use generators', async () => {
    const source = `const base = await Promise.resolve(40)
      async function* count() { yield 1; await null; yield 1 }
      export default async () => { let sum = base; for await (const n of count()) sum += n; return sum }`
    expect(await run(source)).toMatchObject({ ok: true, output: '42' })
  })

  test('[JST3] writes its console to stdout and stderr', async () => {
    const source = `export default () => {
      console.log('a', 1, { b: [2] }); console.info('i'); console.warn('w'); console.error(new TypeError('e'))
      return 'done' }`
    expect(await run(source)).toEqual({
      ok: true,
      output: 'done',
      isContent: false,
      stdout: ['a 1 {"b":[2]}', 'i'],
      stderr: ['w', 'TypeError: e'],
      printedMore: false,
      late: false,
      clean: true,
    })
  })

  test('[JST4] that throws is an error with its message, and keeps what it wrote', async () => {
    expect(await run('export default () => { console.log("before"); throw new Error("boom") }')).toMatchObject({
      ok: false,
      output: 'boom',
      stdout: ['before'],
    })
    expect(await run('export default async () => { await null; null.x }')).toMatchObject({
      ok: false,
      output: expect.stringMatching(/^TypeError: /),
    })
    expect(await run('export default () => { throw "a string" }')).toMatchObject({ ok: false, output: 'a string' })
  })

  test('[JST11] may return, print and throw NUL: nothing after it is lost', async () => {
    const source = `export default ({ how }) => {
      console.log('a\\0b')
      if (how === 'throw') throw new RangeError('c\\0d')
      return how === 'string' ? 'c\\0d' : { c: '\\0d' } }`
    const outcomes = await Promise.all(['string', 'object', 'throw'].map((how) => run(source, { how })))
    expect(outcomes.map(({ output }) => output)).toEqual(['c\0d', '{"c":"\\u0000d"}', 'RangeError: c\0d'])
    for (const { stdout } of outcomes) expect(stdout).toEqual(['a\0b'])
  })

  test('[JST5] cannot leave anything behind for the next', async () => {
    await run('globalThis.left = 1; Object.prototype.left = 1; JSON.parse = () => 1; export default () => 1')
    const next = await run('export default (a) => `${typeof left} ${typeof {}.left} ${a.x}`', { x: 2 })
    expect(next.output).toBe('undefined undefined 2')
  })
})

test('[JST7] a script without end is killed when its call is cancelled, also inside the engine, and its thread is free for the next', async () => {
  const controller = new AbortController()
  const running = Array.from({ length: 6 }, () =>
    run('export default () => { for (;;); }', {}, { limitMs: 60_000, signal: controller.signal }),
  )
  const settled = Promise.allSettled(running)
  await new Promise((resolve) => setTimeout(resolve, 100))
  controller.abort(new Error('cancelled'))
  expect((await settled).map((result) => result.status)).toEqual(Array(6).fill('rejected'))
  expect(await run('export default () => 1')).toMatchObject({ output: '1' })
})
test('[JST8] a tenant that keeps all its threads busy does not delay other tenants', async () => {
  const controller = new AbortController()
  const busy = Promise.allSettled(
    Array.from({ length: 20 }, () =>
      run('export default () => { for (;;); }', {}, { limitMs: 60_000, signal: controller.signal }),
    ),
  )
  expect(await run('export default () => 1', {}, { tenantId: 'two' })).toMatchObject({ output: '1' })
  controller.abort(new Error('enough'))
  await busy
})

test('[JST12] of the threads that are no longer needed, two are kept', async () => {
  const alive = new Set<Worker>()
  const started = (worker: Worker): void => {
    alive.add(worker)
    worker.once('exit', () => alive.delete(worker))
  }
  process.on('worker', started)
  const own = new Sandbox()
  try {
    const job = { source: 'export default () => 1', argumentsText: '{}', limitMs: 60_000, charLimit: 100 }
    const { signal } = new AbortController()
    await Promise.all(Array.from({ length: 4 }, () => own.run(job, { tenantId: 'one', signal })))
    await expect.poll(() => alive.size).toBe(2)
  } finally {
    process.off('worker', started)
    await own.close()
  }
})

test('[JST9] source that cannot be called is reported with the place of the fault', async () => {
  const load = (source: string) =>
    sandbox.run(
      { source, argumentsText: null, limitMs: 1_000, charLimit: 1_000 },
      { tenantId: 'one', signal: new AbortController().signal },
    )
  expect(await load('export default () => 1\n')).toMatchObject({ ok: true })
  expect(await load('const a = 1\nexport default ( => a')).toMatchObject({
    ok: false,
    output: expect.stringMatching(/^SyntaxError: .*\(line 2, column \d+\)$/),
  })
  expect(await load('export const tool = () => 1')).toMatchObject({
    ok: false,
    output: 'The module has no default export that is a function.',
  })
})

test('[JST80] work is limited by interrupts, which do not depend on how busy the machine is', async () => {
  const load = (iterations: number, maxInterrupts: number) =>
    runScript({
      source: `for (let n = 0; n < ${iterations}; n++); export default () => 1`,
      ...{ argumentsText: null, limitMs: 600_000, charLimit: 100, maxInterrupts },
    })
  // Measured: the engine interrupts this loop 201 times, on every machine.
  expect(await load(1_000_000, 202)).toMatchObject({ ok: true })
  expect(await load(1_000_000, 200)).toMatchObject({ late: true, output: 'It did not finish in time.' })
  expect(await load(Infinity, 200)).toMatchObject({ late: true, output: 'It did not finish in time.' })
})

test('[JST10] [JST12] when the sandbox closes, running and waiting scripts end with an error that says so', async () => {
  const job = { source: 'export default () => { for (;;); }', argumentsText: '{}', limitMs: 60_000, charLimit: 100 }
  const { signal } = new AbortController()
  const reasonsOf = async (tenants: readonly string[]): Promise<unknown[]> => {
    const closing = new Sandbox()
    const results = Promise.allSettled(tenants.map((tenantId) => closing.run(job, { tenantId, signal })))
    await closing.close()
    return (await results).map((result) => result.status === 'rejected' && String(result.reason))
  }
  const running = 'Error: The sandbox broke down.'
  const waiting = 'Error: The server is stopping.'
  // A tenant has at most four threads, and all tenants together have at most eight.
  expect(await reasonsOf(Array(6).fill('one'))).toEqual([...Array(4).fill(running), ...Array(2).fill(waiting)])
  const three = ['one', 'two', 'three'].flatMap((tenant) => Array<string>(4).fill(tenant))
  expect(await reasonsOf(three)).toEqual([...Array(8).fill(running), ...Array(4).fill(waiting)])
})
