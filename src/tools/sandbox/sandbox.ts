import { once } from 'node:events'
import { Worker } from 'node:worker_threads'

import { onAbort } from '../../util/abort.ts'
import type { ScriptJob, ScriptOutcome } from './script.ts'

/** Threads at the most, and how many of them one tenant may have at once: the others' scripts don't wait for its. */
const maxThreads = 8
const maxThreadsPerTenant = 4
/** Threads that are kept though they have nothing to do: starting one takes longer than most scripts. */
const maxIdle = 2
/** A thread takes time to start, much of it where the machine is busy: its scripts are last in line. */
const startMs = 60_000
/** A script that is over its time stops by itself, unless it got stuck inside the engine. */
const graceMs = 2_000

export interface ScriptOptions {
  readonly tenantId: string
  /** Aborted: the thread is killed, whatever it is doing. */
  readonly signal: AbortSignal
}

interface Thread {
  readonly worker: Worker
  readonly ready: Promise<unknown>
  /** Whose scripts it runs: no other tenant's ever get to an engine that has run one of theirs. */
  readonly tenantId: string
}

interface Waiting {
  readonly tenantId: string
  readonly start: (thread: Thread) => void
  readonly giveUp: (reason: Error) => void
}

/** Runs scripts in threads of their own, so that none of them can hold up the process or another tenant. */
export class Sandbox {
  /** The one that was used last comes last. */
  readonly #idle: Thread[] = []
  readonly #busy = new Set<Thread>()
  readonly #queue: Waiting[] = []
  #closed = false

  async run(job: ScriptJob, { tenantId, signal }: ScriptOptions): Promise<ScriptOutcome> {
    const thread = await this.#turn(tenantId, signal)
    let reusable = false
    try {
      const outcome = await runIn(thread, job, signal)
      reusable = outcome.clean
      return outcome
    } finally {
      this.#giveBack(thread, reusable)
      this.#next()
    }
  }

  /** Kills what is running, and refuses what waits. May be called twice. */
  async close(): Promise<void> {
    this.#closed = true
    for (const { giveUp } of this.#queue.splice(0)) giveUp(stopping())
    await Promise.all([...this.#idle.splice(0), ...this.#busy].map(({ worker }) => worker.terminate()))
  }

  /** A thread, once the tenant may have one. */
  async #turn(tenantId: string, signal: AbortSignal): Promise<Thread> {
    signal.throwIfAborted()
    if (this.#hasRoom(tenantId)) return this.#take(tenantId)
    const { promise, resolve, reject } = Promise.withResolvers<Thread>()
    const waiting: Waiting = { tenantId, start: resolve, giveUp: reject }
    this.#queue.push(waiting)
    const stopListening = onAbort(signal, (reason) => {
      remove(this.#queue, waiting)
      reject(reason)
    })
    try {
      return await promise
    } finally {
      stopListening()
    }
  }

  #hasRoom(tenantId: string): boolean {
    const own = [...this.#busy].filter((thread) => thread.tenantId === tenantId).length
    return this.#busy.size < maxThreads && own < maxThreadsPerTenant
  }

  #take(tenantId: string): Thread {
    if (this.#closed) throw stopping()
    const index = this.#idle.findLastIndex((thread) => thread.tenantId === tenantId)
    const thread = index >= 0 ? this.#idle.splice(index, 1)[0]! : this.#start(tenantId)
    thread.worker.ref()
    this.#busy.add(thread)
    return thread
  }

  #start(tenantId: string): Thread {
    const worker = startThread()
    const thread = { worker, ready: once(worker, 'message'), tenantId }
    // Told to whoever waits for an outcome; with nobody waiting it is no one's business.
    thread.ready.catch(() => undefined)
    worker.on('error', () => undefined)
    // One that dies while it has nothing to do is not handed out any more.
    thread.worker.once('exit', () => remove(this.#idle, thread))
    return thread
  }

  #giveBack(thread: Thread, reusable: boolean): void {
    this.#busy.delete(thread)
    if (!reusable || this.#closed) return void thread.worker.terminate()
    thread.worker.unref()
    this.#idle.push(thread)
    if (this.#idle.length > maxIdle) void this.#idle.shift()!.worker.terminate()
  }

  /** Whoever has waited longest and may have a thread gets one. */
  #next(): void {
    const index = this.#queue.findIndex((waiting) => this.#hasRoom(waiting.tenantId))
    const [waiting] = index >= 0 && !this.#closed ? this.#queue.splice(index, 1) : []
    waiting?.start(this.#take(waiting.tenantId))
  }
}

function stopping(): Error {
  return new Error('The server is stopping.')
}

function remove<Item>(list: Item[], item: Item): void {
  const index = list.indexOf(item)
  if (index >= 0) list.splice(index, 1)
}

function startThread(): Worker {
  return new Worker(new URL('./worker.ts', import.meta.url), {
    env: {},
    execArgv: [],
    // What the engine itself would print belongs to nobody.
    stdout: true,
    stderr: true,
    resourceLimits: { maxOldGenerationSizeMb: 192, maxYoungGenerationSizeMb: 16, stackSizeMb: 4 },
  })
}

async function runIn({ worker, ready }: Thread, job: ScriptJob, signal: AbortSignal): Promise<ScriptOutcome> {
  const { promise, resolve, reject } = Promise.withResolvers<ScriptOutcome>()
  const onMessage = (outcome: ScriptOutcome) => resolve(outcome)
  const onError = (error: Error) => reject(new Error(`The sandbox broke down: ${error.message}`))
  const onExit = () => reject(new Error('The sandbox broke down.'))
  const late: ScriptOutcome = {
    ok: false,
    output: 'It did not finish in time.',
    stdout: [],
    stderr: [],
    printedMore: false,
    late: true,
    clean: false,
  }
  let timer = setTimeout(() => resolve(late), startMs)
  const onReady = () => {
    clearTimeout(timer)
    timer = setTimeout(() => resolve(late), job.limitMs + graceMs)
    worker.once('message', onMessage)
    worker.postMessage(job)
  }
  let over = false
  worker.once('error', onError)
  worker.once('exit', onExit)
  const stopListening = onAbort(signal, reject)
  ready.then(() => over || onReady()).catch(() => undefined)
  try {
    return await promise
  } finally {
    over = true
    clearTimeout(timer)
    worker.off('message', onMessage).off('error', onError).off('exit', onExit)
    stopListening()
  }
}
