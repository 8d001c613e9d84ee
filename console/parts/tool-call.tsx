import { memo, useRef, useState, type ReactNode } from 'react'

import type { ProgressFields, ToolCallFields } from '../../client/documents.ts'
import { WaitingCall } from '../data/documents.ts'
import { duration } from '../data/format.ts'
import { useQuery } from '../data/use-query.ts'
import { CallDetails } from './call-details.tsx'
import { Attachments } from './content.tsx'
import { Decision, type DecisionMode } from './decision.tsx'
import { DecisionTaken } from './decision-taken.tsx'
import { Icon } from './icon.tsx'
import { Status } from './status.tsx'

/** A tool call with its arguments, its approval and its result. */
export const ToolCall = memo(function ToolCall({
  call,
  progress,
  isReplay = false,
}: {
  readonly call: ToolCallFields
  readonly progress?: ProgressFields | undefined
  readonly isReplay?: boolean
}): ReactNode {
  const [mode, setMode] = useState<DecisionMode>('CHOOSE')
  const [isWriting, setWriting] = useState(false)
  const isWaiting = call.status === 'PENDING'
  // What was decided is said below.
  const isDecided = call.status === 'READY' && call.decision !== null && !isReplay
  const [chosen, setOpen] = useState<boolean>()
  const isOpen = chosen ?? isWaiting
  const { result } = call
  // One of several approvals sends the call again, still waiting.
  const told = useRef({ call, times: 0 })
  if (told.current.call !== call) told.current = { call, times: told.current.times + 1 }
  const { data } = useQuery(WaitingCall, isWaiting && !isReplay ? { id: call.id } : null, told.current.times)
  const waiting = data?.node && 'tool' in data.node ? data.node : undefined
  return (
    <article className={`entry call ${isWaiting ? 'waits' : ''}`} aria-label={`Tool call: ${call.name}`}>
      <header>
        <Icon name="tools" />
        <h3>{call.name}</h3>
        {!isDecided && <Status value={call.status} />}
        {result?.durationMs != null && <span className="quiet">{duration(result.durationMs)}</span>}
      </header>
      {progress && (
        <p className="quiet">
          <progress
            aria-label={`Progress of ${call.name}`}
            {...(progress.total !== null && { max: progress.total, value: progress.progress })}
          />{' '}
          {progress.message ??
            (progress.total === null ? progress.progress : `${progress.progress} of ${progress.total}`)}
        </p>
      )}
      {(!isWaiting || isReplay) && (
        <details open={isOpen} onToggle={(event) => event.currentTarget.open !== isOpen && setOpen(!isOpen)}>
          <summary>{summaryOf(call)}</summary>
          {/* Text that is folded away is not in the document a second time. */}
          {isOpen && <CallDetails call={call} />}
        </details>
      )}
      <Attachments parts={result?.content ?? []} />
      {call.decision && !isWriting && <DecisionTaken decision={call.decision} />}
      {(isWaiting || isWriting) && !isReplay && (
        <Decision call={call} waiting={waiting} mode={mode} onMode={setMode} onWriting={setWriting} />
      )}
    </article>
  )
})

/** One line that says what was asked and what the result was. */
export function summaryOf({ argumentsText, editedArguments, result, decision }: ToolCallFields): string {
  const line = (text: string): string => (text.length > 80 ? `${text.slice(0, 80)}…` : text).replaceAll(/\s+/g, ' ')
  const asked = line(editedArguments === null ? argumentsText : JSON.stringify(editedArguments))
  // What a denial gives to the model is what the decision says.
  if (!result || decision?.kind === 'DENIED') return asked
  const returned = line(result.output) || (result.content.length > 0 ? 'files' : '(empty)')
  return `${asked} → ${returned}`
}
