import { SecretKeyError, type SecretBox } from '../../util/secret-box.ts'
import type { SealedHeaders, ToolImplementation } from './tool.ts'

interface SealOptions {
  readonly tenantId: string
  /** Unchanged values keep their encrypted form. */
  readonly stored?: SealedHeaders | undefined
}

export function sealHeaders(
  secrets: SecretBox,
  headers: Readonly<Record<string, string>>,
  { tenantId, stored = {} }: SealOptions,
): SealedHeaders {
  const sealed = Object.entries(headers).map(([name, value]) => {
    const known = stored[name]
    const isSame = known !== undefined && readable(secrets, known, tenantId) === value
    return [name, isSame ? known : secrets.seal(value, tenantId)] as const
  })
  return Object.fromEntries(sealed)
}

/** Throws a SecretKeyError if a key is missing. */
export function openHeaders(secrets: SecretBox, headers: SealedHeaders, tenantId: string): Record<string, string> {
  return Object.fromEntries(Object.entries(headers).map(([name, value]) => [name, secrets.open(value, tenantId)]))
}

/** Encrypts the headers that a client gave for a tool. Headers that were not given stay as they are stored. */
export function sealTool<Tool extends ToolImplementation & { readonly tenantId: string }>(
  secrets: SecretBox,
  tool: Tool,
  stored: ToolImplementation | undefined,
): Tool {
  if (tool.kind !== 'HTTP') return tool
  const before = stored?.kind === 'HTTP' ? stored.headers : undefined
  if (tool.headers === before) return tool
  return { ...tool, headers: sealHeaders(secrets, tool.headers, { tenantId: tool.tenantId, stored: before }) }
}

function readable(secrets: SecretBox, sealed: string, tenantId: string): string | undefined {
  try {
    return secrets.open(sealed, tenantId)
  } catch (error) {
    if (error instanceof SecretKeyError) return undefined
    throw error
  }
}
