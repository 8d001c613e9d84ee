import { readFileSync } from 'node:fs'
import { extname } from 'node:path'
import { Worker } from 'node:worker_threads'

import { Turns } from './turns.ts'

export interface SchemaProblem {
  /** A JSON Pointer to the invalid value. Empty for the whole value. */
  readonly path: string
  readonly message: string
}

/** A schema to compile and, unless `value` is undefined, to evaluate. Both are JSON texts. */
export interface SchemaJob {
  readonly schema: string
  readonly value: string | undefined
}

export type SchemaVerdict =
  | { readonly problems: readonly SchemaProblem[] }
  /** The schema itself cannot be used. */
  | { readonly invalid: SchemaProblem }
  /** The value cannot be checked. */
  | { readonly failure: string }

/** What one schema may take to be compiled or evaluated once. */
const limitMs = 500
const limitMb = 64
/** On a busy machine, the time that counts is the thread's own, up to this much in all. */
const patienceMs = 10 * limitMs
/** How long a thread may take to start. */
const startMs = 60_000
/** A thread that nobody has used for this long ends. */
const idleMs = 30_000

/** Shared by all judges, because a thread takes long to start. */
const idle: SchemaThread[] = []

/** Never throws: whatever happens to the thread is a verdict about the schema. */
export type Judge = (owner: string, job: SchemaJob) => Promise<SchemaVerdict>

/** Judges in threads that can be stopped, and that never hold up the process or, for long, another owner. */
export function createJudge(limits: { readonly max: number; readonly maxPerOwner: number }): Judge {
  const turns = new Turns(limits)
  return (owner, job) =>
    turns.run(owner, async () => {
      const used = idle.pop()
      const verdict = used && (await judgeIn(used, job))
      // Earlier schemas may have filled the memory, or the thread may have ended by itself.
      return verdict ?? (await judgeIn(new SchemaThread(), job)) ?? exceeded(job, `${limitMb} MB`)
    })
}

/** Undefined if the thread died. */
async function judgeIn(thread: SchemaThread, job: SchemaJob): Promise<SchemaVerdict | undefined> {
  const verdict = await thread.judge(job)
  if (thread.isAlive) {
    idle.push(thread)
    thread.rest(() => idle.splice(idle.indexOf(thread), 1))
  }
  return verdict
}

class SchemaThread {
  isAlive = true
  readonly #worker: Worker
  readonly #ready: Promise<unknown>
  #systemId: number | undefined
  /** Called with the verdict, or with undefined if the thread has died. */
  #settle: ((verdict: SchemaVerdict | undefined) => void) | undefined
  #idleTimer: NodeJS.Timeout | undefined

  constructor() {
    this.#worker = new Worker(new URL(`./schema-thread${extname(import.meta.url)}`, import.meta.url), {
      env: {},
      execArgv: [],
      stdout: true,
      stderr: true,
      resourceLimits: { maxOldGenerationSizeMb: limitMb, maxYoungGenerationSizeMb: 16, stackSizeMb: 4 },
    })
    const { promise, resolve } = Promise.withResolvers<void>()
    this.#ready = promise
    const timer = setTimeout(() => void this.#worker.terminate(), startMs)
    const started = () => {
      clearTimeout(timer)
      resolve()
    }
    this.#worker.on('message', (message: SchemaVerdict | { readonly ready: number | undefined }) => {
      if (!('ready' in message)) return this.#settle?.(message)
      this.#systemId = message.ready
      started()
    })
    // The exit follows.
    this.#worker.on('error', () => undefined)
    this.#worker.on('exit', () => {
      this.isAlive = false
      started()
      this.#settle?.(undefined)
    })
  }

  /** One job at a time. Undefined if the thread has died of it. */
  async judge(job: SchemaJob): Promise<SchemaVerdict | undefined> {
    clearTimeout(this.#idleTimer)
    this.#worker.ref()
    await this.#ready
    if (!this.isAlive) return undefined
    const { promise, resolve } = Promise.withResolvers<SchemaVerdict | undefined>()
    this.#settle = resolve
    const before = this.#cpuMs()
    const startedAt = performance.now()
    const look = () => {
      const cpu = this.#cpuMs()
      const isStarved = cpu !== undefined && before !== undefined && cpu - before < limitMs * 0.8
      if (isStarved && performance.now() - startedAt < patienceMs) {
        timer = setTimeout(look, limitMs / 10)
        return
      }
      // The verdict may have arrived while this process was busy, and is read before this.
      setImmediate(() => {
        resolve(exceeded(job, `${limitMs} ms`))
        if (this.#settle) this.#stop()
      })
    }
    let timer = setTimeout(look, limitMs)
    this.#worker.postMessage(job)
    const verdict = await promise
    this.#settle = undefined
    clearTimeout(timer)
    return verdict
  }

  /** Ends the thread if it stays idle. It keeps no process running. */
  rest(onEnd: () => void): void {
    this.#worker.unref()
    this.#idleTimer = setTimeout(() => {
      onEnd()
      this.#stop()
    }, idleMs).unref()
  }

  #stop(): void {
    this.isAlive = false
    void this.#worker.terminate()
  }

  /** What the thread has used of the processor. Undefined where the operating system does not tell. */
  #cpuMs(): number | undefined {
    if (this.#systemId === undefined) return undefined
    try {
      const stat = readFileSync(`/proc/self/task/${this.#systemId}/stat`, 'latin1')
      const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ')
      return (Number(fields[11]) + Number(fields[12])) * 10
    } catch {
      return undefined
    }
  }
}

function exceeded({ value }: SchemaJob, limit: string): SchemaVerdict {
  return value === undefined
    ? { invalid: { path: '', message: `takes more than ${limit} to compile. Use a simpler schema` } }
    : { failure: `the check takes more than ${limit}` }
}
