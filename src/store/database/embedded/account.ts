import { execFile } from 'node:child_process'
import { stat } from 'node:fs/promises'

/** The account that Postgres runs under. */
export interface Account {
  readonly name: string
  readonly uid: number
  readonly gid: number
}

export interface CommandResult {
  readonly ok: boolean
  readonly stdout: string
  readonly stderr: string
}

/**
 * Every Postgres process starts with this: no inherited environment, a fixed locale, and a folder that any account may
 * enter.
 */
export const cleanSurroundings = { cwd: '/', env: { LC_ALL: 'C', TZ: 'UTC' } } as const

/**
 * Runs a command to its end under `account`, or under our own account if that is undefined. A failure is returned, not
 * thrown.
 */
export function runAs(account: Account | undefined, file: string, args: readonly string[]): Promise<CommandResult> {
  return new Promise((resolve) => {
    execFile(
      file,
      args,
      { ...cleanSurroundings, ...(account && { uid: account.uid, gid: account.gid }), maxBuffer: 16 * 1024 * 1024 },
      (error, stdout, stderr) => resolve({ ok: error === null, stdout, stderr: stderr || (error?.message ?? '') }),
    )
  })
}

export function isRoot(): boolean {
  return process.getuid?.() === 0
}

/**
 * Postgres refuses to run as root, so root runs it under another account: the owner of the database, of the data folder
 * or of its parent folder, in that order, so that a user's project folder stays usable for that user; otherwise a
 * system account. Undefined means that we are not root and run it ourselves.
 */
export async function chooseAccount(foldersByPreference: readonly string[]): Promise<Account | undefined> {
  if (!isRoot()) return undefined
  for (const folder of foldersByPreference) {
    const owner = await stat(folder).catch(() => undefined)
    if (owner === undefined || owner.uid === 0) continue
    const account = await findAccount(String(owner.uid))
    if (account !== undefined) return account
  }
  return (await findAccount('postgres')) ?? (await findAccount('nobody'))
}

/** Takes a name or a number. Uses `id`, which also knows accounts that are not in /etc/passwd. */
async function findAccount(nameOrUid: string): Promise<Account | undefined> {
  const [name, uid, gid] = await Promise.all(
    ['-un', '-u', '-g'].map((flag) => runAs(undefined, 'id', [flag, nameOrUid])),
  )
  if (!name?.ok || !uid?.ok || !gid?.ok) return undefined
  return { name: name.stdout.trim(), uid: Number(uid.stdout), gid: Number(gid.stdout) }
}

/** Asks the operating system, so that access control lists and mounts count as well as file modes. */
export async function canEnter(account: Account | undefined, folder: string): Promise<boolean> {
  return (await runAs(account, '/bin/sh', ['-c', 'cd "$1"', 'sh', folder])).ok
}
