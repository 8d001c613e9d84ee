import type { ReactNode } from 'react'

import type { ToolCallFields } from '../../client/documents.ts'
import { Arguments } from './arguments.tsx'
import { PlainText } from './plain-text.tsx'

/** What a call was given and what it returned. If a person changed the arguments, both versions are shown. */
export function CallDetails({ call }: { readonly call: ToolCallFields }): ReactNode {
  const { result, editedArguments } = call
  const written = call.arguments ?? call.argumentsText
  return (
    <>
      {editedArguments === null ? (
        <Arguments value={written} />
      ) : (
        <>
          <h4>Arguments, changed by a person</h4>
          <Arguments value={editedArguments} />
          <h4>As the model wrote them</h4>
          <Arguments value={written} />
        </>
      )}
      {result && (
        <>
          <h4>
            {result.status === 'ERROR' ? 'Error' : 'Result'}
            {result.truncated && ', cut'}
          </h4>
          <PlainText text={result.output || '(no text)'} label="Result" />
          {result.stdout.length > 0 && (
            <>
              <h4>Standard output</h4>
              <PlainText text={result.stdout.join('\n')} label="Standard output" />
            </>
          )}
          {result.stderr.length > 0 && (
            <>
              <h4>Standard error</h4>
              <PlainText text={result.stderr.join('\n')} label="Standard error" />
            </>
          )}
        </>
      )}
    </>
  )
}
