import { execFile } from 'node:child_process'
import { mkdir, readdir, readFile, rm, stat, symlink } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'

const root = fileURLToPath(new URL('../../', import.meta.url))
const run = promisify(execFile)

export interface PackedFile {
  readonly path: string
  readonly size: number
}

export interface Package {
  readonly tarball: string
  readonly size: number
  readonly files: readonly PackedFile[]
}

/** With fewer garbage collections, which it makes on all processors, the compiler takes half the time. */
export const compilerEnv = { ...process.env, GOGC: '400' }

/** Builds the package and packs it, as `npm pack` does. */
export async function packPackage(folder: string): Promise<Package> {
  const stdout = await alone(async () => {
    await run(process.execPath, [join(root, 'scripts/build-package.ts')], { env: compilerEnv })
    const options = ['--json', '--ignore-scripts', '--silent', '--pack-destination', folder]
    return (await run('npm', ['pack', ...options], { cwd: root })).stdout
  })
  // A list or, since npm 12, an object by name.
  const [packed] = Object.values(JSON.parse(stdout) as Record<string, Package & { readonly filename: string }>)
  return { tarball: join(folder, packed!.filename), size: packed!.size, files: packed!.files }
}

/** Two test files build the package into the same folder, so one waits for the other. */
async function alone<Result>(work: () => Promise<Result>): Promise<Result> {
  const lock = join(root, 'node_modules/.cache/package-lock')
  await mkdir(dirname(lock), { recursive: true })
  while (
    !(await mkdir(lock).then(
      () => true,
      () => false,
    ))
  ) {
    const { mtimeMs } = await stat(lock).catch(() => ({ mtimeMs: Date.now() }))
    // Whoever had it was killed.
    if (Date.now() - mtimeMs > 300_000) await rm(lock, { recursive: true, force: true })
    await sleep(200)
  }
  try {
    return await work()
  } finally {
    await rm(lock, { recursive: true, force: true })
  }
}

/**
 * The result of `npm install holdpoint` in an empty folder, made offline: the package from its tarball, and next to it
 * exactly the packages of this clone that it depends on. Node must be told to keep symbolic links (`installedOptions`),
 * or a package would find everything in the clone.
 */
export async function installPackage(tarball: string, folder: string): Promise<void> {
  const target = join(folder, 'node_modules/holdpoint')
  await mkdir(target, { recursive: true })
  await run('tar', ['-xzf', tarball, '-C', target, '--strip-components=1'])
  for (const name of await productionPackages()) await linkPackage(name, folder)
}

/** A package that the project needs besides Holdpoint. */
export async function linkPackage(name: string, folder: string): Promise<void> {
  const link = join(folder, 'node_modules', name)
  await mkdir(dirname(link), { recursive: true })
  await symlink(join(root, 'node_modules', name), link)
}

export const installedOptions = { NODE_OPTIONS: '--preserve-symlinks' }

/** The packages at the top of node_modules that an installation has on this platform. */
async function productionPackages(): Promise<string[]> {
  const lock = JSON.parse(await readFile(join(root, 'package-lock.json'), 'utf8')) as Lock
  const names = Object.entries(lock.packages)
    .filter(
      ([path, { dev, devOptional, peer }]) =>
        /^node_modules\/(@[^/]+\/)?[^/]+$/.test(path) && !dev && !devOptional && !peer,
    )
    .map(([path]) => path.slice('node_modules/'.length))
  const found = await Promise.all(names.map((name) => stat(join(root, 'node_modules', name)).catch(() => undefined)))
  return names.filter((_, index) => found[index])
}

interface Lock {
  readonly packages: Readonly<
    Record<string, { readonly dev?: boolean; readonly devOptional?: boolean; readonly peer?: boolean }>
  >
}

/** The size of the installation on a disk with blocks of 4 KB. */
export async function installedBytes(folder: string): Promise<number> {
  const modules = join(folder, 'node_modules')
  const names = (await readdir(modules)).map(async (name) =>
    name.startsWith('@') ? (await readdir(join(modules, name))).map((inner) => join(name, inner)) : [name],
  )
  const sizes = (await Promise.all(names)).flat().map(async (name) => sizeOf(join(modules, name)))
  return (await Promise.all(sizes)).reduce((sum, size) => sum + size, 0)
}

async function sizeOf(folder: string): Promise<number> {
  const entries = await readdir(folder, { recursive: true, withFileTypes: true })
  const files = entries.filter((entry) => entry.isFile() || entry.isDirectory())
  const sizes = await Promise.all(files.map(async (entry) => (await stat(join(entry.parentPath, entry.name))).size))
  return sizes.reduce((sum, size) => sum + Math.ceil(size / 4096) * 4096, 0)
}
