import type { Block } from './memory/block.ts'
import { badUserInput } from './errors.ts'
import { encodeId } from './ids.ts'
import { checkedDistinct, shown, type Given } from './input.ts'

/** What an agent has besides its own settings: tools and blocks, by id. */
export interface AgentToolInput {
  readonly toolId: string
  readonly approvalOverride?: Given<boolean>
}

const maxToolsPerAgent = 200
const maxBlocksPerAgent = 100

export function checkAgentTools(field: string, inputs: readonly AgentToolInput[]): void {
  checkToolCount(field, inputs.length)
  checkedDistinct(
    field,
    inputs.map((input) => encodeId('Tool', input.toolId)),
  )
}

export function checkToolCount(field: string, count: number): void {
  if (count > maxToolsPerAgent)
    throw badUserInput(field, `The agent would have ${count} tools. At most ${maxToolsPerAgent} are allowed.`)
}

export function checkBlockIds(field: string, ids: readonly string[]): void {
  checkBlockCount(field, ids.length)
  checkedDistinct(
    field,
    ids.map((id) => encodeId('Block', id)),
  )
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
