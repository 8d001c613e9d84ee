import { spawn } from 'node:child_process'
import { existsSync } from 'node:fs'
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'

import { inject, onTestFinished } from 'vitest'

import { freePort } from './free-port.ts'
import { makeTemporaryFolder } from './temporary-folder.ts'

const program = '/usr/sbin/pgbouncer'

/** The tests with a real PgBouncer run if it is installed, for example with `apt-get install pgbouncer`. */
export const havePgBouncer = existsSync(program)

/** What a PgBouncer without the setting refuses. */
export const ignoredParameters = 'ignore_startup_parameters = extra_float_digits,idle_in_transaction_session_timeout'

/**
 * Starts a PgBouncer in front of the tests' Postgres, until the test has finished. Resolves with the address of this
 * database through it.
 */
export async function startPgBouncer(
  mode: 'session' | 'transaction' | 'statement',
  {
    database = inject('postgres').url,
    settings: more = ignoredParameters,
    atEnd = onTestFinished,
  }: {
    readonly database?: string
    readonly settings?: string
    /** Registers how to stop it, by default at the end of the test. */
    readonly atEnd?: (stop: () => void) => void
  } = {},
): Promise<string> {
  const { hostname, port, username, password, pathname } = new URL(database)
  const folder = await makeTemporaryFolder()
  const listenPort = await freePort()
  const settings = join(folder, 'pgbouncer.ini')
  await writeFile(
    settings,
    `[databases]
* = host=${hostname} port=${port} user=${username} password=${password}
[pgbouncer]
listen_addr = 127.0.0.1
listen_port = ${listenPort}
unix_socket_dir =
auth_type = any
pool_mode = ${mode}
${more}
`,
  )
  // It refuses to run as root.
  const user = process.getuid?.() === 0 ? ['-u', 'nobody'] : []
  const child = spawn(program, [...user, settings], { stdio: ['ignore', 'ignore', 'pipe'] })
  atEnd(() => void child.kill('SIGKILL'))
  await new Promise<void>((resolve, reject) => {
    let written = ''
    child.stderr.on('data', (data) => {
      written += data
      if (written.includes('process up')) resolve()
    })
    child.once('exit', () => reject(new Error(`PgBouncer ended: ${written}`)))
  })
  return `postgres://${username}@127.0.0.1:${listenPort}${pathname}`
}
