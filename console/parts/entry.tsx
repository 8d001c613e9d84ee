import { memo, type ReactNode } from 'react'

import type { TranscriptEntry } from '../../client/transcript.ts'
import { Icon } from './icon.tsx'
import { Markdown } from './markdown.tsx'
import { NotInContext } from './not-in-context.tsx'
import { ToolCall } from './tool-call.tsx'
import { UserEntry } from './user-entry.tsx'

/** One entry of a conversation. */
export const Entry = memo(function Entry({
  entry,
  isUnderWay,
  isReplay = false,
}: {
  readonly entry: TranscriptEntry
  /** Whether its run is not over. */
  readonly isUnderWay: boolean
  readonly isReplay?: boolean
}): ReactNode {
  if (entry.kind === 'call') return <ToolCall call={entry.call} progress={entry.progress} isReplay={isReplay} />
  // A text that was written and is now stored stays the same element, so that what the reader opened stays open.
  if (entry.kind === 'live') {
    if (entry.role === 'REASONING') return <Reasoning text={entry.text} isLive />
    if (entry.role === 'TOOL_CALL') return <LiveCall name={entry.name} text={entry.text} />
    return <Answer text={entry.text} isLive />
  }
  const { message } = entry
  switch (message.__typename) {
    case 'UserMessage':
      return <UserEntry message={message} isUnderWay={isUnderWay} />
    case 'AssistantMessage':
      return (
        <Answer text={message.text}>
          <footer>
            {message.interrupted && <span className="quiet">cut short by a cancel</span>}
            <NotInContext message={message} isUnderWay={isUnderWay} />
          </footer>
        </Answer>
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

interface AnswerProps {
  readonly text: string
  readonly isLive?: boolean
  readonly children?: ReactNode
}

function Answer({ text, isLive = false, children }: AnswerProps): ReactNode {
  return (
    <article
      className={`entry assistant ${isLive ? 'is-live' : ''}`}
      aria-label="Assistant"
      aria-busy={isLive ? true : undefined}
    >
      <Markdown text={text} />
      {children}
    </article>
  )
}

function LiveCall({ name, text }: { readonly name: string; readonly text: string }): ReactNode {
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
