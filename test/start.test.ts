import { execFile } from 'node:child_process'
import { copyFile } from 'node:fs/promises'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'

import { expect, test } from 'vitest'

import { makeTemporaryFolder } from './support/temporary-folder.ts'

/** Prints the packages that importing the server loads, and how many copies of each. */
const program = `
  import { registerHooks } from 'node:module'
  const folders = new Map()
  registerHooks({
    load(url, context, next) {
      const [, folder, name] = /^(.*\\/node_modules\\/((?:@[^/]+\\/)?[^/]+))\\//.exec(url) ?? []
      if (name) folders.set(name, (folders.get(name) ?? new Set()).add(folder))
      return next(url, context)
    },
  })
  await import(process.argv[1])
  console.log(JSON.stringify([...folders].map(([name, copies]) => [name, copies.size])))
  process.exit()`

test('[CLI12] a start loads no package that only some requests need, and no large one twice', async () => {
  const app = fileURLToPath(new URL('../src/app.ts', import.meta.url))
  const { stdout } = await promisify(execFile)(process.execPath, ['--input-type=module', '-e', program, app])
  const loaded = new Map(JSON.parse(stdout) as [string, number][])
  expect(loaded.get('kysely')).toBe(1)
  for (const later of [
    'gpt-tokenizer',
    'ajv',
    're2js',
    'yaml',
    'openai',
    '@anthropic-ai/sdk',
    '@modelcontextprotocol/sdk',
    'quickjs-emscripten-core',
  ]) {
    expect(loaded.has(later), later).toBe(false)
  }
  for (const large of ['graphql', '@graphql-tools/utils']) expect(loaded.get(large), large).toBe(1)
})

test.each([
  ['production', undefined],
  ['development', 'development'],
])('[CLI13] NODE_ENV is %s if it was %s', async (expected, given) => {
  const bin = fileURLToPath(new URL('../bin/holdpoint.mjs', import.meta.url))
  const tell = 'data:text/javascript,process.on("exit", () => console.log(process.env.NODE_ENV))'
  const { NODE_ENV: _, ...env } = process.env
  const { stdout } = await promisify(execFile)(process.execPath, ['--import', tell, bin, '--version'], {
    env: given === undefined ? env : { ...env, NODE_ENV: given },
  })
  expect(stdout.split('\n')).toEqual([expect.stringMatching(/^\d/), expected, ''])
})

test('[CLI14] npm warns of nothing when a clone is installed with an older Node', async () => {
  const folder = await makeTemporaryFolder()
  for (const name of ['.npmrc', 'package.json', 'package-lock.json'])
    await copyFile(new URL(`../${name}`, import.meta.url), join(folder, name))
  const older = `--import "data:text/javascript,Object.defineProperty(process,'version',{value:'v20.20.2'})"`
  const { stderr } = await promisify(execFile)('npm', ['ci', '--dry-run', '--ignore-scripts', '--offline'], {
    cwd: folder,
    env: { PATH: process.env['PATH'], HOME: folder, NODE_OPTIONS: older },
  })
  expect(stderr).toBe('')
})
