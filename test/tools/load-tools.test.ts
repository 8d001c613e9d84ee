import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'

import { expect, test } from 'vitest'
import { z } from 'zod'

import { loadTools } from '../../src/tools/load-tools.ts'
import { defineTool } from '../../src/tools/registry.ts'
import { StartError } from '../../src/util/start-error.ts'
import { makeTemporaryFolder } from '../support/temporary-folder.ts'

const pay = { name: 'pay', description: 'Pays.', parameters: { type: 'object' }, run: () => 'paid' }

test('[COD6] settings in code are checked at the start like those that a client gives', async () => {
  const loaded = (settings: object) => loadTools([{ ...pay, ...settings }], undefined)
  await expect(loaded({ approvalCondition: { type: 'nonsense' } })).rejects.toThrow(
    /^The tool pay cannot be registered: approvalCondition: It is not a valid JSON Schema/,
  )
  await expect(loaded({ timeoutMs: 0 })).rejects.toThrow(/timeoutMs: 0 is out of range/)
  await expect(loaded({ tags: ['a', 'a'] })).rejects.toThrow(/tags.1: "a" is given twice/)
  await expect(loaded({ description: 'x'.repeat(10_001) })).rejects.toThrow(/description: It has 10001 characters/)
  expect(await loaded({ approvalTimeoutMs: 7 * 86_400_000 })).toHaveLength(1)
})

test.each<[given: object, problem: string]>([
  [{ requireApproval: true }, 'there is no option "requireApproval". The nearest one is "requiresApproval".'],
  [{ descripton: 'Pays.' }, 'there is no option "descripton". The nearest one is "description".'],
  [{ timeoutMS: 5 }, 'there is no option "timeoutMS". The nearest one is "timeoutMs".'],
  [{ requiresApproval: 'yes' }, 'requiresApproval is "yes", but must be true or false.'],
  [{ requiresApproval: null }, 'requiresApproval is null, but must be true or false.'],
  [{ parallel: 1 }, 'parallel is 1, but must be true or false.'],
  [{ description: 5 }, 'description is 5, but must be a text.'],
  [{ timeoutMs: '5' }, 'timeoutMs is "5", but must be a whole number.'],
  [{ approvalTimeoutMs: 1.5 }, 'approvalTimeoutMs is 1.5, but must be a whole number.'],
  [{ returnCharLimit: Number.NaN }, 'returnCharLimit is NaN, but must be a whole number.'],
  [{ tags: 'money' }, 'tags is "money", but must be a list of texts.'],
  [{ tags: ['money', 5] }, 'tags is a list, but must be a list of texts.'],
  [{ approvalCondition: z.object({}) }, 'approvalCondition is an object, but must be a JSON Schema.'],
  [{ parameters: undefined }, 'parameters is missing, but must be a JSON Schema or a Standard Schema.'],
  [{ parameters: 'none' }, 'parameters is "none", but must be a JSON Schema or a Standard Schema.'],
  [{ run: 'pay()' }, 'run is "pay()", but must be a function.'],
])('[COD7] a misspelled or wrongly typed option of a tool stops the start: %j', async (given, problem) => {
  const line = `The tool pay cannot be registered: ${problem}`
  await expect(loadTools([{ ...pay, ...given }], undefined)).rejects.toThrow(new StartError(line))
})

test('[COD6] what the database cannot store is replaced, as in what a client gives', async () => {
  const parameters = { type: 'object', properties: { 'a\u0000': { description: 'half \ud83d' } } }
  const given = {
    ...pay,
    description: 'Pays\u0000 \ud83d.',
    tags: ['mon\u0000ey'],
    parameters,
    approvalCondition: { title: '\u0000' },
  }
  expect(await loadTools([given], undefined)).toEqual([
    {
      ...pay,
      description: 'Pays \ufffd.',
      tags: ['money'],
      parameters: { type: 'object', properties: { a: { description: 'half \ufffd' } } },
      approvalCondition: { title: '' },
    },
  ])
})

test('[COD7] an instance of a class is refused: what it inherits would be lost', async () => {
  class Pay {
    readonly name = 'pay'
    readonly parameters = { type: 'object' }
    get requiresApproval() {
      return true
    }
    run() {
      return 'paid'
    }
  }
  for (const tool of [new Pay(), Object.create(pay)])
    await expect(loadTools([tool], undefined)).rejects.toThrow(/^Tool 1 of createApp is not a plain object\. Write/)
})

