import { editMemory, memoryToolNames, type MemoryToolName } from '../../domain/memory/memory-edit.ts'
import { listBlocksOfConversations } from '../../store/memory/blocks.ts'
import type { Db } from '../../store/database/schema.ts'
import type { JsonObject } from '../../util/json.ts'
import type { Execution, ToolOutput } from '../execution.ts'

export function isMemoryTool(name: string): name is MemoryToolName {
  return memoryToolNames.some((one) => one === name)
}

/**
 * Reads the blocks that the agent has in the conversation and returns the edit. The checkpoint that stores the result
 * also stores the edit, so a worker that lost its run edits nothing, and a block that changes in between makes the tool
 * run again.
 */
export async function runMemoryTool(
  db: Db,
  name: MemoryToolName,
  args: JsonObject,
  { agent, run, step, seenBlocks }: Execution,
): Promise<ToolOutput> {
  const shown = await listBlocksOfConversations(db, agent, [run.memoryConversationId], { agentId: agent.id })
  const blocks = shown.map(({ block }) => block)
  const { ok, output, ...edit } = editMemory({
    name,
    args,
    blocks,
    // A worker that took over after the model had answered knows only when the model was asked, not which versions it
    // saw.
    isAsSeen: ({ id, version, updatedAt }) =>
      seenBlocks.has(id) ? seenBlocks.get(id) === version : updatedAt <= step.createdAt,
  })
  return { ok, output, writes: 'write' in edit ? [edit.write] : [] }
}
