import { setTimeout as sleep } from 'node:timers/promises'

import type { Log } from '../util/log.ts'

export interface StopRequest {
  readonly signal: AbortSignal
  /** Settles when we are asked to stop. */
  readonly asked: Promise<void>
}

// Ctrl-C reaches us from the terminal and once more from npm, which passes on what it gets.
const sameRequestMs = 1_000
const parentCheckMs = 500

/**
 * SIGINT and SIGTERM ask for a stop in order; a second one, by someone who does not want to wait, ends the process at
 * once. A killed npm cannot pass anything on: `watchParent` takes the parent's end for the same request. (`npm start`
 * says `exec`, so that no shell stays in between.)
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
  for (const name of ['SIGINT', 'SIGTERM'] as const) {
    process.on(name, () => {
      if (askedAt !== undefined && performance.now() - askedAt > sameRequestMs) process.exit(1)
      ask(name)
    })
  }
  if (watchParent) void watchParentProcess(controller.signal, () => ask('the parent process has ended'))
  return { signal: controller.signal, asked: asked.promise }
}

async function watchParentProcess(signal: AbortSignal, onEnd: () => void): Promise<void> {
  const parent = process.ppid
  while (!signal.aborted && process.ppid === parent) await sleep(parentCheckMs, undefined, { ref: false })
  if (!signal.aborted) onEnd()
}
