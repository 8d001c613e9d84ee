import { execFile } from 'node:child_process'
import { mkdir, readdir, readFile, rm, stat, writeFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { setTimeout } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'

const root = fileURLToPath(new URL('../../', import.meta.url))

const lock = join(root, 'node_modules/.cache/console-build')

/**
 * Builds the console and the documentation if a source of it is newer than what was built last. Test files run in
 * several processes: one of them builds, and the others wait for it.
 */
export async function ensureConsole(): Promise<void> {
  while (!(await isBuilt())) {
    if (await holdLock()) {
      try {
        await promisify(execFile)(process.execPath, [join(root, 'scripts/build-console.ts')])
      } finally {
        await rm(lock)
      }
    } else await setTimeout(200)
  }
}

async function isBuilt(): Promise<boolean> {
  const built = await changedAt(join(root, 'console/dist/index.html.br'))
  const sources = await Promise.all(
    ['console', 'client', 'react', 'docs'].map((folder) => newestIn(join(root, folder))),
  )
  return built > Math.max(...sources) && (await changedAt(lock)) === 0
}

/** False while another process builds. A lock that a killed process left is taken over. */
async function holdLock(): Promise<boolean> {
  await mkdir(dirname(lock), { recursive: true })
  try {
    await writeFile(lock, String(process.pid), { flag: 'wx' })
    return true
  } catch {
    const holder = Number(await readFile(lock, 'utf8').catch(() => '0'))
    if (holder > 0 && !isAlive(holder)) await rm(lock, { force: true })
    return false
  }
}

function isAlive(pid: number): boolean {
  try {
    return process.kill(pid, 0)
  } catch {
    return false
  }
}

async function newestIn(folder: string): Promise<number> {
  const names = await readdir(folder, { recursive: true })
  const sources = names.filter((name) => !name.startsWith('dist') && /\.\w+$/.test(name))
  return Math.max(...(await Promise.all(sources.map((name) => changedAt(join(folder, name))))))
}

async function changedAt(file: string): Promise<number> {
  const found = await stat(file).catch(() => undefined)
  return found?.mtimeMs ?? 0
}
