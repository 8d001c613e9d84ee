import { HoldpointError, type Client } from '../../client/client.ts'
import { UpsertTool } from '../../client/documents.ts'
import type { ToolImplementationInput } from '../../client/schema-types.ts'
import { ToolNamed, UpdateTool, type ToolRow } from './documents.ts'
import { pretty } from './format.ts'
import { FieldError, jsonOf, listOf, numberOf } from './parse.ts'

const firstSource = `export default ({ text }) => {
  return text.toUpperCase()
}
`
const firstParameters = pretty({ type: 'object', properties: { text: { type: 'string' } }, required: ['text'] })

/** The fields of the form, as text if a person types them. */
export type ToolForm = ReturnType<typeof toolFormOf>

export const isOwnKind = (kind: string | undefined): kind is OwnKind | undefined =>
  kind === undefined || kind === 'JAVASCRIPT' || kind === 'HTTP' || kind === 'CLIENT'

type OwnKind = 'JAVASCRIPT' | 'HTTP' | 'CLIENT'

/** The form of a tool, or of a new one. */
export const toolFormOf = (tool: ToolRow | undefined) => ({
  kind: (isOwnKind(tool?.kind) && tool?.kind) || ('JAVASCRIPT' satisfies OwnKind),
  name: tool?.name ?? '',
  description: tool?.description ?? '',
  parameters: tool ? pretty(tool.parameters) : firstParameters,
  source: tool?.source ?? firstSource,
  url: tool?.url ?? '',
  headers: '',
  requiresApproval: tool?.requiresApproval ?? false,
  approvalCondition: tool?.approvalCondition == null ? '' : pretty(tool.approvalCondition),
  approvalTimeoutMs: tool?.approvalTimeoutMs == null ? '' : String(tool.approvalTimeoutMs),
  timeoutMs: tool ? String(tool.timeoutMs) : '',
  returnCharLimit: tool ? String(tool.returnCharLimit) : '',
  parallel: tool?.parallel ?? false,
  idempotent: tool?.idempotent ?? false,
  tags: tool?.tags.join(', ') ?? '',
  /** The name of a new tool that was sent to the server and not answered: a tool of that name may be this one. */
  unanswered: '',
})

/** What the input and the form call by the same name, as it is sent. */
const readers = {
  description: ({ description }) => description,
  parameters: ({ parameters }) => jsonOf(parameters, 'parameters'),
  requiresApproval: ({ requiresApproval }) => requiresApproval,
  approvalCondition: ({ approvalCondition }) => jsonOf(approvalCondition, 'approvalCondition'),
  approvalTimeoutMs: ({ approvalTimeoutMs }) => numberOf(approvalTimeoutMs, 'approvalTimeoutMs'),
  timeoutMs: ({ timeoutMs }) => numberOf(timeoutMs, 'timeoutMs'),
  returnCharLimit: ({ returnCharLimit }) => numberOf(returnCharLimit, 'returnCharLimit'),
  parallel: ({ parallel }) => parallel,
  idempotent: ({ idempotent }) => idempotent,
  tags: ({ tags }) => listOf(tags),
} satisfies Partial<Record<keyof ToolForm, (form: ToolForm) => unknown>>

const settings = Object.keys(readers) as (keyof typeof readers)[]

const read = (form: ToolForm, names: readonly (keyof typeof readers)[]): object =>
  Object.fromEntries(names.map((name) => [name, readers[name](form)]))

function implementationOf({ kind, source, url, headers }: ToolForm): ToolImplementationInput {
  if (kind === 'CLIENT') return { client: true }
  if (kind === 'JAVASCRIPT') return { javascript: { source } }
  return { http: { url, ...(headers.trim() && { headers: jsonOf(headers, 'implementation.http.headers') }) } }
}

/** The server has no call that only creates, so an existing tool of that name would be replaced. */
export async function createTool(client: Client, form: ToolForm, setUnanswered: (name: string) => void): Promise<void> {
  const { name } = form
  const input = { name, implementation: implementationOf(form), ...read(form, settings) }
  if (form.unanswered !== name && (await client.request(ToolNamed, { name })).tools.nodes.length > 0) {
    throw new FieldError('name', `There is already a tool named "${name}". Choose another name, or edit that tool.`)
  }
  setUnanswered(name)
  try {
    await client.request(UpsertTool, { input })
  } catch (error) {
    if (error instanceof HoldpointError) setUnanswered('')
    throw error
  }
}

/** What is not sent stays as it is stored, also if someone else has changed it since the form was opened. */
export async function updateTool(client: Client, tool: ToolRow, form: ToolForm): Promise<void> {
  const given = toolFormOf(tool)
  const isChanged = (name: keyof ToolForm): boolean => form[name] !== given[name]
  const input = {
    ...read(form, settings.filter(isChanged)),
    ...((['source', 'url', 'headers'] as const).some(isChanged) && { implementation: implementationOf(form) }),
  }
  if (Object.keys(input).length > 0) await client.request(UpdateTool, { input: { id: tool.id, ...input } })
}
