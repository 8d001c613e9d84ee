import { execFile } from 'node:child_process'
import { readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'

/** The server that `postmaster.pid` describes. */
export interface RunningPostmaster {
  readonly pid: number
  /** Undefined if the server is not listening yet, or is a single-user process that never will. */
  readonly port: number | undefined
}

/** Larger than any process id, so no such process exists. */
const pidOfNobody = 2_147_483_646

/**
 * The server that runs on this cluster. Undefined if there is none. It may have been started by another process, or by
 * one that was killed. After a reboot or in a new container, the process id in the file may belong to some other
 * program, and Postgres would refuse to start because of it. Then the id is replaced and the rest of the file is kept,
 * because Postgres reads from it whether the old server's shared memory is still in use.
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
  // A negative id is that of a single-user process. Its file still has a port.
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

/** Empty for a zombie. Read from /proc if that exists, otherwise from ps. */
async function readCommand(pid: number): Promise<string> {
  const fromProc = await readFile(`/proc/${pid}/cmdline`, 'utf8').catch(() => undefined)
  if (fromProc !== undefined) return fromProc
  return new Promise((resolve) =>
    execFile('ps', ['-o', 'command=', '-p', String(pid)], (_error, stdout) => resolve(stdout)),
  )
}
