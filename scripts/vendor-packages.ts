import { mkdir, readdir, readFile, rm, writeFile } from 'node:fs/promises'
import { dirname, join, relative } from 'node:path'

import { build, type Plugin } from 'vite'

/**
 * Large packages of which the server uses a small part: 90 MB in node_modules, 3 MB when they are bundled here. They
 * are installed as part of the package itself.
 */
const packages = [
  { name: 'openai', used: 'openai', exported: '{ OpenAI, AzureOpenAI }' },
  { name: '@anthropic-ai/sdk', used: '@anthropic-ai/sdk', exported: '{ Anthropic }' },
  { name: 'gpt-tokenizer', used: 'gpt-tokenizer/encoding/o200k_base', exported: '{ countTokens, setMergeCacheSize }' },
] as const

/** Bundles them into `output`/vendor, with their licences, and makes the compiled server import them from there. */
export async function vendorPackages({ root, output }: { readonly root: string; readonly output: string }) {
  const folder = join(output, 'vendor')
  await mkdir(folder, { recursive: true })
  for (const entry of packages) await bundle(entry, { root, folder })
  const licences = packages.map(async ({ name }) => `${name}\n\n${await licenceOf(join(root, 'node_modules', name))}`)
  await writeFile(join(folder, 'LICENSES.txt'), (await Promise.all(licences)).join('\n\n'))
  await redirectImports(output, folder)
}

type Entry = (typeof packages)[number]

function fileOf({ name }: Entry): string {
  return `${name.replaceAll(/[@/]+/g, '-').replace(/^-/, '')}.js`
}

async function bundle(entry: Entry, { root, folder }: { readonly root: string; readonly folder: string }) {
  const file = fileOf(entry)
  // Resolved as if a file of the repository imported the package.
  const start = join(root, file)
  const plugin: Plugin = {
    name: 'entry',
    resolveId: { order: 'pre', handler: (id) => (id === start ? start : null) },
    load: (id) => (id === start ? `export ${entry.exported} from '${entry.used}'` : null),
  }
  await build({
    configFile: false,
    root,
    logLevel: 'error',
    plugins: [plugin],
    ssr: { noExternal: true },
    build: {
      ssr: start,
      outDir: folder,
      emptyOutDir: false,
      copyPublicDir: false,
      minify: true,
      target: 'node22',
      rolldownOptions: { output: { entryFileNames: file, codeSplitting: false } },
    },
  })
}

async function licenceOf(folder: string): Promise<string> {
  const name = (await readdir(folder)).find((file) => /^licen[cs]e/i.test(file))
  if (name !== undefined) return readFile(join(folder, name), 'utf8')
  const { license } = JSON.parse(await readFile(join(folder, 'package.json'), 'utf8')) as { license: string }
  return `Licence: ${license}\n`
}

/**
 * Only dynamic imports are found: type imports are gone, and none of these packages is imported when the server starts.
 */
async function redirectImports(output: string, folder: string): Promise<void> {
  const found = new Set<Entry>()
  for (const name of await readdir(join(output, 'src'), { recursive: true })) {
    if (!name.endsWith('.js')) continue
    const file = join(output, 'src', name)
    const source = await readFile(file, 'utf8')
    let changed = source
    for (const entry of packages) {
      const target = relative(dirname(file), join(folder, fileOf(entry)))
      const next = changed.replaceAll(
        new RegExp(`(\\bimport|import\\.meta\\.url\\))\\('${entry.used}'\\)`, 'g'),
        `$1('${target}')`,
      )
      if (next !== changed) found.add(entry)
      changed = next
    }
    if (changed !== source) await writeFile(file, changed)
  }
  const missing = packages.filter((entry) => !found.has(entry))
  if (missing.length > 0) throw new Error(`Nothing imports ${missing.map(({ used }) => used).join(', ')} any more.`)
  await rm(join(folder, '.vite'), { recursive: true, force: true })
}
