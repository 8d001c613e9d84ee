import { badUserInput } from '../domain/errors.ts'
import { checkedToolName } from '../domain/input.ts'
import {
  mergeTool,
  refuseRulesForTwo,
  unsetTool,
  type ToolImplementationInput,
  type ToolInput,
} from '../domain/tools/tool-input.ts'
import { sealTool } from '../domain/tools/sealed-headers.ts'
import type { Tool } from '../domain/tools/tool.ts'
import type { Viewer } from '../domain/access/viewer.ts'
import { lockToolByName, upsertTool as upsertToolRow } from '../store/tools.ts'
import { transact } from '../store/transact.ts'
import { checkJavaScript } from './check-javascript.ts'
import type { CommandContext } from './command-context.ts'
import { recordChange } from './record-change.ts'

export interface UpsertToolInput extends ToolInput {
  readonly name: string
  readonly implementation: ToolImplementationInput
}

/**
 * An existing tool of that name is replaced completely, including its headers. It keeps its id, so it stays attached to
 * its agents.
 */
export async function upsertTool(context: CommandContext, viewer: Viewer, input: UpsertToolInput): Promise<Tool> {
  const now = context.clock.now()
  const name = checkedToolName('input.name', input.name)
  refuseRulesForTwo(viewer.actor, input)
  const settings = mergeTool(unsetTool, input)
  await checkJavaScript(context, viewer, settings)
  const given = { ...settings, tenantId: viewer.tenantId, name, createdAt: now, updatedAt: now }
  return transact(context, async (trx) => {
    const before = await lockToolByName(trx, viewer, name)
    const sealed = sealTool(context.secrets, { ...given, id: context.ids.next() }, before)
    const tool = await upsertToolRow(trx, sealed)
    if (!tool)
      throw badUserInput(
        'input.name',
        `${name} is a tool that comes with the server or from an MCP server, which cannot be replaced. Choose another name.`,
      )
    const change = { before: before ?? null, after: tool }
    await recordChange(context, trx, viewer, { action: 'upsertTool', subject: ['Tool', tool.id], ...change })
    return tool
  })
}
