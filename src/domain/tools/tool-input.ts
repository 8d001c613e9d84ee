import { storableText, type Json } from '../../util/json.ts'
import type { Actor } from '../access/actor.ts'
import { badUserInput } from '../errors.ts'
import {
  checkedNumber,
  checkedObject,
  checkedObjectSchema,
  checkedSchema,
  checkedTags,
  checkedText,
  mergeFields,
  shown,
  unchecked,
  type Given,
  type GivenFields,
} from '../input.ts'
import { toolDefaults, type ToolBase, type ToolImplementation } from './tool.ts'

export type ToolImplementationInput =
  | { readonly javascript: { readonly source: string } }
  | { readonly http: { readonly url: string; readonly headers?: Given<Json> } }
  | { readonly client: boolean }

export type ToolSettings = Omit<ToolBase, 'id' | 'tenantId' | 'name' | 'createdAt' | 'updatedAt'> & ToolImplementation

export type ToolInput = GivenFields<
  Omit<ToolBase, 'id' | 'tenantId' | 'name' | 'parameters' | 'isAvailable' | 'createdAt' | 'updatedAt'> & {
    readonly parameters: Json
    readonly implementation: ToolImplementationInput
  }
>

/** The defaults of a new tool. The implementation must be given. */
export const unsetTool: ToolSettings = {
  kind: 'CLIENT',
  description: '',
  parameters: { type: 'object', properties: {} },
  requiresApproval: false,
  approvalCondition: null,
  approvalsRequired: 1,
  approvalExcludesSender: false,
  approvalTimeoutMs: null,
  parallel: false,
  idempotent: false,
  returnCharLimit: toolDefaults.returnCharLimit,
  timeoutMs: toolDefaults.timeoutMs,
  tags: [],
  isAvailable: true,
}

/** Omitted fields stay unchanged, including stored headers. Null restores the default. */
export function mergeTool(current: ToolSettings, input: ToolInput): ToolSettings {
  refuseForeignSettings(current, input)
  const count = (to: number) => (field: string, value: number) => checkedNumber(field, value, { from: 1, to })
  return {
    ...current,
    ...mergeFields('input', input, {
      current,
      defaults: unsetTool,
      checks: {
        description: (field, text) => checkedText(field, text, { max: 10_000 }),
        parameters: checkedObjectSchema,
        requiresApproval: unchecked,
        approvalCondition: checkedSchema,
        approvalsRequired: count(10),
        approvalExcludesSender: unchecked,
        approvalTimeoutMs: count(2 ** 31 - 1),
        parallel: unchecked,
        idempotent: unchecked,
        returnCharLimit: count(10_000_000),
        timeoutMs: count(86_400_000),
        tags: checkedTags,
      },
    }),
    ...(input.implementation !== undefined && checkedImplementation(current, input.implementation)),
  }
}

/** On an open server everybody is the same actor, so a call that needs two of them could never be approved. */
export function refuseRulesForTwo(actor: Actor, { approvalsRequired, approvalExcludesSender }: ToolInput): void {
  if (actor.kind !== 'OPEN') return
  const why =
    'This server is open: everybody is the same actor, so no call could ever be approved. Configure an API key first, or omit the field.'
  if ((approvalsRequired ?? 1) > 1) throw badUserInput('input.approvalsRequired', why)
  if (approvalExcludesSender) throw badUserInput('input.approvalExcludesSender', why)
}

/**
 * The code or the MCP server defines these fields of a tool, so a change would be undone at the next start or refresh.
 */
function refuseForeignSettings(current: ToolSettings, input: ToolInput): void {
  const foreign: readonly (keyof ToolInput)[] =
    current.kind === 'BUILTIN'
      ? ['description', 'parameters', 'parallel', 'idempotent', 'implementation']
      : current.kind === 'MCP'
        ? ['description', 'parameters', 'implementation']
        : []
  const given = foreign.find((name) => input[name] !== undefined)
  if (given === undefined) return
  const owner = current.kind === 'BUILTIN' ? 'the server' : 'its MCP server'
  throw badUserInput(
    `input.${given}`,
    `It is set by ${owner} for a tool of kind ${current.kind}. Omit it. Approval, limits and tags can be changed.`,
  )
}

function checkedImplementation(current: ToolImplementation, input: ToolImplementationInput | null): ToolImplementation {
  if (input === null) throw badUserInput('input.implementation', 'Must not be null. Omit it to keep the current value.')
  if ('javascript' in input) {
    const source = checkedText('input.implementation.javascript.source', input.javascript.source, { max: 500_000 })
    if (source.trim() === '')
      throw badUserInput('input.implementation.javascript.source', 'It is empty. Expected the source of a module.')
    return { kind: 'JAVASCRIPT', source }
  }
  if ('http' in input) {
    const { headers } = mergeFields('input.implementation.http', input.http, {
      current: current.kind === 'HTTP' ? current : { headers: {} },
      defaults: { headers: {} },
      checks: { headers: checkedHeaders },
    })
    return { kind: 'HTTP', url: checkedHttpUrl('input.implementation.http.url', input.http.url), headers }
  }
  if (!input.client)
    throw badUserInput('input.implementation.client', 'It is false. Expected true, or `javascript` or `http` instead.')
  return { kind: 'CLIENT' }
}

export function checkedHttpUrl(field: string, value: string): string {
  const text = checkedText(field, value, { max: 2_000 })
  const url = URL.canParse(text) ? new URL(text) : undefined
  if (url?.protocol !== 'http:' && url?.protocol !== 'https:')
    throw badUserInput(field, `${shown(value)} is not a URL. Expected one that begins with http:// or https://.`)
  // It would be visible to everyone who may read the tool.
  if (url.username !== '' || url.password !== '')
    throw badUserInput(field, 'It holds a user name or password. Put them into an Authorization header.')
  return text
}

const headerNamePattern = /^[!#$%&'*+.^_`|~0-9A-Za-z-]{1,200}$/

/** The values are secrets, so no message repeats one. */
export function checkedHeaders(field: string, value: Json): Record<string, string> {
  const headers = Object.entries(checkedObject(field, value))
  if (headers.length > 50) throw badUserInput(field, `It has ${headers.length} headers. At most 50 are allowed.`)
  return Object.fromEntries(
    headers.map(([name, text]) => {
      if (!headerNamePattern.test(name)) throw badUserInput(field, `${shown(name)} is not the name of a header.`)
      if (typeof text !== 'string') throw badUserInput(`${field}.${name}`, 'Expected a string.')
      // RFC 9110: these are the characters that fetch would refuse when the tool is called.
      if (!/^[\t\x20-\x7e\x80-\xff]*$/.test(text))
        throw badUserInput(`${field}.${name}`, 'It holds a character that no header can carry, such as a line break.')
      return [name, storableText(text)]
    }),
  )
}
