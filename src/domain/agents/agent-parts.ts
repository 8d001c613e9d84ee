import type { Block } from '../memory/block.ts'
import { badUserInput, notFound, notFoundByName } from '../errors.ts'
import { encodeId } from '../ids.ts'
import { checkedDistinctIds, shown, type Given } from '../input.ts'
import type { Tool } from '../tools/tool.ts'

/** What an agent has besides its own settings: tools, by id or by name, and blocks, by id. */
export interface AgentToolInput {
  readonly toolId?: Given<string>
  readonly toolName?: Given<string>
  readonly approvalOverride?: Given<boolean>
}

const maxToolsPerAgent = 200
const maxBlocksPerAgent = 100

export function checkAgentTools(field: string, inputs: readonly AgentToolInput[]): void {
  checkToolCount(field, inputs.length)
  for (const [index, input] of inputs.entries()) checkAgentTool(`${field}.${index}`, input)
}

export function checkAgentTool(field: string, { toolId, toolName }: AgentToolInput): void {
  const given = [toolId, toolName].filter((value) => typeof value === 'string')
  if (given.length !== 1) throw badUserInput(field, 'Expected exactly one of `toolId` and `toolName`.')
}

/** A tool that a client has given, and the agent's own approval setting for it. */
export interface GivenTool {
  readonly tool: Tool
  readonly approvalOverride: boolean | null
}

/** The tools that the inputs name, in their order, each once: it may be given by its id and by its name. */
export function givenTools(field: string, inputs: readonly AgentToolInput[], tools: readonly Tool[]): GivenTool[] {
  const given = new Map<string, GivenTool & AgentToolInput>()
  for (const [index, input] of inputs.entries()) {
    const { tool } = givenTool(input, tools)
    const other = given.get(tool.id)
    if (other && (other.toolId === input.toolId || other.toolName === input.toolName)) {
      const twice = input.toolId ? encodeId('Tool', tool.id) : tool.name
      throw badUserInput(`${field}.${index}`, `${shown(twice)} is given twice. Remove one of them.`)
    }
    const approvalOverride = input.approvalOverride ?? other?.approvalOverride ?? null
    if (other && other.approvalOverride !== null && other.approvalOverride !== approvalOverride)
      throw badUserInput(
        `${field}.${index}.approvalOverride`,
        `The tool ${tool.name} is given twice, with different settings. Remove one of them.`,
      )
    given.set(tool.id, { ...input, tool, approvalOverride })
  }
  return [...given.values()]
}

export function givenTool(input: AgentToolInput, tools: readonly Tool[]): GivenTool {
  const { toolId, toolName, approvalOverride = null } = input
  const tool = tools.find(({ id, name }) => id === toolId || name === toolName)
  if (tool) return { tool, approvalOverride }
  throw toolId ? notFound('tool', encodeId('Tool', toolId)) : notFoundByName('tool', toolName ?? '')
}

export function checkToolCount(field: string, count: number): void {
  if (count > maxToolsPerAgent)
    throw badUserInput(field, `The agent would have ${count} tools. At most ${maxToolsPerAgent} are allowed.`)
}

export function checkBlockIds(field: string, ids: readonly string[]): void {
  checkBlockCount(field, ids.length)
  checkedDistinctIds(field, 'Block', ids)
}

export function checkBlockCount(field: string, count: number): void {
  if (count > maxBlocksPerAgent)
    throw badUserInput(field, `The agent would have ${count} blocks. At most ${maxBlocksPerAgent} are allowed.`)
}

/** Tools and prompts address a block by its label, so an agent has each label once. */
export function checkLabels(field: string, blocks: readonly Pick<Block, 'label' | 'conversationId'>[]): void {
  const seen = new Set<string>()
  for (const { label, conversationId } of blocks) {
    if (conversationId !== null)
      throw badUserInput(
        field,
        `The block ${shown(label)} is the copy of one conversation. Attach a block that is not isolated.`,
      )
    if (seen.has(label))
      throw badUserInput(
        field,
        `The agent would have two blocks labelled ${shown(label)}. Labels must be unique within an agent.`,
      )
    seen.add(label)
  }
}
