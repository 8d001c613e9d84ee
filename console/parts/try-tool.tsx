import { useState, type ReactNode } from 'react'

import { useClient } from '../../react/client-context.ts'
import type { ToolCallFields, ToolRow } from '../data/documents.ts'
import { duration, pretty } from '../data/format.ts'
import { jsonOf } from '../data/parse.ts'
import { exampleOf } from '../data/example.ts'
import { tryTool } from '../data/try-tool.ts'
import { useAction } from '../data/use-action.ts'
import { useKept } from '../data/use-kept.ts'
import { Button } from './button.tsx'
import { Dialog } from './dialog.tsx'
import { Field } from './field.tsx'
import { PlainText } from './plain-text.tsx'
import { Status } from './status.tsx'

/** Runs a JavaScript tool with given arguments. */
export function TryTool({ tool, onClose }: { readonly tool: ToolRow; readonly onClose: () => void }): ReactNode {
  const client = useClient()
  const [text = pretty(exampleOf(tool.parameters)), setText] = useKept<string>(`try.${tool.id}`)
  const [call, setCall] = useState<ToolCallFields>()
  const run = useAction(async () => {
    setCall(undefined)
    setCall(await tryTool(client, tool, jsonOf(text, 'arguments') ?? {}))
  })
  return (
    <Dialog title={`Try ${tool.name}`} onClose={onClose}>
      <form
        className="stack"
        onSubmit={(event) => {
          event.preventDefault()
          run.run()
        }}
      >
        <Field
          label="Arguments"
          as="textarea"
          className="mono"
          rows={6}
          spellCheck={false}
          value={text}
          problem={run.problem}
          onChange={(event) => setText(event.target.value)}
        />
        <Button look="primary" type="submit" isBusy={run.isBusy}>
          Run the tool
        </Button>
        {call && (
          <div className="stack wide" role="status">
            <p>
              <Status value={call.status} />{' '}
              {call.result?.durationMs != null && <span className="quiet">{duration(call.result.durationMs)}</span>}
            </p>
            <PlainText text={call.result?.output || '(empty)'} label="Result" />
            {call.result && call.result.stdout.length > 0 && (
              <PlainText text={call.result.stdout.join('\n')} label="Standard output" />
            )}
            {call.result && call.result.stderr.length > 0 && (
              <PlainText text={call.result.stderr.join('\n')} label="Standard error" />
            )}
          </div>
        )}
      </form>
    </Dialog>
  )
}
