import { useState, type ReactNode } from 'react'

import { useClient } from '../../react/client-context.ts'
import type { ToolCallFields } from '../../client/documents.ts'
import type { ToolRow } from '../data/documents.ts'
import { duration, pretty } from '../data/format.ts'
import { jsonOf } from '../data/parse.ts'
import { exampleOf } from '../data/example.ts'
import { tryTool } from '../data/try-tool.ts'
import { useAction } from '../data/use-action.ts'
import { useKept } from '../data/use-kept.ts'
import { Dialog } from './dialog.tsx'
import { Field } from './field.tsx'
import { Form } from './form.tsx'
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
      <Form action={run} onSubmit={run.run} submit="Run the tool">
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
      </Form>
      {call && (
        <div className="stack wide" role="status">
          <p>
            <Status value={call.status} />{' '}
            {call.result?.durationMs != null && <span className="quiet">{duration(call.result.durationMs)}</span>}
          </p>
          {outputsOf(call).map(([label, text]) => (
            <div key={label} className="wide">
              <h3 className="label">{label}</h3>
              <PlainText text={text} label={label} />
            </div>
          ))}
        </div>
      )}
    </Dialog>
  )
}

function outputsOf({ result }: ToolCallFields): (readonly [label: string, text: string])[] {
  const { output = '', stdout = [], stderr = [] } = result ?? {}
  const written = [
    ['Standard output', stdout.join('\n')],
    ['Standard error', stderr.join('\n')],
  ] as const
  return [['Result', output || '(empty)'], ...written.filter(([, text]) => text !== '')]
}
