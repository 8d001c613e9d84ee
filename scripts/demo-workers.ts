import { fork } from 'node:child_process'
import { once } from 'node:events'
import { fileURLToPath } from 'node:url'

export interface TourWorker {
  readonly pid: number
  /** From then on it drives runs. */
  start(): Promise<void>
  /** kill -9. */
  kill(): Promise<void>
  stop(): Promise<void>
}

/** A worker as a process of its own, loaded, but not yet driving runs. */
export function forkWorker(databaseUrl: string): TourWorker {
  const child = fork(fileURLToPath(new URL('demo-worker.ts', import.meta.url)), [databaseUrl], { execArgv: [] })
  const ended = once(child, 'exit')
  const heard = async (message: string) => {
    const [said] = await Promise.race([once(child, 'message'), ended])
    if (said !== message) throw new Error('The worker process ended before it was ready.')
  }
  const loaded = heard('loaded')
  loaded.catch(() => undefined)
  return {
    pid: child.pid!,
    async start() {
      await loaded
      const started = heard('started')
      child.send('start')
      await started
    },
    async kill() {
      child.kill('SIGKILL')
      await ended
    },
    async stop() {
      if (child.connected) child.disconnect()
      await ended
    },
  }
}
