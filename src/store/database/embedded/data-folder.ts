import {
  access,
  chmod,
  chown,
  constants,
  mkdir,
  mkdtemp,
  readFile,
  readdir,
  readlink,
  realpath,
  rename,
  rm,
  stat,
  symlink,
  unlink,
  writeFile,
} from 'node:fs/promises'
import { randomBytes } from 'node:crypto'
import { basename, dirname, join } from 'node:path'

import type { Log } from '../../../util/log.ts'
import { StartError, errorCode } from '../../../util/start-error.ts'
import { canEnter, chooseAccount, isRoot, runAs, type Account } from './account.ts'
import type { Binaries } from './binaries.ts'
import { isAlive } from './postmaster-file.ts'

/** The role that owns everything in the embedded database. */
export const superuser = 'holdpoint'

/** The paths of one embedded Postgres. */
export interface DataFolder {
  /** The folder that HOLDPOINT_DATA_DIR names. */
  readonly folder: string
  /** Postgres's own folder: `folder/postgres`, which may be a link to a place that the account can reach. */
  readonly cluster: string
  readonly account: Account | undefined
}

export async function openDataFolder(folder: string): Promise<DataFolder> {
  try {
    const made = await mkdir(folder, { recursive: true })
    if (made !== undefined) {
      // Keeps the database out of Git. A folder that existed before may have files of others.
      const ignored = join(folder, '.gitignore')
      await writeFile(ignored, '*\n')
      await handToOwnerAbove(ignored, made)
    }
    await access(folder, constants.R_OK | constants.W_OK | constants.X_OK)
  } catch (error) {
    const reason = errorCode(error) ?? String(error)
    throw new StartError(
      `The data folder ${folder} cannot be written (${reason}): make it writable, or set HOLDPOINT_DATA_DIR to another folder.`,
    )
  }
  const cluster = join(folder, 'postgres')
  return { folder, cluster, account: await chooseAccount([cluster, folder, dirname(folder)]) }
}

/** Whatever root creates in a user's folder is given to that user, who may start the server next time. */
async function handToOwnerAbove(path: string, topmostMade: string): Promise<void> {
  const owner = await stat(dirname(topmostMade))
  if (!isRoot() || owner.uid === 0) return
  for (let made = path; made !== dirname(topmostMade); made = dirname(made)) await chown(made, owner.uid, owner.gid)
}

/** The version of Postgres that made the cluster. Undefined if there is none yet. */
export async function readMajor(cluster: string): Promise<number | undefined> {
  try {
    return Number.parseInt(await readFile(join(cluster, 'PG_VERSION'), 'utf8'), 10)
  } catch (error) {
    if (errorCode(error) === 'ENOENT') return undefined
    throw new StartError(
      `The data folder ${cluster} cannot be read (${errorCode(error)}): start as its owner, or set HOLDPOINT_DATA_DIR.`,
    )
  }
}

const passwordFile = 'holdpoint.password'
/** Who may connect. Every local account can reach the port, so nobody gets in without the password. */
export const authenticationFile = 'holdpoint.hba.conf'
const authentication = 'host all all 127.0.0.1/32 scram-sha-256\n'

/** The cluster's folder has mode 0700, so only the account of the database can read it. */
export async function readPassword(cluster: string): Promise<string> {
  try {
    return await readFile(join(cluster, passwordFile), 'utf8')
  } catch (error) {
    throw new StartError(
      `The data folder ${cluster} was not made by Holdpoint, or cannot be read (${errorCode(error)} of its password): set HOLDPOINT_DATA_DIR to another folder.`,
    )
  }
}

/**
 * Makes the cluster under a temporary name and publishes it with one rename or link, so that a crash leaves no
 * half-made cluster, and the second of two processes that start together finds the cluster of the first. If we are root
 * and the account cannot enter the data folder (for example below a home directory of mode 0700), the cluster is made
 * in `outsideFolder` and linked to.
 */
