import { execFile } from 'node:child_process'
import { randomUUID } from 'node:crypto'
import { chown, rename, stat, writeFile } from 'node:fs/promises'

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
export function runAs(
  account: Account | undefined,
  file: string,
  args: readonly string[],
  input?: string,
): Promise<CommandResult> {
  return new Promise((resolve) => {
    const child = execFile(
      file,
      args,
      { ...cleanSurroundings, ...(account && { uid: account.uid, gid: account.gid }), maxBuffer: 16 * 1024 * 1024 },
      (error, stdout, stderr) => resolve({ ok: error === null, stdout, stderr: stderr || (error?.message ?? '') }),
    )
    // A command that ends before it has read its input breaks the pipe. Its exit status gives the reason.
    child.stdin?.on('error', () => {})
    child.stdin?.end(input)
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

/** Writes a private file of the account in one step, because another process may be reading it. */
export async function writeOwned(file: string, content: string, account: Account | undefined): Promise<void> {
  const staging = `${file}.${randomUUID()}`
  await writeFile(staging, content, { mode: 0o600 })
  if (account !== undefined) await chown(staging, account.uid, account.gid)
  await rename(staging, file)
}
