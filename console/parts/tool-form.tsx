import type { ReactNode } from 'react'

import { HoldpointError, type Client } from '../../client/client.ts'
import type { ToolImplementationInput } from '../../client/schema-types.ts'
import { useClient } from '../../react/client-context.ts'
import { ToolNames, UpdateTool, UpsertTool, type ToolNamesData, type ToolRow } from '../data/documents.ts'
import { pretty } from '../data/format.ts'
import { FieldError, jsonOf, listOf, numberOf } from '../data/parse.ts'
import { useAction } from '../data/use-action.ts'
import { useKeptForm } from '../data/use-kept.ts'
import { Dialog } from './dialog.tsx'
import { Field } from './field.tsx'
import { Problem } from './problem.tsx'
import { SubmitRow } from './submit-row.tsx'

const firstSource = `export default ({ text }) => {
  return text.toUpperCase()
}
`
const firstParameters = pretty({ type: 'object', properties: { text: { type: 'string' } }, required: ['text'] })

interface ToolFormProps {
  /** Undefined for a new tool. */
  readonly tool: ToolRow | undefined
  readonly onClose: () => void
  readonly onSaved: () => Promise<void>
}

type OwnKind = 'JAVASCRIPT' | 'HTTP' | 'CLIENT'

/** Creates or changes a tool. For a built-in or MCP tool, only how it is used can be changed, not what it does. */
export function ToolForm({ tool, onClose, onSaved }: ToolFormProps): ReactNode {
  const client = useClient()
  const isOwn = !tool || tool.kind === 'JAVASCRIPT' || tool.kind === 'HTTP' || tool.kind === 'CLIENT'
  const given = {
    kind: (isOwn && tool ? tool.kind : 'JAVASCRIPT') as OwnKind,
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
  }
  const kept = useKeptForm(`tool.${tool?.id ?? 'new'}`, given)
  const { form, set } = kept
  const isChanged = (...names: readonly (keyof typeof given)[]): boolean =>
    names.some((name) => form[name] !== given[name])

  function implementation(): ToolImplementationInput {
    if (form.kind === 'CLIENT') return { client: true }
    if (form.kind === 'JAVASCRIPT') return { javascript: { source: form.source } }
    return { http: { url: form.url, ...(form.headers.trim() && { headers: jsonOf(form.headers, 'headers') }) } }
  }

  /** What the input and the form call by the same name, as it is sent. */
  const readers = {
    description: () => form.description,
    parameters: () => jsonOf(form.parameters, 'parameters'),
    requiresApproval: () => form.requiresApproval,
    approvalCondition: () => jsonOf(form.approvalCondition, 'approvalCondition'),
    approvalTimeoutMs: () => numberOf(form.approvalTimeoutMs, 'approvalTimeoutMs'),
    timeoutMs: () => numberOf(form.timeoutMs, 'timeoutMs'),
    returnCharLimit: () => numberOf(form.returnCharLimit, 'returnCharLimit'),
    parallel: () => form.parallel,
    idempotent: () => form.idempotent,
    tags: () => listOf(form.tags),
  }
  const read = (names: readonly (keyof typeof readers)[]): object =>
    Object.fromEntries(names.map((name) => [name, readers[name]()]))
  const settings = Object.keys(readers) as (keyof typeof readers)[]

  /** The server has no call that only creates, so an existing tool of that name would be replaced. */
  async function create(): Promise<void> {
    const { name } = form
    const input = { name, implementation: implementation(), ...read(settings) }
    if (form.unanswered !== name && (await hasTool(client, name))) {
      const words = `There is already a tool named "${name}". Choose another name, or edit that tool.`
      throw new FieldError('name', words)
    }
    set({ unanswered: name })
    try {
      await client.request(UpsertTool, { input })
    } catch (error) {
      if (error instanceof HoldpointError) set({ unanswered: '' })
      throw error
    }
  }

  /** What is not sent stays as it is stored, also if someone else has changed it since the form was opened. */
  async function update(id: string): Promise<void> {
    const input = {
      ...read(settings.filter((name) => isChanged(name))),
      ...(isChanged('source', 'url', 'headers') && { implementation: implementation() }),
    }
    if (Object.keys(input).length > 0) await client.request(UpdateTool, { input: { id, ...input } })
  }

  const save = useAction(async () => {
    await (tool ? update(tool.id) : create())
    await onSaved()
    kept.forget()
  })
  const names = [
    'name',
    'description',
    'parameters',
    'source',
    'url',
    'headers',
    'approvalCondition',
    'approvalTimeoutMs',
    'timeoutMs',
    'returnCharLimit',
  ]
  const at = names.find((name) => save.field?.split('.').includes(name))
  const problemOf = (name: string): string | undefined => (at === name ? save.problem : undefined)

  return (
    <Dialog title={tool ? `Edit ${tool.name}` : 'New tool'} onClose={onClose}>
      <form
        className="stack"
        onSubmit={(event) => {
          event.preventDefault()
          save.run()
        }}
      >
        {!tool && (
          <>
            <Field
              label="Name"
              value={form.name}
              autoFocus
              className="mono"
              problem={problemOf('name')}
              hint="By which the model calls it: letters, digits, _ and -."
              onChange={(event) => set({ name: event.target.value })}
            />
            <Field
              label="Kind"
              as="select"
              value={form.kind}
              onChange={(event) => set({ kind: event.target.value as OwnKind })}
            >
              <option value="JAVASCRIPT">JavaScript: runs in a sandbox of the server</option>
              <option value="HTTP">HTTP: the server posts the arguments to an address</option>
              <option value="CLIENT">Client: your program runs it and returns the result</option>
            </Field>
          </>
        )}
        {isOwn && (
          <>
            <Field
              label="Description"
              value={form.description}
              problem={problemOf('description')}
              hint="Tells the model what the tool does."
              onChange={(event) => set({ description: event.target.value })}
            />
            <Field
              label="Parameters"
              as="textarea"
              className="mono"
              rows={6}
              spellCheck={false}
              value={form.parameters}
              problem={problemOf('parameters')}
              hint="JSON Schema of the arguments."
              onChange={(event) => set({ parameters: event.target.value })}
            />
          </>
        )}
        {isOwn && form.kind === 'JAVASCRIPT' && (
          <Field
            label="Source"
            as="textarea"
            className="mono"
            rows={8}
            spellCheck={false}
            value={form.source}
            problem={problemOf('source')}
            hint="A module whose default export is a function of the arguments."
            onChange={(event) => set({ source: event.target.value })}
          />
        )}
        {isOwn && form.kind === 'HTTP' && (
          <>
            <Field
              label="Address"
              type="url"
              value={form.url}
              problem={problemOf('url')}
              placeholder="https://…"
              onChange={(event) => set({ url: event.target.value })}
            />
            <Field
              label="Headers"
              as="textarea"
              className="mono"
              rows={3}
              value={form.headers}
              problem={problemOf('headers')}
              hint={
                tool?.headerNames?.length
                  ? `Stored: ${tool.headerNames.join(', ')}. Leave this empty to keep them.`
                  : 'A JSON object of strings. They cannot be read again.'
              }
              onChange={(event) => set({ headers: event.target.value })}
            />
          </>
        )}
        {form.kind !== 'CLIENT' && (
          <label className="check">
            <input
              type="checkbox"
              checked={form.requiresApproval}
              onChange={(event) => set({ requiresApproval: event.target.checked })}
            />
            <span>Every call needs approval</span>
          </label>
        )}
        <details className="wide">
          <summary>More settings</summary>
          <div className="stack">
            <Field
              label="Approval condition"
              as="textarea"
              className="mono"
              rows={3}
              value={form.approvalCondition}
              problem={problemOf('approvalCondition')}
              hint="JSON Schema: only calls whose arguments satisfy it need approval."
              onChange={(event) => set({ approvalCondition: event.target.value })}
            />
            <Field
              label="Approval timeout in ms"
              inputMode="numeric"
              value={form.approvalTimeoutMs}
              problem={problemOf('approvalTimeoutMs')}
              hint="An undecided call is denied after this time. Empty: never."
              onChange={(event) => set({ approvalTimeoutMs: event.target.value })}
            />
            <Field
              label="Timeout in ms"
              inputMode="numeric"
              value={form.timeoutMs}
              problem={problemOf('timeoutMs')}
              onChange={(event) => set({ timeoutMs: event.target.value })}
            />
            <Field
              label="Longest result in characters"
              inputMode="numeric"
              value={form.returnCharLimit}
              problem={problemOf('returnCharLimit')}
              onChange={(event) => set({ returnCharLimit: event.target.value })}
            />
            <Field
              label="Tags"
              value={form.tags}
              hint="Separated by commas."
              onChange={(event) => set({ tags: event.target.value })}
            />
            {tool?.kind !== 'BUILTIN' && (
              <>
                <label className="check">
                  <input
                    type="checkbox"
                    checked={form.parallel}
                    onChange={(event) => set({ parallel: event.target.checked })}
                  />
                  <span>May run at the same time as other calls</span>
                </label>
                <label className="check">
                  <input
                    type="checkbox"
                    checked={form.idempotent}
                    onChange={(event) => set({ idempotent: event.target.checked })}
                  />
                  <span>Safe to repeat after a crash</span>
                </label>
              </>
            )}
          </div>
        </details>
        {!at && <Problem>{save.problem}</Problem>}
        <SubmitRow form={kept} isBusy={save.isBusy}>
          {tool ? 'Save tool' : 'Create tool'}
        </SubmitRow>
      </form>
    </Dialog>
  )
}

async function hasTool(client: Client, name: string): Promise<boolean> {
  let after: string | null = null
  do {
    const { tools }: ToolNamesData = await client.request(ToolNames, { nameContains: name, after })
    if (tools.nodes.some((tool) => tool.name === name)) return true
    after = tools.pageInfo.hasNextPage ? tools.pageInfo.endCursor : null
  } while (after !== null)
  return false
}
