import { randomUUID } from 'node:crypto'
import { setTimeout as sleep } from 'node:timers/promises'
import { inspect } from 'node:util'

import type { Log } from '../util/log.ts'

export interface StopRequest {
  readonly signal: AbortSignal
  /** Resolves when the process is asked to stop. */
  readonly asked: Promise<void>
}

// One Ctrl-C sends two signals: one from the terminal, and one that npm forwards.
const sameRequestMs = 1_000
const parentCheckMs = 500

/**
 * SIGINT and SIGTERM ask the process to shut down. A second signal, from someone who does not want to wait, ends it at
 * once. A killed npm forwards no signal, so with `watchParent` the end of the parent process counts as a request to
 * stop. (`npm start` uses `exec`, so that there is no shell between npm and this process.)
 */
export function watchForStop({ log, watchParent }: { log: Log; watchParent: boolean }): StopRequest {
  const controller = new AbortController()
  const asked = Promise.withResolvers<void>()
  let askedAt: number | undefined

  const ask = (why: string) => {
    if (askedAt !== undefined) return
    askedAt = performance.now()
    log.info({ why }, 'stopping')
    controller.abort()
    asked.resolve()
  }
  watchForBugs({ log, stop: () => ask('an uncaught exception') })
  for (const name of ['SIGINT', 'SIGTERM'] as const) {
    process.on(name, () => {
      if (askedAt !== undefined && performance.now() - askedAt > sameRequestMs) process.exit(1)
      ask(name)
    })
  }
  if (watchParent) void watchParentProcess(controller.signal, () => ask('the parent process has ended'))
  return { signal: controller.signal, asked: asked.promise }
}

/**
 * A rejected promise that nobody handles is a bug in one request or run: it is logged, and the others continue. After
 * an uncaught exception, the state of the process is unknown: it shuts down and exits with status 1.
 */
function watchForBugs({ log, stop }: { log: Log; stop: () => void }): void {
  process.on('unhandledRejection', (reason) => {
    log.error({ errorId: randomUUID(), err: asError(reason) }, 'a promise was rejected and not handled')
  })
  process.on('uncaughtException', (error) => {
    log.fatal({ errorId: randomUUID(), err: asError(error) }, 'an exception was thrown and not caught')
    process.exitCode = 1
    stop()
  })
}

/** Not everything that is thrown is an Error. */
function asError(thrown: unknown): Error {
  return thrown instanceof Error ? thrown : new Error(`not an Error: ${inspect(thrown)}`)
}

async function watchParentProcess(signal: AbortSignal, onEnd: () => void): Promise<void> {
  const parent = process.ppid
  while (!signal.aborted && process.ppid === parent) await sleep(parentCheckMs, undefined, { ref: false })
  if (!signal.aborted) onEnd()
}
