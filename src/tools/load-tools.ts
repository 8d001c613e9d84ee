import { readdir, stat } from 'node:fs/promises'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'

import { builtinTools } from '../domain/tools/builtin-tools.ts'
import { checkedToolName, shown } from '../domain/input.ts'
import { mergeTool, unsetTool } from '../domain/tools/tool-input.ts'
import { errorMessage } from '../util/error-message.ts'
import { judged } from '../util/json-schema.ts'
import { isJsonObject, keysOf, storableJson } from '../util/json.ts'
import { nearest } from '../util/nearest.ts'
import { StartError } from '../util/start-error.ts'
import { defineTool, type ToolDefinition } from './registry.ts'
import { isStandardSchema } from './standard-schema.ts'

/** What should be a tool, and where it was found. */
interface Found {
  readonly value: unknown
  /** Ends the phrase "the tool add …". Empty for a tool of the program. */
  readonly place: string
  /** Names the value if it has no name of its own. */
  readonly label: string
}

/**
 * The tools of the program, and those in a module or in every module of a folder. They are checked, so that a tool that
 * could not be called, or would not do what its author meant, fails here and not at its first call.
 */
export async function loadTools(given: unknown, path: string | undefined): Promise<ToolDefinition[]> {
  if (!Array.isArray(given)) throw new StartError('`tools` of createApp must be a list of tools.')
  const ofProgram = given.map((value, index) => ({ value, place: '', label: `Tool ${index + 1} of createApp` }))
  const found = [...ofProgram, ...(path === undefined ? [] : await findTools(path))]
  return judged('code', () => checkedTools(found))
}

function checkedTools(tools: readonly Found[]): ToolDefinition[] {
  const places = new Map(builtinTools.map(({ name }) => [name, ' of the server']))
  return tools.map((found) => {
    const tool = checkedTool(found)
    const other = places.get(tool.name)
    if (other !== undefined)
      throw new StartError(
        `There are two tools named ${tool.name}: one${found.place || ' of createApp'}, one${other}. Each needs its own name.`,
      )
    places.set(tool.name, found.place || ' of createApp')
    return tool
  })
}

async function findTools(path: string): Promise<Found[]> {
  const found = await stat(path).catch(() => undefined)
  if (!found) throw new StartError(`HOLDPOINT_TOOLS is "${path}", where there is neither a module nor a folder.`)
  const files = found.isDirectory() ? (await readdir(path)).filter(isModule).toSorted() : ['']
  if (files.length === 0) throw new StartError(`HOLDPOINT_TOOLS is "${path}", a folder without a module.`)
  const tools = await Promise.all(files.map((file) => loadModule(join(path, file))))
  return tools.flat()
}

function isModule(file: string): boolean {
  return /\.[cm]?[jt]s$/.test(file) && !/\.(d|test)\.[cm]?[jt]s$/.test(file)
}

async function loadModule(file: string): Promise<Found[]> {
  let exported: Record<string, unknown>
  try {
    exported = exportsOf((await import(pathToFileURL(file).href)) as Record<string, unknown>)
  } catch (error) {
    throw new StartError(`The tools in ${file} cannot be loaded: ${errorMessage(error)}`, { cause: error })
  }
  const values = Object.entries(exported).flatMap(([name, value]) =>
    Array.isArray(value)
      ? value.map((entry, index) => [`${name}[${index}]`, entry] as const)
      : [[name, value] as const],
  )
  if (values.length === 0)
    throw new StartError(`${file} exports no tool: an object with name, description, parameters and run.`)
  // A tool may be exported both under a name and as the default.
  const labels = new Map(values.toReversed().map(([name, value]) => [value, `The export "${name}" of ${file}`]))
  return [...new Set(values.map(([, value]) => value))].map((value) => {
    return { value, place: ` in ${file}`, label: labels.get(value)! }
  })
}

