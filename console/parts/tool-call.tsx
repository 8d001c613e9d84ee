import { memo, useState, type ReactNode } from 'react'

import type { ToolCallFields } from '../../client/documents.ts'
import { isCallOver } from '../../client/transcript.ts'
import { WaitingCall } from '../data/documents.ts'
import { duration } from '../data/format.ts'
import { useQuery } from '../data/use-query.ts'
import { Decision, type DecisionMode } from './decision.tsx'
import { DecisionTaken } from './decision-taken.tsx'
import { Icon } from './icon.tsx'
import { JsonView } from './json-view.tsx'
import { PlainText } from './plain-text.tsx'
import { Status } from './status.tsx'

/** A tool call with its arguments, its approval and its result. */
export const ToolCall = memo(function ToolCall({
  call,
  isReplay = false,
}: {
  readonly call: ToolCallFields
  readonly isReplay?: boolean
}): ReactNode {
  const [mode, setMode] = useState<DecisionMode>('CHOOSE')
  const isWaiting = call.status === 'PENDING'
  const { result } = call
  const { data } = useQuery(WaitingCall, isWaiting && !isReplay ? { id: call.id } : null)
  const waiting = data?.node && 'approvals' in data.node ? data.node : undefined
  return (
    <article className={`entry call ${isWaiting ? 'waits' : ''}`} aria-label={`Tool call: ${call.name}`}>
      <header>
        <Icon name="tools" />
        <h3>{call.name}</h3>
        <Status value={call.status} />
        {result?.durationMs != null && <span className="quiet">{duration(result.durationMs)}</span>}
      </header>
      <details open={isWaiting || undefined}>
        <summary>{isWaiting ? 'Arguments' : summaryOf(call)}</summary>
        <JsonView value={call.editedArguments ?? call.arguments ?? call.argumentsText} />
        {result && (
          <>
            <h4>Result{result.truncated && ', cut'}</h4>
            <PlainText text={result.output || '(empty)'} label="Result" />
          </>
        )}
        {result && result.stdout.length > 0 && <PlainText text={result.stdout.join('\n')} label="Standard output" />}
        {result && result.stderr.length > 0 && <PlainText text={result.stderr.join('\n')} label="Standard error" />}
      </details>
      {call.decision && isCallOver(call.status) && <DecisionTaken decision={call.decision} />}
      {isWaiting && !isReplay && <Decision call={call} waiting={waiting} mode={mode} onMode={setMode} />}
    </article>
  )
})

/** One line that says what was asked and what the result was. */
function summaryOf({ argumentsText, result }: ToolCallFields): string {
  const line = (text: string): string => (text.length > 80 ? `${text.slice(0, 80)}…` : text).replaceAll(/\s+/g, ' ')
  return result ? `${line(argumentsText)} → ${line(result.output) || '(empty)'}` : line(argumentsText)
}
