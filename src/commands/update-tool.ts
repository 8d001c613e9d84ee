import { sealTool } from '../domain/tools/sealed-headers.ts'
import { mergeTool, refuseRulesForTwo, type ToolInput } from '../domain/tools/tool-input.ts'
import type { Tool } from '../domain/tools/tool.ts'
import type { Viewer } from '../domain/access/viewer.ts'
import { lockTool, setTool } from '../store/tools.ts'
import { transact } from '../store/transact.ts'
import { checkJavaScript } from './check-javascript.ts'
import type { CommandContext } from './command-context.ts'
import { found } from './found.ts'
import { recordChange } from './record-change.ts'

export interface UpdateToolInput extends ToolInput {
  readonly id: string
}

/** Updates a tool of any kind. Omitted fields stay unchanged, including stored headers. */
export async function updateTool(context: CommandContext, viewer: Viewer, input: UpdateToolInput): Promise<Tool> {
  refuseRulesForTwo(viewer.actor, input)
  const source = input.implementation && 'javascript' in input.implementation ? input.implementation.javascript : null
  // Loading it may take seconds, so nothing is locked meanwhile.
  if (source) await checkJavaScript(context, viewer, { kind: 'JAVASCRIPT', ...source })
  return transact(context, async (trx) => {
    const stored = found('Tool', input.id, await lockTool(trx, viewer, input.id))
    const merged = { ...stored, ...mergeTool(stored, input), updatedAt: context.clock.now() }
    const tool = sealTool(context.secrets, merged, stored)
    await setTool(trx, tool)
    const change = { before: stored, after: tool }
    await recordChange(context, trx, viewer, { action: 'updateTool', subject: ['Tool', tool.id], ...change })
    return tool
  })
}