/** Of a CommonJS module, `default` is `module.exports`, and some of its properties are exports too. */
function exportsOf({ 'module.exports': _same, ...exported }: Record<string, unknown>): Record<string, unknown> {
  const { default: whole, ...named } = exported
  const isCommon =
    isJsonObject(whole) &&
    Object.keys(named).length > 0 &&
    Object.entries(named).every(([name, value]) => name === '__esModule' || whole[name] === value)
  if (!isCommon) return exported
  // Either all of it is one tool, or each property is an export.
  return typeof whole['name'] === 'string' ? { default: whole } : { ...whole }
}

interface Kind {
  readonly expected: string
  readonly fits: (value: unknown) => boolean
}

const text: Kind = { expected: 'a text', fits: (value) => typeof value === 'string' }
const flag: Kind = { expected: 'true or false', fits: (value) => typeof value === 'boolean' }
const count: Kind = { expected: 'a whole number', fits: Number.isInteger }

/** Every option of a tool in code. */
const options: { readonly [Name in keyof ToolDefinition]-?: Kind } = {
  name: text,
  description: text,
  parameters: {
    expected: 'a JSON Schema or a Standard Schema',
    fits: (value) => isPlain(value) || isStandardSchema(value),
  },
  requiresApproval: flag,
  approvalCondition: {
    expected: 'a JSON Schema',
    fits: (value) => isPlain(value) || flag.fits(value) || value === null,
  },
  approvalTimeoutMs: count,
  parallel: flag,
  idempotent: flag,
  timeoutMs: count,
  returnCharLimit: count,
  tags: { expected: 'a list of texts', fits: (value) => Array.isArray(value) && value.every(text.fits) },
  run: { expected: 'a function', fits: (value) => typeof value === 'function' },
}
const required: readonly (keyof ToolDefinition)[] = ['name', 'parameters', 'run']

function isPlain(value: unknown): boolean {
  return isJsonObject(value) && !isStandardSchema(value)
}

function checkedTool({ value, place, label }: Found): ToolDefinition {
  if (!isJsonObject(value))
    throw new StartError(
      `${label} is not a tool: an object with name, description, parameters and run. A module of tools exports only tools and lists of tools.`,
    )
  // Methods and getters of a class are not options of its own: they would be lost, and `requiresApproval` with them.
  if (![Object.prototype, null].includes(Object.getPrototypeOf(value)))
    throw new StartError(`${label} is not a plain object. Write a tool as { name, description, parameters, run }.`)
  const tool = value as unknown as ToolDefinition
  const subject = typeof tool.name === 'string' ? `The tool ${tool.name}${place}` : label
  const wrong = (problem: string) => new StartError(`${subject} cannot be registered: ${problem}`)

  const known = keysOf(options)
  const unknown = Object.keys(tool).find((key) => !Object.hasOwn(options, key))
  if (unknown !== undefined)
    throw wrong(`there is no option "${unknown}". The nearest one is "${nearest(unknown, known)}".`)
  for (const name of known) {
    if (tool[name] === undefined ? !required.includes(name) : options[name].fits(tool[name])) continue
    throw wrong(`${name} is ${kindOf(tool[name])}, but must be ${options[name].expected}.`)
  }
  try {
    const { name, run, ...given } = defineTool(tool)
    const settings = storableJson(given)
    // The same limits as for a tool that a client makes.
    checkedToolName('name', name)
    mergeTool(unsetTool, settings)
    return { name, run, ...settings }
  } catch (error) {
    throw wrong(errorMessage(error).replace(/^input\./, ''))
  }
}

/** A value for an error message, if it is short. */
function kindOf(value: unknown): string {
  if (value === undefined) return 'missing'
  if (typeof value === 'string') return shown(value)
  if (typeof value === 'number' || typeof value === 'boolean' || value === null) return String(value)
  if (Array.isArray(value)) return 'a list'
  return typeof value === 'object' ? 'an object' : `a ${typeof value}`
}
