import { badUserInput } from '../domain/errors.ts'
import type { Tool } from '../domain/tool.ts'
import type { Viewer } from '../domain/viewer.ts'
import type { CommandContext } from './command-context.ts'

/** Loads the module as a call would, without calling it: a fault is told now and not to the model. */
export async function checkJavaScript(
  context: CommandContext,
  viewer: Viewer,
  { kind, source }: Pick<Tool, 'kind' | 'source'>,
): Promise<void> {
  if (kind !== 'JAVASCRIPT' || source === null || source.trim() === '') return
  const fault = await context.tools.faultOfJavaScript(source, viewer.tenantId)
  if (fault !== undefined)
    throw badUserInput('input.implementation.javascript.source', `It is no module that can be called. ${fault}`)
}
