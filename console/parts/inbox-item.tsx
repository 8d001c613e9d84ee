import type { ReactNode } from 'react'
import { Link } from 'wouter'

import type { InboxCallFields } from '../../client/documents.ts'
import { Decision, type DecisionMode } from './decision.tsx'
import { JsonView } from './json-view.tsx'
import { Ago } from './time.tsx'

interface InboxItemProps {
  readonly call: InboxCallFields
  /** It was decided elsewhere, and only keeps its place. */
  readonly isGone: boolean
  readonly isCurrent: boolean
  readonly mode: DecisionMode
  readonly onMode: (mode: DecisionMode) => void
  readonly onFocus: () => void
  /** The person has decided about it. */
  readonly onAct: () => void
  /** Whether the person writes in one of the fields. */
  readonly onWriting: (isWriting: boolean) => void
}

/** One call that waits. */
export function InboxItem({ call, isGone, isCurrent, mode, ...on }: InboxItemProps): ReactNode {
  const { onMode, onFocus, onAct, onWriting } = on
  return (
    <li
      data-call={call.id}
      className={`inbox-item ${isCurrent ? 'current' : ''} ${isGone ? 'gone' : ''}`}
      inert={isGone}
      aria-hidden={isGone ? true : undefined}
      tabIndex={-1}
      aria-current={isCurrent ? true : undefined}
      onFocus={onFocus}
    >
      <header>
        <h2>{call.name}</h2>
        <span className="quiet">{isGone ? 'No longer waits' : <Ago at={call.createdAt} />}</span>
      </header>
      <p className="quiet">
        {call.agent.name} in{' '}
        <Link href={`/conversations/${call.conversation.id}`}>{call.conversation.title ?? 'its conversation'}</Link>
        {call.tool?.description && <> · {call.tool.description}</>}
      </p>
      {mode !== 'EDIT' && <JsonView value={call.arguments ?? call.argumentsText} />}
      <Decision call={call} waiting={call} mode={mode} onMode={onMode} onWriting={onWriting} onAct={onAct} />
    </li>
  )
}
