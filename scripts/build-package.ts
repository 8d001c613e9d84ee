import { execFile } from 'node:child_process'
import { cp, readdir, readFile, rm, writeFile } from 'node:fs/promises'
import { dirname, join, resolve } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'

/**
 * Compiles what an installed package runs into dist/, which has the layout of the repository, because Node does not
 * strip types below node_modules. Types are kept for the entry points and what they refer to.
 */
const root = fileURLToPath(new URL('../', import.meta.url))
const output = join(root, 'dist')
const manifest = JSON.parse(await readFile(join(root, 'package.json'), 'utf8')) as Manifest

interface Manifest {
  readonly version: string
  readonly exports: Readonly<Record<string, string | { readonly types: string }>>
}

await rm(output, { recursive: true, force: true })
await compile()
await removeInnerTypes()
for (const folder of ['console/dist', 'templates'])
  await cp(join(root, folder), join(output, folder), { recursive: true })
await writeFile(join(output, 'package.json'), `${JSON.stringify({ type: 'module', version: manifest.version })}\n`)

async function compile(): Promise<void> {
  const compiler = join(root, 'node_modules/.bin/tsc')
  await promisify(execFile)(compiler, ['-p', 'tsconfig.package.json'], { cwd: root }).catch((error: unknown) => {
    throw new Error((error as { stdout?: string }).stdout || String(error))
  })
}

async function removeInnerTypes(): Promise<void> {
  const entries = Object.values(manifest.exports).flatMap((entry) => (typeof entry === 'string' ? [] : [entry.types]))
  const kept = new Set<string>()
  for (const entry of entries) await keep(join(root, entry))
  for (const name of await readdir(output, { recursive: true })) {
    const file = join(output, name)
    if (name.endsWith('.d.ts') && !kept.has(file)) await rm(file)
  }

  async function keep(file: string): Promise<void> {
    if (kept.has(file)) return
    kept.add(file)
    for (const [, target] of (await readFile(file, 'utf8')).matchAll(/['"](\.{1,2}\/[^'"]+)\.[jt]s['"]/g))
      await keep(`${resolve(dirname(file), target!)}.d.ts`)
  }
}
