import type { ReactNode } from 'react'

import type { Draft } from '../../react/conversation-store.ts'
import type { Conversation } from '../../react/use-conversation.ts'
import { useKept } from '../data/use-kept.ts'
import { Button } from './button.tsx'
import { FileCount } from './file-count.tsx'

/** A message that was sent but is not part of the conversation yet. */
export function DraftEntry({
  draft,
  conversationId,
  conversation,
}: {
  readonly draft: Draft
  readonly conversationId: string
  readonly conversation: Conversation
}): ReactNode {
  const { clientId, state, text, files, problem } = draft
  const [, setText] = useKept<string>(`message.${conversationId}`)
  const edit = (): void => {
    setText((before) => (before ? `${text}\n\n${before}` : text))
    conversation.discard(clientId)
  }
  const isQueued = state === 'SENT' && conversation.isActive
  return (
    <article className="entry user draft" aria-label="User" aria-busy={state === 'SENDING' ? true : undefined}>
      <div className="bubble">
        {text}
        <FileCount count={files.length} />
      </div>
      {state === 'FAILED' ? (
        <footer role="alert" className="draft-problem">
          <span>Not sent: {problem?.replace(/^input[.\w]*: /, '')}</span>
          <Button look="quiet" onClick={() => void conversation.resend(clientId).catch(() => {})}>
            Send again
          </Button>
          {files.length === 0 && (
            <Button look="quiet" onClick={edit}>
              Edit
            </Button>
          )}
          <Button look="quiet" onClick={() => conversation.discard(clientId)}>
            Discard
          </Button>
        </footer>
      ) : (
        <footer>{state === 'SENDING' ? 'Sending…' : isQueued ? 'Waits for its turn' : 'Sent'}</footer>
      )}
    </article>
  )
}
