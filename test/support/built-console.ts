import { execFile } from 'node:child_process'
import { readdir, stat } from 'node:fs/promises'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'

const root = fileURLToPath(new URL('../../', import.meta.url))

/** Builds the console and the documentation if one of their sources is newer than the last build. */
export async function ensureConsole(): Promise<void> {
  const built = await changedAt(join(root, 'console/dist/index.html.br'))
  const sources = await Promise.all(
    ['console', 'client', 'react', 'docs'].map((folder) => newestIn(join(root, folder))),
  )
  if (built > Math.max(...sources)) return
  await promisify(execFile)(process.execPath, [join(root, 'scripts/build-console.ts')])
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
