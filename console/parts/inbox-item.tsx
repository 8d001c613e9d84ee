import type { ReactNode } from 'react'
import { Link } from 'wouter'

import type { InboxCallFields } from '../../client/documents.ts'
import { Decision, type DecisionMode, type Held } from './decision.tsx'
import { Ago } from './time.tsx'

interface InboxItemProps {
  readonly call: InboxCallFields
  /** It was decided elsewhere, and only keeps its place. */
  readonly isGone: boolean
  readonly isCurrent: boolean
  readonly isSelected: boolean
  readonly mode: DecisionMode
  readonly held: Held | undefined
  readonly onSelect: () => void
  readonly onMode: (mode: DecisionMode) => void
  readonly onFocus: () => void
  /** The person has decided about it. */
  readonly onAct: () => void
  /** Whether the person writes in one of the fields. */
  readonly onWriting: (isWriting: boolean) => void
}

/** One call that waits. */
export function InboxItem({ call, isGone, isCurrent, isSelected, mode, held, ...on }: InboxItemProps): ReactNode {
  const { onSelect, onMode, onFocus, onAct, onWriting } = on
  const { name, agent, conversation } = call
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
        {call.needs === 'APPROVAL' && (
          <input type="checkbox" aria-label={`Select ${name}`} checked={isSelected} onChange={onSelect} />
        )}
        <h2>{name}</h2>
        <Link className="quiet" href={`/conversations/${conversation.id}`}>
          {conversation.title === null ? agent.name : `${agent.name}, ${conversation.title}`}
        </Link>
        <span className="quiet">{isGone ? 'No longer waits' : <Ago at={call.createdAt} />}</span>
      </header>
      {call.tool?.description && <p className="quiet">{call.tool.description}</p>}
      <Decision
        call={call}
        waiting={call}
        mode={mode}
        held={held}
        onMode={onMode}
        onWriting={onWriting}
        onAct={onAct}
      />
    </li>
  )
}
