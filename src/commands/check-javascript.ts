import { badUserInput } from '../domain/errors.ts'
import type { ToolImplementation } from '../domain/tools/tool.ts'
import type { Viewer } from '../domain/access/viewer.ts'
import type { CommandContext } from './command-context.ts'

/**
 * Loads the module as a call would, without calling it, so that the author sees the error now rather than the model
 * later.
 */
export async function checkJavaScript(
  context: CommandContext,
  viewer: Viewer,
  tool: ToolImplementation,
): Promise<void> {
  if (tool.kind !== 'JAVASCRIPT' || tool.source.trim() === '') return
  const fault = await context.tools.faultOfJavaScript(tool.source, viewer.tenantId)
  if (fault !== undefined)
    throw badUserInput('input.implementation.javascript.source', `This module cannot be called. ${fault}`)
}
