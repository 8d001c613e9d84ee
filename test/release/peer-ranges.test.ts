import { execFile } from 'node:child_process'
import { copyFile, readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { promisify } from 'node:util'

import { beforeAll, expect, test } from 'vitest'

import { packPackage } from '../support/installed-package.ts'
import { makeTemporaryFolder } from '../support/temporary-folder.ts'
import { createTestDatabase } from '../support/database.ts'

const run = promisify(execFile)
const program = join(import.meta.dirname, 'front-end-page.mjs')
const { devDependencies } = JSON.parse(await readFile(join(import.meta.dirname, '../../package.json'), 'utf8'))

/** The ends of the ranges of `peerDependencies`. The newest versions are those that the other tests use. */
const ends: Readonly<Record<string, Readonly<Record<string, string>>>> = {
  oldest: {
    graphql: '16.11.0',
    ai: '6.0.0',
    '@ai-sdk/react': '3.0.0',
    '@ag-ui/core': '0.0.59',
    '@ag-ui/client': '0.0.59',
  },
  newest: Object.fromEntries(
    ['graphql', 'ai', '@ai-sdk/react', '@ag-ui/core', '@ag-ui/client'].map((name) => [name, devDependencies[name]]),
  ),
}

const hasRegistry = await run('npm', ['view', 'graphql@16.11.0', 'version'], { timeout: 20_000 }).then(
  () => true,
  () => false,
)

let tarball: string

beforeAll(async () => {
  if (hasRegistry) ({ tarball } = await packPackage(await makeTemporaryFolder()))
}, 300_000)

test.skipIf(!hasRegistry).for(Object.entries(ends))(
  '[PKG64] with the %s versions of its peers it installs, serves a chat and an AG-UI client',
  { timeout: 600_000 },
  async ([, versions]) => {
    const folder = await makeTemporaryFolder()
    const database = await createTestDatabase()
    const dependencies = {
      ...versions,
      holdpoint: `file:${tarball}`,
      react: devDependencies.react,
      zod: devDependencies.zod,
    }
    await writeFile(join(folder, 'package.json'), JSON.stringify({ type: 'module', dependencies }))
    // Peers that do not fit end the installation with ERESOLVE.
    await run('npm', ['install', '--omit=optional', '--ignore-scripts', '--no-audit', '--no-fund'], { cwd: folder })
    await copyFile(program, join(folder, 'page.mjs'))
    const { stdout } = await run(process.execPath, ['page.mjs'], {
      cwd: folder,
      env: { PATH: process.env['PATH'], LOG_LEVEL: 'error', DATABASE_URL: database.url },
    })
    await database.close()
    expect(JSON.parse(stdout.trim().split('\n').at(-1)!)).toEqual({
      texts: ['say Two.', 'Two.', 'call pay {"amount": 5}', expect.stringContaining('paid')],
      output: { paid: 5 },
      approved: true,
      roles: ['user', 'assistant', 'tool', 'assistant'],
      later: ['user', 'assistant', 'tool', 'assistant'],
      loaded: 'function',
    })
  },
)
