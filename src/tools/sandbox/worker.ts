import { readlinkSync } from 'node:fs'
import { setPriority } from 'node:os'
import { basename } from 'node:path'
import { parentPort } from 'node:worker_threads'

import { engine, runScript, type ScriptJob } from './script.ts'

/** A thread that runs one script after another, once it has said that it can. */
yieldToServer()
await engine
parentPort!.postMessage('ready')
// A job that breaks the engine ends the thread, which is how the pool learns of it.
parentPort!.on('message', (job: ScriptJob) => void runScript(job).then((outcome) => parentPort!.postMessage(outcome)))

/** Scripts may take every core there is; the threads that serve come first. Only Linux knows priorities of threads. */
function yieldToServer(): void {
  try {
    setPriority(Number(basename(readlinkSync('/proc/thread-self'))), 10)
  } catch {
    // Then the scheduler alone sees to it.
  }
}
