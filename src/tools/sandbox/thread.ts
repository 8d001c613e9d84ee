import { readlinkSync } from 'node:fs'
import { setPriority } from 'node:os'
import { basename } from 'node:path'
import { parentPort } from 'node:worker_threads'

import { engine, runScript, type ScriptJob } from './script.ts'

/** A thread that runs one script after another. It announces when it is ready. */
yieldToServer()
await engine
parentPort?.postMessage('ready')
// A job that breaks the engine ends the thread, and so the pool notices it.
parentPort?.on('message', (job: ScriptJob) => void runScript(job).then((outcome) => parentPort?.postMessage(outcome)))

/** Lowers the priority of this thread below the server's threads. Only Linux has thread priorities. */
function yieldToServer(): void {
  try {
    setPriority(Number(basename(readlinkSync('/proc/thread-self'))), 10)
  } catch {
    // Without priorities, the scheduler shares the cores evenly.
  }
}
