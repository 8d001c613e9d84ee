import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { dirname, join, relative, resolve } from 'node:path'
import { fileURLToPath } from 'node:url'

import { expect, test } from 'vitest'

/**
 * Which room may import which. Every room may import itself. Files outside of the rooms are the entry points and the
 * composition root.
 */
const mayImport: Record<string, readonly string[]> = {
  util: [],
  domain: ['util'],
  providers: ['domain', 'util'],
  store: ['domain', 'util'],
  live: ['store', 'domain', 'util'],
  telemetry: ['domain', 'util'],
  tools: ['store', 'domain', 'util'],
  auth: ['store', 'domain', 'util'],
  commands: ['store', 'live', 'auth', 'domain', 'util'],
  engine: ['providers', 'tools', 'store', 'live', 'domain', 'util'],
  worker: ['engine', 'commands', 'store', 'live', 'domain', 'util'],
  graphql: ['commands', 'store', 'live', 'auth', 'domain', 'util'],
  server: ['graphql', 'auth', 'util'],
  config: ['domain', 'util'],
  cli: ['commands', 'store', 'domain', 'util'],
}

/**
 * Packages that only these rooms may use. The types of a database and a pool are not SQL, so other rooms may use them.
 */
const owners: readonly (readonly [pattern: RegExp, rooms: readonly string[]])[] = [
  [/^(openai|@anthropic-ai\/|@google\/genai)/, ['providers']],
  [/^(kysely|pg)$/, ['store']],
  [/^(@pothos\/|dataloader$)/, ['graphql']],
  [/^(graphql-yoga|graphql-ws|ws|@graphql-yoga\/|@escape\.tech\/)/, ['server']],
  [/^graphql$/, ['graphql', 'server']],
  [/^(quickjs-|@jitl\/|@modelcontextprotocol\/)/, ['tools']],
  [/^(ajv|re2js)/, ['util']],
  [/^jose$/, ['auth']],
  [/^redis$/, ['live']],
]

const source = fileURLToPath(new URL('../src/', import.meta.url))
const files = readdirSync(source, { recursive: true, encoding: 'utf8' }).filter((file) => file.endsWith('.ts'))
const imports = files.flatMap((file) => importsOf(file))

interface Import {
  readonly file: string
  readonly room: string
  readonly target: string
  /** Type imports do not exist at run time. */
  readonly typeOnly: boolean
}

function importsOf(file: string): Import[] {
  const text = readFileSync(join(source, file), 'utf8')
  const pattern =
    /^\s*(?:import|export)(\s+type)?\s[^'"]*?from\s+['"]([^'"]+)['"]|^import\s+['"]([^'"]+)['"]|import\(\s*['"]([^'"]+)['"]\s*\)/gm
  return [...text.matchAll(pattern)].map(([, type, from, bare, dynamic]) => ({
    file,
    room: roomOf(file),
    target: (from ?? bare ?? dynamic)!,
    typeOnly: type !== undefined,
  }))
}

function roomOf(file: string): string {
  return file.includes('/') ? file.split('/')[0]! : ''
}

function pathOf({ file, target }: Import): string {
  return relative(source, resolve(source, dirname(file), target))
}

const local = imports.filter(({ target }) => target.startsWith('.'))

test('[ARC1] every room is in the table, and imports only what the table allows', () => {
  expect(new Set(files.map(roomOf).filter(Boolean))).toEqual(new Set(Object.keys(mayImport)))
  const forbidden = local.filter((entry) => {
    const to = roomOf(pathOf(entry))
    return entry.room !== '' && entry.room !== to && !mayImport[entry.room]!.includes(to)
  })
  expect(forbidden.map(({ file, target }) => `${file} → ${target}`)).toEqual([])
})

test('[ARC2] no file imports itself through others', () => {
  const next = Map.groupBy(local, ({ file }) => file)
  const done = new Set<string>()
  const cycles: string[] = []
  const visit = (file: string, path: readonly string[]): void => {
    const start = path.indexOf(file)
    if (start >= 0) return void cycles.push([...path.slice(start), file].join(' → '))
    if (done.has(file)) return
    for (const entry of next.get(file) ?? []) visit(pathOf(entry), [...path, file])
    done.add(file)
  }
  for (const file of files) visit(file, [])
  expect(cycles).toEqual([])
})

test('[ARC3] packages stay in their rooms', () => {
  const strays = imports.filter(({ room, target, typeOnly }) => {
    const owner = owners.find(([pattern]) => pattern.test(target))
    const typesMayTravel = ['kysely', 'pg'].includes(target) && typeOnly
    return owner && !owner[1].includes(room) && !typesMayTravel
  })
  expect(strays.map(({ file, target }) => `${file} → ${target}`)).toEqual([])
})

test('[ARC4] only config/config.ts reads the environment', () => {
  const readers = files.filter((file) => readFileSync(join(source, file), 'utf8').includes('process.env'))
  expect(readers).toEqual(['config/config.ts'])
})

test('[ARC5] no default exports, no TypeScript enums, no namespaces', () => {
  const offenders = files.filter((file) =>
    /^(export default |(export )?(const )?enum |(export )?namespace )/m.test(readFileSync(join(source, file), 'utf8')),
  )
  expect(offenders).toEqual([])
})

test('[ARC6] every rule of SPEC.md has one meaning and a test, and every test a rule', () => {
  const folder = fileURLToPath(new URL('./', import.meta.url))
  const rules = [...readFileSync(join(folder, 'SPEC.md'), 'utf8').matchAll(/^- \*\*([A-Z]+\d+)\*\*/gm)].map(
    ([, id]) => id!,
  )
  const tested = readdirSync(folder, { recursive: true, encoding: 'utf8' })
    .filter((file) => file.endsWith('.test.ts'))
    .flatMap((file) => [...readFileSync(join(folder, file), 'utf8').matchAll(/\[([A-Z]+\d+)\]/g)].map(([, id]) => id!))
  expect(rules.filter((id, place) => rules.indexOf(id) !== place)).toEqual([])
  expect(rules.filter((id) => !tested.includes(id))).toEqual([])
  expect(tested.filter((id) => !rules.includes(id))).toEqual([])
})

test('[ARC7] every path that ARCHITECTURE.md and CONTRIBUTING.md name exists', () => {
  const root = join(source, '..')
  const missing = ['ARCHITECTURE.md', 'CONTRIBUTING.md'].flatMap((page) => {
    const prose = readFileSync(join(root, page), 'utf8').replaceAll(/^```[^]*?^```/gm, '')
    const paths = [...prose.matchAll(/`((?:\w[\w.-]*\/)+[\w.-]*)`/g)].map(([, path]) => path!)
    expect(paths.length).toBeGreaterThan(20)
    // The examples of CONTRIBUTING.md add these.
    return paths.filter((path) => !/\/(acme|wasm)\.ts$/.test(path) && !isThere(root, path) && !isThere(source, path))
  })
  expect(missing).toEqual([])
})

function isThere(folder: string, path: string): boolean {
  return ['', '.ts', '.tsx'].some((ending) => existsSync(join(folder, path + ending)))
}
