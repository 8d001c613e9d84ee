import { readFile } from 'node:fs/promises'
import { createRequire } from 'node:module'

import variant from '@jitl/quickjs-ng-wasmfile-release-sync'
import {
  newQuickJSWASMModuleFromVariant,
  newVariant,
  Scope,
  type QuickJSContext,
  type QuickJSHandle,
  type QuickJSRuntime,
  type QuickJSSyncVariant,
  type VmCallResult,
} from 'quickjs-emscripten-core'

import { errorMessage } from '../../util/error-message.ts'
import { parseJson, textIn } from '../../util/json.ts'

/** A call of a tool's function, or a check of its source. Only text and numbers, because it is sent to a thread. */
export interface ScriptJob {
  readonly source: string
  /** The arguments as JSON. Null means: only load the module and check that it has a function to call. */
  readonly argumentsText: string | null
  /** A limit of time, however busy the machine is. */
  readonly limitMs: number
  /**
   * How often the engine may interrupt the script: a limit of work, which does not depend on how busy the machine is.
   * A script on an idle machine is interrupted about 4,000 times per second. Defaults to no limit.
   */
  readonly maxInterrupts?: number
  /** Longer outputs are cut. */
  readonly charLimit: number
  /**
   * The longest result with images or documents, in characters of JSON. A longer one is cut like any other. Defaults to
   * 0.
   */
  readonly contentLimit?: number
}

export interface ScriptOutcome {
  readonly ok: boolean
  /** The returned text, or the reason why there is none. */
  readonly output: string
  /** Whether the output is the JSON of content: text, images and documents. */
  readonly isContent: boolean
  readonly stdout: readonly string[]
  readonly stderr: readonly string[]
  /** Whether more was printed than is kept. */
  readonly printedMore: boolean
  /** Whether the script was stopped because its time was up. */
  readonly late: boolean
  /** False if the engine may be damaged. Then its thread is not used again. */
  readonly clean: boolean
}

const pageBytes = 64 * 1024
/** The minimum that the engine needs in order to start. */
const initialPages = 256
/** A hard limit on memory. The engine's own limit is lower but can be exceeded. */
const maxPages = 1024
const memoryLimitBytes = (maxPages - initialPages) * pageBytes
/** With a larger stack, recursion in a script overflows the stack of the thread. */
const stackBytes = 128 * 1024
const maxMegabytes = (maxPages * pageBytes) / 1024 ** 2
const jobsPerTurn = 1_000

/** One engine per thread, because its memory is freed only when the thread ends. */
export const engine = readFile(createRequire(import.meta.url).resolve('@jitl/quickjs-ng-wasmfile-release-sync/wasm'))
  .then((bytes) => WebAssembly.compile(bytes))
  .then((wasmModule) => {
    const wasmMemory = new WebAssembly.Memory({ initial: initialPages, maximum: maxPages })
    return newQuickJSWASMModuleFromVariant(
      newVariant(variant as unknown as QuickJSSyncVariant, { wasmModule, wasmMemory }),
    )
  })

/** Runs a script with its own globals. Never throws. */
export async function runScript(job: ScriptJob): Promise<ScriptOutcome> {
  const printed = new Printed(job.charLimit)
  const runtime = (await engine).newRuntime()
  const budget = new Budget(job)
  runtime.setMemoryLimit(memoryLimitBytes)
  runtime.setMaxStackSize(stackBytes)
  runtime.setInterruptHandler(() => budget.interrupt())
  const outcome = attempt(runtime, job, printed, budget)
  return { ...outcome, ...printed.lines, clean: outcome.clean && disposes(runtime) }
}

function attempt(
  runtime: QuickJSRuntime,
  job: ScriptJob,
  printed: Printed,
  budget: Budget,
): Omit<ScriptOutcome, keyof Printed['lines']> {
  try {
    const context = runtime.newContext()
    try {
      const { output, isContent } = Scope.withScope((scope) => execute(scope, context, job, printed))
      const limit = isContent ? undefined : job.charLimit + 1
      return { ok: true, output: output.slice(0, limit), isContent, late: false, clean: true }
    } finally {
      context.dispose()
    }
  } catch (error) {
    const message = errorMessage(error)
    const failed = { ok: false, isContent: false, late: false, clean: false }
    if (budget.isSpent) return { ...failed, output: 'It did not finish in time.', late: true }
    if (/out of memory|memory access|could not allocate/i.test(message))
      return { ...failed, output: `It needs more than the ${maxMegabytes} MB that a script may have.` }
    if (error instanceof ScriptError) return { ...failed, output: message, clean: true }
    return { ...failed, output: `The script broke the sandbox that it ran in: ${message}` }
  }
}

function disposes(runtime: QuickJSRuntime): boolean {
  try {
    runtime.dispose()
    return true
  } catch {
    return false
  }
}

/** What a script may still use of its time and of its interrupts. */
class Budget {
  readonly #deadline: number
  #interruptsLeft: number

  constructor({ limitMs, maxInterrupts = Infinity }: ScriptJob) {
    this.#deadline = Date.now() + limitMs
    this.#interruptsLeft = maxInterrupts
  }

  get isSpent(): boolean {
    return this.#interruptsLeft < 0 || Date.now() >= this.#deadline
  }

  /** Returns whether to stop the script. */
  interrupt(): boolean {
    this.#interruptsLeft -= 1
    return this.isSpent
  }
}

/** What the script threw. */
class ScriptError extends Error {}

