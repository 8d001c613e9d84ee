import { fork } from 'node:child_process'
import { once } from 'node:events'
import { fileURLToPath } from 'node:url'

export interface TourWorker {
  readonly pid: number
  /** Starts to drive runs. */
  start(): Promise<void>
  /** Kills it with SIGKILL. */
  kill(): Promise<void>
  stop(): Promise<void>
}

/** A worker in a separate process, which has loaded everything but does not drive runs yet. */
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
