import { isJsonObject, keysOf, type Json, type JsonObject } from '../../util/json.ts'
import { unsetAgent } from './agent-input.ts'
import type { Agent } from './agent.ts'
import type { Passage } from '../memory/passage.ts'
import { unsetBlock } from '../memory/block-input.ts'
import type { Block } from '../memory/block.ts'
import { badUserInput } from '../errors.ts'
import { checkedCount, shown } from '../input.ts'
import type { AgentTool, Tool } from '../tools/tool.ts'

/** The most passages of an agent in one document. */
export const maxExportedPassages = 10_000

/** Increased when older servers can no longer read a document. */
const documentVersion = 1

/**
 * An agent as one JSON document. The agent and its tools have the form of the inputs of `createAgent` and `upsertTool`,
 * so they are read the same way. It contains no secrets: of the headers of HTTP tools, only the names.
 */
export function exportAgent(
  agent: Agent,
  {
    blocks,
    tools,
    passages,
  }: {
    readonly blocks: readonly Block[]
    readonly tools: readonly AgentTool[]
    readonly passages?: readonly Passage[] | undefined
  },
): JsonObject {
  if (passages && passages.length > maxExportedPassages)
    throw badUserInput(
      'passages',
      `The archive has more than ${maxExportedPassages} passages. Read them from \`Agent.passages\`, and add them with \`addPassages\`.`,
    )
  const settings = pick(agent, keysOf(unsetAgent))
  return {
    version: documentVersion,
    agent: {
      ...settings,
      toolRules: agent.toolRules,
      blocks: blocks.map((block) => pick(block, keysOf(unsetBlock))),
    },
    ...(passages && { passages: passages.map((passage) => pick(passage, ['text', 'tags', 'metadata'])) }),
    tools: tools.map(({ tool, approvalOverride }) => ({
      name: tool.name,
      kind: tool.kind,
      approvalOverride,
      ...definitionOf(tool),
    })),
  } as unknown as JsonObject
}

/** In the order in which a document has them. */
const definedSettings = [
  ...(['name', 'description', 'parameters', 'requiresApproval', 'approvalCondition', 'approvalsRequired'] as const),
  ...(['tags', 'approvalExcludesSender', 'approvalTimeoutMs', 'parallel', 'idempotent'] as const),
  ...(['returnCharLimit', 'timeoutMs'] as const),
]

/**
 * What is needed to create the tool elsewhere. Tools in code and tools of MCP servers cannot be created from a
 * document.
 */
function definitionOf(tool: Tool): object {
  const implementation = implementationOf(tool)
  if (!implementation) return {}
  return {
    ...(tool.kind === 'HTTP' && { headerNames: Object.keys(tool.headers) }),
    definition: { ...pick(tool, definedSettings), implementation },
  }
}

function implementationOf(tool: Tool): object | undefined {
  switch (tool.kind) {
    case 'JAVASCRIPT':
      return { javascript: { source: tool.source } }
    case 'HTTP':
      return { http: { url: tool.url } }
    case 'CLIENT':
      return { client: true }
    case 'BUILTIN':
    case 'MCP':
      return undefined
    default:
      return tool satisfies never
  }
}

function pick<Source extends object, Key extends keyof Source>(source: Source, keys: readonly Key[]) {
  return Object.fromEntries(keys.map((key) => [key, source[key]]))
}

/** A tool of a document, before its definition is checked. */
export interface DocumentTool {
  readonly name: string
  readonly approvalOverride: boolean | null
  /** Undefined if the document only names the tool. */
  readonly definition: Json | undefined
}

export interface AgentDocument {
  readonly agent: JsonObject
  readonly tools: readonly DocumentTool[]
  /** Still to be checked as inputs. */
  readonly passages: readonly Json[]
}

/** The parts of a document. `agent` and the tool definitions still have to be checked as inputs. */
export function readAgentDocument(field: string, document: Json): AgentDocument {
  if (!isJsonObject(document)) throw badUserInput(field, 'Expected a JSON object, as `Agent.export` returns it.')
  const { version, agent, tools = [], passages = [] } = document
  if (version !== documentVersion)
    throw badUserInput(
      `${field}.version`,
      `It is ${JSON.stringify(version ?? null)}. This server reads version ${documentVersion}.`,
    )
  if (!isJsonObject(agent))
    throw badUserInput(`${field}.agent`, 'Expected a JSON object with the settings of the agent.')
  const given = checkedList(`${field}.tools`, tools, { max: 200 })
  return {
    agent,
    tools: given.map((tool, index) => readTool(`${field}.tools.${index}`, tool)),
    passages: checkedList(`${field}.passages`, passages, { max: maxExportedPassages }),
  }
}

function checkedList(field: string, value: Json, { max }: { readonly max: number }): readonly Json[] {
  if (!Array.isArray(value)) throw badUserInput(field, 'Expected a list.')
  checkedCount(field, value, { max })
  return value
}

const toolFields = ['name', 'kind', 'approvalOverride', 'definition', 'headerNames']

function readTool(field: string, tool: Json): DocumentTool {
  if (!isJsonObject(tool) || typeof tool.name !== 'string')
    throw badUserInput(field, 'Expected a JSON object with the `name` of a tool.')
  const unknown = Object.keys(tool).find((key) => !toolFields.includes(key))
  // A misspelled `approvalOverride` must not turn approvals off.
  if (unknown !== undefined)
    throw badUserInput(field, `There is no field ${shown(unknown)}. Expected ${toolFields.join(', ')}.`)
  const { name, approvalOverride = null, definition } = tool
  if (approvalOverride !== null && typeof approvalOverride !== 'boolean')
    throw badUserInput(`${field}.approvalOverride`, 'Expected true, false or null.')
  return { name, approvalOverride, definition: definition === null ? undefined : definition }
}
