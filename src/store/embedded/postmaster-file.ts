import { execFile } from 'node:child_process'
import { readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'

/** The server that `postmaster.pid` describes. */
export interface RunningPostmaster {
  readonly pid: number
  /** Undefined: not listening yet, or a single-user process that never will. */
  readonly port: number | undefined
}

/** More than any system gives to a process, so it is never alive. */
const pidOfNobody = 2_147_483_646

/**
 * The server that runs on this cluster; undefined: none. It may have been started by another process, or by one that
 * was killed. After a reboot, or in a fresh container, the number in the file may belong to some other program, and
 * Postgres would refuse to start because of it. Then the number is replaced and the rest of the file is kept, for
 * Postgres reads from it whether shared memory of the old server is still in use.
 */
export async function findPostmaster(cluster: string): Promise<RunningPostmaster | undefined> {
  const file = join(cluster, 'postmaster.pid')
  const lines = (await readFile(file, 'utf8').catch(() => '')).split('\n')
  const written = Number.parseInt(lines[0] ?? '', 10)
  const pid = Math.abs(written)
  if (!Number.isInteger(pid) || !isAlive(pid)) return undefined
  if (!(await readCommand(pid)).includes('postgres')) {
    const unchanged = (await readFile(file, 'utf8').catch(() => '')) === lines.join('\n')
    if (unchanged) await writeFile(file, [pidOfNobody, ...lines.slice(1)].join('\n'))
    return undefined
  }
  const port = Number.parseInt(lines[3] ?? '', 10)
  // A negative number is that of a process in single-user mode, which has a port in the file all the same.
  return { pid, port: written > 0 && port > 0 ? port : undefined }
}

export function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0)
    return true
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'EPERM'
  }
}

/** Empty for a zombie process. Read from /proc if it exists, else from ps. */
async function readCommand(pid: number): Promise<string> {
  const fromProc = await readFile(`/proc/${pid}/cmdline`, 'utf8').catch(() => undefined)
  if (fromProc !== undefined) return fromProc
  return new Promise((resolve) =>
    execFile('ps', ['-o', 'command=', '-p', String(pid)], (_error, stdout) => resolve(stdout)),
  )
}
