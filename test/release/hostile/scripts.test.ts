import { monitorEventLoopDelay } from 'node:perf_hooks'

import { afterAll, expect, test } from 'vitest'

import { Sandbox } from '../../../src/tools/sandbox/sandbox.ts'
import type { ScriptOutcome } from '../../../src/tools/sandbox/script.ts'
import { Toolbox, type ToolboxOptions } from '../../../src/tools/toolbox.ts'

const sandbox = new Sandbox()
afterAll(() => sandbox.close())

function run(
  source: string,
  { args = {}, limitMs = 5_000, tenantId = 'one' }: { args?: object; limitMs?: number; tenantId?: string } = {},
): Promise<ScriptOutcome> {
  const job = { source, argumentsText: JSON.stringify(args), limitMs, charLimit: 10_000 }
  return sandbox.run(job, { tenantId, signal: new AbortController().signal })
}

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

test(
  '[JST6] hostile scripts harm neither the process nor others, whatever they try',
  { timeout: 180_000 },
  async () => {
    expect(hostile.length).toBeGreaterThanOrEqual(20)
    const delay = monitorEventLoopDelay({ resolution: 10 })
    delay.enable()
    let over = false as boolean
    /** Another tenant, which keeps working all the time. */
    const neighbour = (async () => {
      let calls = 0
      for (; !over; calls += 1) {
        const outcome = await run('export default ({ n }) => n * 2', { args: { n: calls }, tenantId: 'two' })
        expect(outcome).toMatchObject({ ok: true, output: String(calls * 2) })
      }
      return calls
    })()
    // Threads of scripts have a low priority. On a busy machine, one that ends by itself may take long to do so.
    const limitOf = (expected: RegExp): number => (expected.source === 'in time' ? 300 : 120_000)
    const outcomes = await Promise.all(
      hostile.map(([, source, expected]) => run(source, { limitMs: limitOf(expected) })),
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
  },
)

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
