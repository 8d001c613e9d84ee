import type { Kysely } from 'kysely'

import { editMemory, memoryToolNames, type MemoryToolName } from '../../domain/memory-edit.ts'
import { listBlocksOfAgents } from '../../store/blocks.ts'
import type { Database } from '../../store/schema.ts'
import type { JsonObject } from '../../util/json.ts'
import type { Execution, ToolOutput } from '../execution.ts'

export function isMemoryTool(name: string): name is MemoryToolName {
  return (memoryToolNames as readonly string[]).includes(name)
}

/**
 * Reads the agent's blocks and says what is to be written. It is written by the checkpoint that stores the result, so
 * a worker that lost its run edits nothing, and a block that changes in between makes the tool run again.
 */
export async function runMemoryTool(
  db: Kysely<Database>,
  name: MemoryToolName,
  args: JsonObject,
  { agent, step, seenBlocks }: Execution,
): Promise<ToolOutput> {
  const blocks = (await listBlocksOfAgents(db, agent.tenantId, [agent.id])).map(({ block }) => block)
  const { ok, output, ...edit } = editMemory({
    name,
    args,
    blocks,
    // A worker that took the run up after the model had answered does not know what it was shown, but when.
    isAsSeen: ({ id, version, updatedAt }) =>
      seenBlocks.has(id) ? seenBlocks.get(id) === version : updatedAt <= step.createdAt,
  })
  return { ok, output, writes: 'write' in edit ? [edit.write] : [] }
}
