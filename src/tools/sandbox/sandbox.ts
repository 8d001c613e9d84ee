import { once } from 'node:events'
import { extname } from 'node:path'
import { Worker } from 'node:worker_threads'

import { onAbort } from '../../util/abort.ts'
import { Turns } from '../../util/turns.ts'
import type { ScriptJob, ScriptOutcome } from './script.ts'

/** Maximum number of threads, in all and per tenant, so that one tenant cannot delay the others. */
const maxThreads = 8
const maxThreadsPerTenant = 4
/** Idle threads that are kept: starting a thread takes longer than most scripts. */
const maxIdle = 2
/**
 * How long a thread may take to start. This can be long on a busy machine, because script threads have a low priority.
 */
const startMs = 60_000
/**
 * A script stops itself when its time is up. If it is stuck inside the engine, its thread is killed after this time.
 */
const graceMs = 2_000

export interface ScriptOptions {
  readonly tenantId: string
  /** When aborted, the thread is killed. */
  readonly signal: AbortSignal
}

interface Thread {
  readonly worker: Worker
  readonly ready: Promise<unknown>
  /** The only tenant whose scripts this thread runs. */
  readonly tenantId: string
}

/** Runs scripts in their own threads, so that no script can block the process or another tenant. */
export class Sandbox {
  /** Ordered by last use, most recent last. */
  readonly #idle: Thread[] = []
  readonly #busy = new Set<Thread>()
  readonly #turns = new Turns({ max: maxThreads, maxPerOwner: maxThreadsPerTenant })
  #closed = false

  async run(job: ScriptJob, { tenantId, signal }: ScriptOptions): Promise<ScriptOutcome> {
    signal.throwIfAborted()
    return this.#turns.run(
      tenantId,
      async () => {
        const thread = this.#take(tenantId)
        let reusable = false
        try {
          const outcome = await runIn(thread, job, signal)
          reusable = outcome.clean
          return outcome
        } finally {
          this.#giveBack(thread, reusable)
        }
      },
      signal,
    )
  }

  /** Kills running scripts and rejects waiting ones. May be called twice. */
  async close(): Promise<void> {
    this.#closed = true
    this.#turns.clear(stopping())
    await Promise.all([...this.#idle.splice(0), ...this.#busy].map(({ worker }) => worker.terminate()))
  }

  #take(tenantId: string): Thread {
    if (this.#closed) throw stopping()
    const thread = this.#idle.findLast((one) => one.tenantId === tenantId) ?? this.#start(tenantId)
    remove(this.#idle, thread)
    thread.worker.ref()
    this.#busy.add(thread)
    return thread
  }

  #start(tenantId: string): Thread {
    const worker = startThread()
    const thread = { worker, ready: once(worker, 'message'), tenantId }
    // Anyone waiting for an outcome gets this error. If nobody waits, it must not end the process.
    thread.ready.catch(() => undefined)
    worker.on('error', () => undefined)
    // A thread that dies while idle must not be handed out again.
    thread.worker.once('exit', () => remove(this.#idle, thread))
    return thread
  }

  #giveBack(thread: Thread, reusable: boolean): void {
    this.#busy.delete(thread)
    if (!reusable || this.#closed) return void thread.worker.terminate()
    thread.worker.unref()
    this.#idle.push(thread)
    if (this.#idle.length > maxIdle) void this.#idle.shift()?.worker.terminate()
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
  return new Worker(new URL(`./thread${extname(import.meta.url)}`, import.meta.url), {
    env: {},
    execArgv: [],
    // Captures what the engine itself prints, so that it does not reach the server's output.
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
    isContent: false,
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