function execute(scope: Scope, context: QuickJSContext, job: ScriptJob, printed: Printed): ScriptResult {
  const { runtime } = context
  const keep = (handle: QuickJSHandle) => scope.manage(handle)
  const unwrap = (result: VmCallResult<QuickJSHandle>) => {
    if (result.error) throw thrown(context, keep(result.error))
    return keep(result.value)
  }
  const settled = (handle: QuickJSHandle) => keep(settle(runtime, context, handle))

  const print = context.newFunction('print', (stream, text) => {
    if (context.typeof(text) === 'string') printed.add(context.getNumber(stream), jsonText(context, text))
  })
  const prepare = unwrap(context.evalCode(prelude, 'prelude.js'))
  // Evaluated before the script, so that the script cannot change it.
  const limit = keep(context.newNumber(job.charLimit + 1))
  const contentLimit = keep(context.newNumber(job.contentLimit ?? 0))
  const call = unwrap(context.callFunction(prepare, context.undefined, keep(print), limit, contentLimit))

  const module = settled(unwrap(context.evalCode(job.source, 'tool.js', { type: 'module' })))
  const run = keep(context.getProp(module, 'default'))
  if (context.typeof(run) !== 'function') throw new ScriptError('The module has no default export that is a function.')
  if (job.argumentsText === null) return { output: '', isContent: false }
  const text = keep(context.newString(job.argumentsText))
  const outcome = settled(unwrap(context.callFunction(call, context.undefined, run, text)))
  const result = JSON.parse(context.getString(outcome)) as ScriptResult | { readonly error: ThrownValue }
  if ('error' in result) throw errorOf(result.error)
  return result
}

type ScriptResult = Pick<ScriptOutcome, 'output' | 'isContent'>

/** Text enters and leaves the sandbox as JSON, because a C string would end at its first NUL. */
function jsonText(context: QuickJSContext, handle: QuickJSHandle): string {
  return textIn(parseJson(context.getString(handle)))
}

/**
 * Defines `console`, and returns the function that calls the tool's function: arguments go in as JSON, and the result
 * or the error comes out as JSON. It saves the built-ins that it needs before the script can change them.
 */
const prelude = `(print, limit, contentLimit) => {
  const { parse, stringify } = JSON
  const { map, join } = Array.prototype
  const { isArray } = Array
  const { call } = Function.prototype
  const slice = call.bind(String.prototype.slice)
  const toText = String
  const show = (value) => {
    if (typeof value === 'string') return value
    try {
      return value instanceof Error ? toText(value) : (stringify(value) ?? toText(value))
    } catch {
      return '[object]'
    }
  }
  const cut = (text) => slice(text, 0, limit)
  const log = (stream) => (...values) => print(stream, stringify(cut(join.call(map.call(values, show), ' '))))
  const [out, err] = [log(0), log(1)]
  globalThis.console = { log: out, info: out, debug: out, dir: out, warn: err, error: err, trace: err }
  const describe = (error) => {
    if (typeof error !== 'object' || error === null) return { message: cut(toText(error)) }
    const { name, message, stack } = error
    if (typeof message !== 'string') return { message: cut(show(error)) }
    return { name: toText(name), message: cut(message), stack: toText(stack) }
  }
  return async (run, text) => {
    try {
      const value = await run(parse(text))
      const output = typeof value === 'string' ? value : (stringify(value) ?? 'null')
      const isContent = typeof value === 'object' && value !== null && isArray(value.content) && output.length <= contentLimit
      return stringify({ output: isContent ? output : cut(output), isContent })
    } catch (error) {
      return stringify({ error: describe(error) })
    }
  }
}`

/** The value of a promise. Scripts have no timers or I/O, so a promise without pending jobs never settles. */
function settle(runtime: QuickJSRuntime, context: QuickJSContext, handle: QuickJSHandle): QuickJSHandle {
  for (;;) {
    const state = context.getPromiseState(handle)
    if (state.type === 'fulfilled') return state.value
    if (state.type === 'rejected') throw state.error.consume((error) => thrown(context, error))
    const jobs = runtime.executePendingJobs(jobsPerTurn)
    if (jobs.error) throw jobs.error.consume((error) => thrown(context, error))
    if (jobs.value === 0) throw new ScriptError('It waits for a promise that never settles.')
  }
}

/** What a script threw: an error, or another value as text. */
interface ThrownValue {
  readonly name?: unknown
  readonly message?: unknown
  readonly stack?: unknown
}

function thrown(context: QuickJSContext, handle: QuickJSHandle): ScriptError {
  const value: unknown = context.dump(handle)
  return typeof value === 'object' && value !== null ? errorOf(value) : new ScriptError(String(value))
}

function errorOf({ name, message, stack }: ThrownValue): ScriptError {
  if (typeof message !== 'string') return new ScriptError('The script threw a value that is not an error.')
  const place = name === 'SyntaxError' && typeof stack === 'string' ? /tool\.js:(\d+):(\d+)/.exec(stack) : null
  const where = place ? ` (line ${place[1]}, column ${place[2]})` : ''
  return new ScriptError(`${name === 'Error' || typeof name !== 'string' ? '' : `${name}: `}${message}${where}`)
}

/** What was printed to the console, by stream, up to a limit. */
class Printed {
  readonly #streams: readonly [string[], string[]] = [[], []]
  #left: number
  #more = false

  constructor(charLimit: number) {
    this.#left = charLimit
  }

  add(stream: number, text: string): void {
    this.#more ||= text.length > this.#left
    if (this.#left < 0) return
    // Keeps one character more than the limit, to show that something was cut.
    this.#streams[stream === 0 ? 0 : 1].push(text.slice(0, this.#left + 1))
    this.#left -= text.length + 1
  }

  get lines() {
    return { stdout: this.#streams[0], stderr: this.#streams[1], printedMore: this.#more }
  }
}
