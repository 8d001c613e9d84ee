import { spawn, type ChildProcess } from 'node:child_process'
import { once } from 'node:events'

import { inject } from 'vitest'

import { keepOutput } from './kept-output.ts'

export interface ServerProcess {
  readonly child: ChildProcess
  /** Everything written so far. */
  readonly stdout: () => string
  readonly stderr: () => string
  /** The address at which it is ready. Throws its error output if it ends instead. */
  ready(): Promise<string>
  /** Settles when it has ended and its output is closed. */
  readonly ended: Promise<{ code: number | null; signal: NodeJS.Signals | null }>
}

/** Runs the program of `npm start` as a separate process, with none of our environment except what is given. */
export function spawnMain(
  args: readonly string[],
  env: Readonly<Record<string, string>>,
  options: { shell?: string; detached?: boolean } = {},
): ServerProcess {
  const mainFile = inject('programs').main
  const command = options.shell === undefined ? [process.execPath, mainFile, ...args] : ['/bin/sh', '-c', options.shell]
  const child = spawn(command[0]!, command.slice(1), {
    env: {
      PATH: process.env['PATH'],
      NODE_COMPILE_CACHE: process.env['NODE_COMPILE_CACHE'],
      NODE: process.execPath,
      MAIN: mainFile,
      // As bin/holdpoint.mjs sets it.
      NODE_ENV: 'production',
      PORT: '0',
      ...env,
    },
    stdio: ['ignore', 'pipe', 'pipe'],
    detached: options.detached ?? false,
  })
  let stdout = ''
  let stderr = ''
  child.stdout.on('data', (data) => (stdout += data))
  child.stderr.on('data', (data) => {
    stderr += data
    keepOutput(data)
  })
  const ended = once(child, 'close').then(([code, signal]) => ({ code, signal }))
  return {
    child,
    stdout: () => stdout,
    stderr: () => stderr,
    ended,
    async ready() {
      const over = ended.then(({ code }) => {
        throw new Error(`ended with ${code} before it was ready: ${stderr}`)
      })
      while (!stdout.includes('\n')) await Promise.race([once(child.stdout, 'data'), over])
      over.catch(() => {})
      return /^ready (\S+)\n$/.exec(stdout)![1]!
    },
  }
}

/**
 * Lines of its log that must not be there: errors of the server itself. A client's mistake is not one; a failing database
 * is, and `besidesErrors` says that it failed.
 */
export function badLines(server: ServerProcess, options?: { readonly besidesErrors?: boolean }): string[] {
  const bad = options?.besidesErrors
    ? /unhandled|uncaught|this is a bug/i
    : /unhandled|uncaught|this is a bug|"level":[56]0/i
  return server
    .stderr()
    .split('\n')
    .filter((line) => bad.test(line))
}