export async function createCluster(
  { folder, cluster, account }: DataFolder,
  { binaries, outsideFolder, sync, log }: { binaries: Binaries; outsideFolder: string; sync: boolean; log: Log },
): Promise<void> {
  // Making a cluster takes seconds, so a place that is taken is found out before.
  if (await isTaken(cluster)) return refuseUnlessCluster(cluster, 'ENOTEMPTY')
  const inside = await canEnter(account, folder)
  const parent = inside ? folder : await makeOutsideFolder(outsideFolder, folder)
  await removeAbandonedStaging(folder)
  const name = inside ? `postgres.new-${process.pid}-` : `${basename(dirname(folder))}-`
  const staging = await mkdtemp(join(parent, name))
  const password = `${staging}.password`
  await writeFile(password, randomBytes(24).toString('hex'), { mode: 0o600 })
  await handOver(account, staging, password)

  const locale = binaries.major >= 17 ? ['--locale-provider=builtin', '--builtin-locale=C.UTF-8'] : []
  const { ok, stderr } = await runAs(account, join(binaries.folder, 'initdb'), [
    ...['-D', staging, '-U', superuser, '--encoding=UTF8', '--locale=C', ...locale],
    ...['--auth-local=peer', '--auth-host=reject', `--pwfile=${password}`],
    // The password is random and long, so nobody can guess it. Hashing it 4,096 times would only delay each connection.
    ...(binaries.major >= 16 ? ['-c', 'scram_iterations=1'] : []),
    ...['--no-instructions', ...(sync ? [] : ['--no-sync'])],
  ])
  if (!ok) {
    for (const path of [staging, password]) await rm(path, { recursive: true, force: true })
    throw new StartError(`Could not create a database in ${parent}: ${stderr}`)
  }
  await rename(password, join(staging, passwordFile))
  await writeFile(join(staging, authenticationFile), authentication, { mode: 0o600 })
  await handOver(account, join(staging, authenticationFile))
  try {
    await removeDanglingLink(cluster)
    if (inside) await rename(staging, cluster)
    else await symlink(staging, cluster)
  } catch (error) {
    await rm(staging, { recursive: true, force: true })
    return refuseUnlessCluster(cluster, errorCode(error))
  }
  if (!inside) {
    const message = `${account?.name} cannot enter the data folder, so the database is stored outside it`
    log.warn({ dataFolder: folder, database: staging }, message)
  }
}

async function handOver(account: Account | undefined, ...paths: readonly string[]): Promise<void> {
  if (account) await Promise.all(paths.map((path) => chown(path, account.uid, account.gid)))
}

async function isTaken(cluster: string): Promise<boolean> {
  try {
    return (await readdir(cluster)).length > 0
  } catch (error) {
    return errorCode(error) !== 'ENOENT'
  }
}

/** Another process may have been faster. Then its cluster is used. */
async function refuseUnlessCluster(cluster: string, code: string | undefined): Promise<void> {
  if ((await readMajor(cluster)) !== undefined) return
  throw new StartError(`Could not make a database in ${cluster} (${code}). Is there something else in that folder?`)
}

async function makeOutsideFolder(outsideFolder: string, folder: string): Promise<string> {
  try {
    await mkdir(outsideFolder, { recursive: true })
    await chmod(outsideFolder, 0o755)
    return await realpath(outsideFolder)
  } catch (error) {
    throw new StartError(
      `The data folder ${folder} is not reachable for Postgres, which does not run as root, and ${outsideFolder} cannot be made ` +
        `(${errorCode(error)}): set HOLDPOINT_DATA_DIR to a folder that every account can enter.`,
    )
  }
}

/**
 * The name contains the id of the process that uses the folder. If that process is gone, it was killed before it
 * finished.
 */
async function removeAbandonedStaging(folder: string): Promise<void> {
  for (const name of await readdir(folder)) {
    const maker = /^postgres\.new-(\d+)-/.exec(name)?.[1]
    if (maker !== undefined && !isAlive(Number(maker))) await rm(join(folder, name), { recursive: true, force: true })
  }
}

/** A link whose target was deleted does not count as a database. */
async function removeDanglingLink(cluster: string): Promise<void> {
  const target = await readlink(cluster).catch(() => undefined)
  if (target !== undefined && (await readMajor(target)) === undefined) await unlink(cluster)
}
