import { spawn, type ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { existsSync } from 'node:fs'

import { createClient } from 'redis'

import { freePort } from './free-port.ts'
import { makeTemporaryFolder } from './temporary-folder.ts'

const program = ['/usr/bin/valkey-server', '/usr/bin/redis-server'].find((path) => existsSync(path))

/** The tests with a real Redis run if it or a Valkey is installed, for example with `apt-get install redis-server`. */
export const haveRedis = program !== undefined

const adminPassword = 'of-the-administrator'

/** A Redis that a test can kill, freeze and configure. */
export interface RealRedis {
  /** Contains the password, if there is one. */
  readonly url: string
  /** Sends a command as an administrator. */
  command(...words: string[]): Promise<unknown>
  /** Ends it with SIGKILL. Resolves when it is gone. */
  kill(): Promise<void>
  /** Keeps its connections and answers nothing. */
  freeze(): void
  /** Starts it again, or lets it go on. */
  restart(): Promise<void>
  close(): Promise<void>
}

export async function startRedis({ password }: { readonly password?: string } = {}): Promise<RealRedis> {
  const folder = await makeTemporaryFolder()
  const port = await freePort()
  const settings = ['--port', String(port), '--bind', '127.0.0.1', '--save', '', '--dir', folder]
  settings.push('--user', 'admin', 'on', `>${adminPassword}`, '~*', '&*', '+@all')
  if (password !== undefined) settings.push('--requirepass', password)
  let child: ChildProcess | undefined

  async function start(): Promise<void> {
    child = spawn(program!, settings, { stdio: ['ignore', 'pipe', 'inherit'] })
    let written = ''
    const over = once(child, 'exit').then(() => {
      throw new Error(`Redis ended: ${written}`)
    })
    over.catch(() => {})
    while (!/ready to accept connections/i.test(written)) {
      const [data] = (await Promise.race([once(child.stdout!, 'data'), over])) as [Buffer]
      written += data.toString()
    }
    child.stdout!.resume()
  }

  async function kill(): Promise<void> {
    if (child?.exitCode !== null || child.signalCode !== null) return
    child.kill('SIGKILL')
    await once(child, 'exit')
  }

  await start()
  const url = `redis://${password === undefined ? '' : `:${encodeURIComponent(password)}@`}127.0.0.1:${port}`
  return {
    url,
    async command(...words) {
      const client = createClient({
        url: `redis://admin:${adminPassword}@127.0.0.1:${port}`,
        socket: { reconnectStrategy: false },
      })
      await client.connect()
      try {
        return await client.sendCommand(words)
      } finally {
        client.destroy()
      }
    },
    kill,
    freeze: () => void child!.kill('SIGSTOP'),
    async restart() {
      child!.kill('SIGCONT')
      if (child!.exitCode !== null || child!.signalCode !== null) await start()
    },
    close: kill,
  }
}
