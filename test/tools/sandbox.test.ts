import { monitorEventLoopDelay } from 'node:perf_hooks'

import { afterAll, describe, expect, test } from 'vitest'

import { Sandbox } from '../../src/tools/sandbox/sandbox.ts'
import { runScript, type ScriptOutcome } from '../../src/tools/sandbox/script.ts'
import { Toolbox, type ToolboxOptions } from '../../src/tools/toolbox.ts'

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

/** What each script tries, and what must happen. */
const hostile: readonly (readonly [what: string, source: string, expected: RegExp])[] = [
  ['an endless loop', 'export default () => { for (;;); }', /in time/],
  ['an endless loop at the top', 'for (;;); export default () => 1', /in time/],
  ['a loop that catches everything', 'export default () => { for (;;) try { for (;;); } catch {} }', /in time/],
  ['an endless chain of promises', 'export default async () => { for (;;) await null }', /in time/],
  ['promises that make promises', 'const f = () => Promise.resolve().then(f); export default f', /in time/],
  ['a promise that never settles', 'export default () => new Promise(() => {})', /never settles/],
  ['a regular expression bomb', 'export default () => /^(a+)+$/.test("a".repeat(40) + "!")', /in time/],
  ['arrays without end', 'export default () => { const a = []; for (;;) a.push(new Array(1e5).fill(7)) }', /64 MB/],
  ['buffers without end', 'export default () => { const a = []; for (;;) a.push(new Uint8Array(1e6)) }', /64 MB/],
  ['one huge buffer', 'export default () => new ArrayBuffer(4e9).byteLength', /64 MB|length/],
  ['a string that doubles', 'export default () => { let s = "x"; for (;;) s += s }', /too long|64 MB/],
  ['a huge result', 'export default () => "x".repeat(2e7)', /^x{10001}$/],
  [
    'a flood of output',
    'export default () => { for (let i = 0; i < 2e4; i++) console.log("y".repeat(99)); return 1 }',
    /^1$/,
  ],
  ['recursion without end', 'const f = (n) => f(n + 1) + 1; export default () => f(0)', /stack/],
  ['recursion through JSON', 'export default () => JSON.parse("[".repeat(1e6))', /stack|unexpected/i],
  [
    'recursion through getters',
    'export default () => { const o = {}; Object.defineProperty(o, "x", { get() { return this.x } }); return o.x }',
    /stack/,
  ],
  [
    'prototype pollution',
    'Object.prototype.then = (f) => f(1); Array.prototype.map = null; String.prototype.toString = null; export default () => ({ a: 1 })',
    /./,
  ],
  ['the function constructor', 'export default () => (function () {}).constructor("return process")()', /process/],
  [
    'the constructor of the console',
    'export default () => console.log.constructor.constructor("return globalThis.process.mainModule.require(`fs`)")()',
    /undefined|not/,
  ],
  ['an import', 'import fs from "node:fs"; export default () => fs', /could not load module/],
  [
    'a dynamic import',
    'export default async () => String(await import("node:child_process"))',
    /could not load module/,
  ],
  [
    'require, fetch, timers and files',
    'export default () => [typeof require, typeof fetch, typeof setTimeout, typeof process, typeof std, typeof os, typeof WebAssembly, typeof Worker].join()',
    /^(undefined,?){8}$/,
  ],
  [
    'an error that fights being read',
    'export default () => { throw { get message() { for (;;); }, get name() { throw 1 }, toJSON() { throw 2 } } }',
    /./,
  ],
  ['a proxy as a result', 'export default () => new Proxy({}, { get() { return () => { for (;;); } } })', /in time/],
  ['a call stack in a sort', 'export default () => [3, 1, 2].sort(function f() { return f() })', /stack/],
]

describe('a hostile script', () => {
  test('[JST6] harms neither the process nor others, whatever it tries', { timeout: 180_000 }, async () => {
    expect(hostile.length).toBeGreaterThanOrEqual(20)
    const delay = monitorEventLoopDelay({ resolution: 10 })
    delay.enable()
    let over = false as boolean
    /** Another tenant, which keeps working all the time. */
    const neighbour = (async () => {
      let calls = 0
      for (; !over; calls += 1) {
        const outcome = await run('export default ({ n }) => n * 2', { n: calls }, { tenantId: 'two' })
        expect(outcome).toMatchObject({ ok: true, output: String(calls * 2) })
      }
      return calls
    })()
    // Threads of scripts have a low priority. On a busy machine, one that ends by itself may take long to do so.
    const limitOf = (expected: RegExp): number => (expected.source === 'in time' ? 300 : 120_000)
    const outcomes = await Promise.all(
      hostile.map(([, source, expected]) => run(source, {}, { limitMs: limitOf(expected) })),
    )
    over = true
    expect(await neighbour).toBeGreaterThan(10)
    delay.disable()

    for (const [index, [what, , expected]] of hostile.entries()) {
      expect({ what, output: outcomes[index]!.output }).toEqual({ what, output: expect.stringMatching(expected) })
      const printed = [...outcomes[index]!.stdout, ...outcomes[index]!.stderr].join('\n')
      expect(printed.length).toBeLessThanOrEqual(20_000)
    }
    expect(delay.max / 1e6).toBeLessThan(1_000)
    expect(await run('export default () => ({}).then === undefined && [].map !== null')).toMatchObject({
      output: 'true',
    })
  })

  test('[JST7] is killed when its call is cancelled, also inside the engine, and its thread is free for the next', async () => {
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

test('[JST80] a source is checked for as long as its work takes, however busy the machine is', async () => {
  const toolbox = new Toolbox({ network: { close() {} } } as unknown as ToolboxOptions)
  try {
    // About a second of work, and many seconds on a busy machine.
    const fault = await toolbox.faultOfJavaScript('for (let n = 0; n < 2e7; n++); export default () => 1', 'one')
    expect(fault).toBeUndefined()
    expect(await toolbox.faultOfJavaScript('for (;;); export default () => 1', 'one')).toBe(
      'It did not finish in time.',
    )
  } finally {
    await toolbox.close()
  }
}, 120_000)

test('[JST10] when the sandbox closes, running and waiting scripts end with an error that says so', async () => {
  const closing = new Sandbox()
  const job = { source: 'export default () => { for (;;); }', argumentsText: '{}', limitMs: 60_000, charLimit: 100 }
  const { signal } = new AbortController()
  const results = Promise.allSettled(Array.from({ length: 6 }, () => closing.run(job, { tenantId: 'one', signal })))
  await closing.close()
  const reasons = (await results).map((result) => result.status === 'rejected' && String(result.reason))
  expect(reasons.filter((reason) => reason === 'Error: The sandbox broke down.')).toHaveLength(4)
  expect(reasons.filter((reason) => reason === 'Error: The server is stopping.')).toHaveLength(2)
})
