import { sameJson } from '../../util/json.ts'
import type { BuiltinTool } from './builtin-tools.ts'
import { toolDefaults, type Tool } from './tool.ts'

/** Settings that a tool gets from its code and that clients may change. */
export const codeSettingNames = [
  'requiresApproval',
  'approvalCondition',
  'approvalTimeoutMs',
  'returnCharLimit',
  'timeoutMs',
  'tags',
] as const
export type CodeSettings = Pick<Tool, (typeof codeSettingNames)[number]>

export function settingsInCode(definition: BuiltinTool): CodeSettings {
  return {
    requiresApproval: definition.requiresApproval ?? false,
    approvalCondition: definition.approvalCondition ?? null,
    approvalTimeoutMs: definition.approvalTimeoutMs ?? null,
    returnCharLimit: definition.returnCharLimit ?? toolDefaults.returnCharLimit,
    timeoutMs: definition.timeoutMs ?? toolDefaults.timeoutMs,
    tags: definition.tags ?? [],
  }
}

export interface FollowedCode {
  readonly tool: Tool
  /** Settings that a client has changed and for which the code has another value. */
  readonly kept: readonly (keyof CodeSettings)[]
}

/**
 * Updates a stored tool to its current code. A setting follows the code unless a client has changed it, which shows in
 * its no longer being what the code last said (`before`).
 */
export function followCode(stored: Tool, before: CodeSettings, definition: BuiltinTool): FollowedCode {
  const code = settingsInCode(definition)
  const changed = codeSettingNames.filter((name) => !sameJson(stored[name], before[name]))
  const own = Object.fromEntries(changed.map((name) => [name, stored[name]]))
  const { description, parameters, parallel, idempotent } = definition
  return {
    tool: { ...stored, ...code, ...own, description, parameters, parallel, idempotent, isAvailable: true },
    kept: changed.filter((name) => !sameJson(stored[name], code[name])),
  }
}
