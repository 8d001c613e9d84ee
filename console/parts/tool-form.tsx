import type { ReactNode } from 'react'

import { useClient } from '../../react/client-context.ts'
import { bind } from '../data/bind.ts'
import type { ToolRow } from '../data/documents.ts'
import { createTool, isOwnKind, toolFormOf, updateTool } from '../data/tool-form.ts'
import { useAction } from '../data/use-action.ts'
import { useKeptForm } from '../data/use-kept.ts'
import { Check } from './check.tsx'
import { Dialog } from './dialog.tsx'
import { Field } from './field.tsx'
import { Form } from './form.tsx'

interface ToolFormProps {
  /** Undefined for a new tool. */
  readonly tool: ToolRow | undefined
  readonly onClose: () => void
  readonly onSaved: () => Promise<void>
}

/** Creates or changes a tool. For a built-in or MCP tool, only how it is used can be changed, not what it does. */
export function ToolForm({ tool, onClose, onSaved }: ToolFormProps): ReactNode {
  const client = useClient()
  const kept = useKeptForm(`tool.${tool?.id ?? 'new'}`, toolFormOf(tool))
  const { form, set } = kept
  const save = useAction(async () => {
    await (tool ? updateTool(client, tool, form) : createTool(client, form, (unanswered) => set({ unanswered })))
    await onSaved()
    kept.forget()
  })
  const { text, check } = bind({ ...kept, problemOf: save.problemOf })
  const code = { as: 'textarea', className: 'mono', spellCheck: false } as const
  const isOwn = isOwnKind(tool?.kind)
  return (
    <Dialog title={tool ? `Edit ${tool.name}` : 'New tool'} onClose={onClose}>
      <Form action={save} onSubmit={save.run} submit={tool ? 'Save tool' : 'Create tool'} kept={kept}>
        {!tool && (
          <>
            <Field
              label="Name"
              autoFocus
              className="mono"
              hint="By which the model calls it: letters, digits, _ and -."
              {...text('name')}
            />
            <Field label="Kind" as="select" {...text('kind')}>
              <option value="JAVASCRIPT">JavaScript: runs in a sandbox of the server</option>
              <option value="HTTP">HTTP: the server posts the arguments to an address</option>
              <option value="CLIENT">Client: your program runs it and returns the result</option>
            </Field>
          </>
        )}
        {isOwn && (
          <>
            <Field label="Description" hint="Tells the model what the tool does." {...text('description')} />
            <Field label="Parameters" rows={6} hint="JSON Schema of the arguments." {...code} {...text('parameters')} />
          </>
        )}
        {isOwn && form.kind === 'JAVASCRIPT' && (
          <Field
            label="Source"
            rows={8}
            hint="A module whose default export is a function of the arguments."
            {...code}
            {...text('source', 'implementation.javascript.source')}
          />
        )}
        {isOwn && form.kind === 'HTTP' && (
          <>
            <Field label="Address" type="url" placeholder="https://…" {...text('url', 'implementation.http.url')} />
            <Field
              label="Headers"
              rows={3}
              hint={
                tool?.headerNames?.length
                  ? `Stored: ${tool.headerNames.join(', ')}. Leave this empty to keep them.`
                  : 'A JSON object of strings. They cannot be read again.'
              }
              {...code}
              {...text('headers', 'implementation.http.headers')}
            />
          </>
        )}
        {form.kind !== 'CLIENT' && <Check label="Every call needs approval" {...check('requiresApproval')} />}
        <details className="wide">
          <summary>More settings</summary>
          <div className="stack">
            <Field
              label="Approval condition"
              rows={3}
              hint="JSON Schema: only calls whose arguments satisfy it need approval."
              {...code}
              {...text('approvalCondition')}
            />
            <Field
              label="Approval timeout in ms"
              inputMode="numeric"
              hint="An undecided call is denied after this time. Empty: never."
              {...text('approvalTimeoutMs')}
            />
            <Field label="Timeout in ms" inputMode="numeric" {...text('timeoutMs')} />
            <Field label="Longest result in characters" inputMode="numeric" {...text('returnCharLimit')} />
            <Field label="Tags" hint="Separated by commas." {...text('tags')} />
            {tool?.kind !== 'BUILTIN' && (
              <>
                <Check label="May run at the same time as other calls" {...check('parallel')} />
                <Check label="Safe to repeat after a crash" {...check('idempotent')} />
              </>
            )}
          </div>
        </details>
      </Form>
    </Dialog>
  )
}