test('[COD7] what is no tool in createApp({ tools }) is refused', async () => {
  const refused = (given: unknown, line: RegExp) => expect(loadTools(given, undefined)).rejects.toThrow(line)
  await refused(pay, /^`tools` of createApp must be a list of tools\.$/)
  await refused([pay, () => pay], /^Tool 2 of createApp is not a tool: an object with name/)
  await refused([{ ...pay, name: 5 }], /^Tool 1 of createApp cannot be registered: name is 5, but must be a text\.$/)
})

const good = 'export const pay = { name: "pay", parameters: { type: "object" }, run: () => 1 }'
const noTool =
  'is not a tool: an object with name, description, parameters and run. A module of tools exports only tools and lists of tools.'
test.each<[code: string, line: string]>([
  [
    `${good}; export const give = { ...pay, name: "give", requireApproval: true }`,
    'The tool give in FILE cannot be registered: there is no option "requireApproval". The nearest one is "requiresApproval".',
  ],
  [
    `${good}; export const give = { ...pay, name: undefined }`,
    'The export "give" of FILE cannot be registered: name is missing, but must be a text.',
  ],
  [
    `${good}; export const give = { ...pay, name: "give", run: "give()" }`,
    'The tool give in FILE cannot be registered: run is "give()", but must be a function.',
  ],
  [
    `${good}; export default [pay, { nam: "give" }]`,
    'The export "default[1]" of FILE cannot be registered: there is no option "nam". The nearest one is "name".',
  ],
  [`${good}; export const help = () => pay`, `The export "help" of FILE ${noTool}`],
  [`${good}; export const rate = 7`, `The export "rate" of FILE ${noTool}`],
  [
    `${good}; export default [{ ...pay }]`,
    'There are two tools named pay: one in FILE, one in FILE. Each needs its own name.',
  ],
])('[COD7] an export that cannot be used stops the start, although another one can: %s', async (code, line) => {
  const file = join(await makeTemporaryFolder(), 'tools.mjs')
  await writeFile(file, code)
  await expect(loadTools([], file)).rejects.toThrow(new StartError(line.replaceAll('FILE', file)))
})

test('[COD7] a folder of tools without a module stops the start, and no module of a folder is left out', async () => {
  const folder = await makeTemporaryFolder()
  await expect(loadTools([], folder)).rejects.toThrow(`HOLDPOINT_TOOLS is "${folder}", a folder without a module.`)
  await writeFile(
    join(folder, 'pay.cjs'),
    'module.exports = { name: "pay", parameters: { type: "object" }, run: () => 1 }',
  )
  await writeFile(join(folder, 'pay.test.cjs'), 'throw new Error()')
  expect(await loadTools([], folder)).toMatchObject([{ name: 'pay' }])
})

test('[COD7] a schema that cannot become a JSON Schema is refused with the name of its tool', async () => {
  const parameters = z.object({ due: z.date() })
  expect(() => defineTool({ ...pay, parameters })).toThrow(/^The parameters of the tool pay cannot be used: Date/)
  await expect(loadTools([{ ...pay, parameters }], undefined)).rejects.toThrow(
    /^The tool pay cannot be registered: .*Date/,
  )
})

test('[COD1] a tool may be exported under a name and as the default, or by a CommonJS module', async () => {
  const folder = await makeTemporaryFolder()
  const tool = '{ name: "pay", parameters: { type: "object" }, run: () => 1 }'
  const modules = {
    'twice.mjs': `export const pay = ${tool}; export default pay`,
    'listed.mjs': `export const pay = ${tool}; export default [pay]`,
    'both.mjs': `export const pay = ${tool}; export default { pay }`,
    'whole.js': `module.exports = ${tool}`,
    'list.js': `module.exports = [${tool}]`,
    'named.js': `exports.pay = ${tool}`,
    'whole.cjs': `module.exports = ${tool}`,
    'typed.cts': `module.exports = ${tool} as const`,
    'transpiled.js': `Object.defineProperty(exports, '__esModule', { value: true }); exports.pay = ${tool}`,
  }
  for (const [file, code] of Object.entries(modules)) {
    await writeFile(join(folder, file), code)
    const loaded = await loadTools([], join(folder, file))
    expect(
      loaded.map(({ name }) => name),
      file,
    ).toEqual(['pay'])
  }
})
