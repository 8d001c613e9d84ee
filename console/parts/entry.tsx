import { memo, type ReactNode } from 'react'

import type { TranscriptEntry } from '../../client/transcript.ts'
import { Icon } from './icon.tsx'
import { Markdown } from './markdown.tsx'
import { NotInContext } from './not-in-context.tsx'
import { Clock } from './time.tsx'
import { ToolCall } from './tool-call.tsx'
import { UserEntry } from './user-entry.tsx'

/** One entry of a conversation. */
export const Entry = memo(function Entry({
  entry,
  isReplay = false,
}: {
  readonly entry: TranscriptEntry
  readonly isReplay?: boolean
}): ReactNode {
  if (entry.kind === 'call') return <ToolCall call={entry.call} isReplay={isReplay} />
  if (entry.kind === 'live') return <LiveEntry role={entry.role} name={entry.name} text={entry.text} />
  const { message } = entry
  switch (message.__typename) {
    case 'UserMessage':
      return <UserEntry message={message} />
    case 'AssistantMessage':
      return (
        <article className="entry assistant" aria-label="Assistant">
          <Markdown text={message.text} />
          <footer>
            {message.interrupted && <span className="quiet">cut short by a cancel</span>}
            <NotInContext message={message} />
            <Clock at={message.createdAt} />
          </footer>
        </article>
      )
    case 'ReasoningMessage':
      return <Reasoning text={message.redacted ? 'The provider keeps this reasoning to itself.' : message.text} />
    case 'SummaryMessage':
      return (
        <article className="entry aside" aria-label="Summary">
          <details>
            <summary>
              <Icon name="memory" /> Summary of what came before
            </summary>
            <Markdown text={message.text} />
          </details>
        </article>
      )
    case 'SystemMessage':
      return (
        <article className="entry aside" aria-label="System">
          {message.text}
        </article>
      )
    default:
      return message satisfies never
  }
})

function LiveEntry({
  role,
  name,
  text,
}: {
  readonly role: string
  readonly name: string
  readonly text: string
}): ReactNode {
  if (role === 'REASONING') return <Reasoning text={text} isLive />
  if (role === 'TOOL_CALL') {
    return (
      <article className="entry call" aria-label={`Tool call: ${name}`} aria-busy="true">
        <header>
          <Icon name="tools" />
          <h3>{name}</h3>
          <span className="status live">Being written</span>
        </header>
        <pre className="plain-text">{text}</pre>
      </article>
    )
  }
  return (
    <article className="entry assistant is-live" aria-label="Assistant" aria-busy="true">
      <Markdown text={text} />
    </article>
  )
}

function Reasoning({ text, isLive = false }: { readonly text: string; readonly isLive?: boolean }): ReactNode {
  return (
    <article
      className={`entry aside ${isLive ? 'is-live' : ''}`}
      aria-label="Reasoning"
      aria-busy={isLive ? true : undefined}
    >
      <details>
        <summary>{isLive ? 'Thinking…' : 'Reasoning'}</summary>
        <div className="reasoning">{text}</div>
      </details>
    </article>
  )
}
