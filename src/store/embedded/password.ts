import { randomBytes, randomUUID } from 'node:crypto'
import { link, readFile, rename, rm } from 'node:fs/promises'
import { join } from 'node:path'

import { StartError, errorCode } from '../../util/start-error.ts'
import { runAs, writeOwned, type Account } from '../database/embedded/account.ts'
import type { Binaries } from '../database/embedded/binaries.ts'
import { superuser } from '../database/embedded/data-folder.ts'

const passwordFile = (cluster: string) => join(cluster, 'holdpoint.password')

/** The file is in the cluster's folder, which has mode 0700. Undefined if the role has no password yet. */
export async function readPassword(cluster: string): Promise<string | undefined> {
  return readIfThere(passwordFile(cluster))
}

/**
 * Gives our role a password before the server runs, because Postgres listens on a port that every local account can
 * reach. The password is written to a file before it is set, and the file gets its final name afterwards. So if a
 * process is killed in between, or two start at once, one valid password remains. Also creates the role in a cluster
 * that was made by Postgres's own initdb.
 */
export async function setPassword(
  cluster: string,
  { account, binaries }: { account: Account | undefined; binaries: Binaries },
): Promise<void> {
  const proposed = `${passwordFile(cluster)}.new`
  const password = await proposePassword(proposed, account)
  if (password === undefined) return
  // Another process finished before we proposed a password: ours could not have been written while its proposal
  // existed.
  if ((await readPassword(cluster)) !== undefined) return rm(proposed, { force: true })
  const statements = [
    `do $$ begin if not exists (select from pg_roles where rolname = '${superuser}') then create role ${superuser}; end if; end $$`,
    `alter role ${superuser} superuser login password '${password}'`,
  ]
  const settings = [
    'exit_on_error=on',
    'password_encryption=scram-sha-256',
    // The password is random and long, so nobody can guess it. Hashing it 4,096 times would only delay each connection.
    ...(binaries.major >= 16 ? ['scram_iterations=1'] : []),
  ]
  const { ok, stderr } = await runAs(
    account,
    join(binaries.folder, 'postgres'),
    ['--single', '-D', cluster, ...settings.flatMap((setting) => ['-c', setting]), 'postgres'],
    `${statements.join('\n')}\n`,
  )
  if (ok) await rename(proposed, passwordFile(cluster)).catch(() => {})
  // Another process is doing this right now. The caller checks again.
  else if (!stderr.includes('postmaster.pid')) throw new StartError(`Postgres does not start on ${cluster}: ${stderr}`)
}

/** Linked into place, which fails if another process was first. Then we use that process's password. */
async function proposePassword(proposed: string, account: Account | undefined): Promise<string | undefined> {
  const mine = `${proposed}-${randomUUID()}`
  await writeOwned(mine, randomBytes(24).toString('hex'), account)
  await link(mine, proposed).catch(() => {})
  await rm(mine)
  return readIfThere(proposed)
}

async function readIfThere(file: string): Promise<string | undefined> {
  try {
    return await readFile(file, 'utf8')
  } catch (error) {
    if (errorCode(error) === 'ENOENT') return undefined
    throw error
  }
}
