import { readdir, stat } from 'node:fs/promises'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'

import { builtinTools } from '../domain/builtin-tools.ts'
import { checkedNumber, checkedSchema, checkedTags, checkedToolName } from '../domain/input.ts'
import { compileSchema } from '../util/json-schema.ts'
import { StartError } from '../util/start-error.ts'
import { defineTool, type ToolDefinition } from './registry.ts'

/** The tools that a module exports, one by one or as a list, or those of every module in a folder. */
export async function loadTools(path: string): Promise<ToolDefinition[]> {
  const found = await stat(path).catch(() => undefined)
  if (!found) throw new StartError(`HOLDPOINT_TOOLS is "${path}", where there is neither a module nor a folder.`)
  const files = found.isDirectory() ? (await readdir(path)).filter(isModule).toSorted() : ['']
  const tools = await Promise.all(files.map((file) => loadModule(join(path, file))))
  return tools.flat()
}

/** Checks tools at the start, so that one that could not be called fails here and not at its first call. */
export function checkTools(tools: readonly ToolDefinition[]): void {
  const names = new Set<string>(builtinTools.map((tool) => tool.name))
  for (const tool of tools) {
    checkSettings(tool)
    if (names.has(tool.name)) throw new StartError(`There are two tools named ${tool.name}. Each needs its own name.`)
    names.add(tool.name)
    const schema = compileSchema(tool.parameters)
    if (!schema.ok)
      throw new StartError(
        `The parameters of the tool ${tool.name} are not a JSON Schema: ${schema.problem.path} ${schema.problem.message}.`,
      )
    if (tool.parameters.type !== 'object')
      throw new StartError(`The parameters of the tool ${tool.name} must be a JSON Schema with "type": "object".`)
  }
}

/** The same limits as for settings that a client gives. */
function checkSettings(tool: ToolDefinition): void {
  const most = { from: 1, to: 86_400_000 }
  try {
    checkedToolName('name', tool.name)
    if (tool.approvalCondition !== undefined) checkedSchema('approvalCondition', tool.approvalCondition)
    if (tool.tags) checkedTags('tags', tool.tags)
    for (const name of ['timeoutMs', 'approvalTimeoutMs'] as const) {
      if (tool[name] !== undefined) checkedNumber(name, tool[name], most)
    }
    if (tool.returnCharLimit !== undefined)
      checkedNumber('returnCharLimit', tool.returnCharLimit, { from: 1, to: 10_000_000 })
  } catch (error) {
    throw new StartError(`The tool ${tool.name} cannot be registered: ${(error as Error).message}`)
  }
}

function isModule(file: string): boolean {
  return /\.(ts|mts|js|mjs)$/.test(file) && !/\.(d|test)\.m?ts$/.test(file)
}

async function loadModule(file: string): Promise<ToolDefinition[]> {
  let exported: Record<string, unknown>
  try {
    exported = (await import(pathToFileURL(file).href)) as Record<string, unknown>
  } catch (error) {
    throw new StartError(`The tools in ${file} cannot be loaded: ${(error as Error).message}`, { cause: error })
  }
  // A tool may be exported both under a name and as the default.
  const tools = [...new Set(Object.values(exported).flat())].filter(isTool)
  if (tools.length === 0)
    throw new StartError(`${file} exports no tool: an object with name, description, parameters and run.`)
  try {
    return tools.map((tool) => defineTool(tool))
  } catch (error) {
    throw new StartError(`A tool in ${file} cannot be registered: ${(error as Error).message}`)
  }
}

function isTool(value: unknown): value is ToolDefinition {
  if (typeof value !== 'object' || value === null) return false
  const { name, run, parameters } = value as Partial<Record<keyof ToolDefinition, unknown>>
  return typeof name === 'string' && typeof run === 'function' && typeof parameters === 'object' && parameters !== null
}
