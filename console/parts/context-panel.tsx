import type { ReactNode } from 'react'

import { useClient } from '../../react/client-context.ts'
import { CompactConversation, ConversationContext } from '../data/documents.ts'
import { Refused, useAction } from '../data/use-action.ts'
import { useQuery } from '../data/use-query.ts'
import { BlockEditor } from './block-editor.tsx'
import { Button } from './button.tsx'
import { PlainText } from './plain-text.tsx'
import { Problem } from './problem.tsx'
import { Skeleton } from './skeleton.tsx'
import { TokenBar } from './token-bar.tsx'

interface ContextPanelProps {
  readonly conversationId: string
  /** Changes whenever the context may have changed. Undefined until the messages have loaded, which come first. */
  readonly revision: string | undefined
  readonly onClose: () => void
}

/** What the model would be sent now: its size, the compiled system prompt, and the memory blocks. */
export function ContextPanel({ conversationId, revision, onClose }: ContextPanelProps): ReactNode {
  const client = useClient()
  const { data, error, refetch } = useQuery(
    ConversationContext,
    revision === undefined ? null : { id: conversationId },
    revision,
  )
  const compact = useAction(async () => {
    const { compactConversation } = await client.request(CompactConversation, { input: { conversationId } })
    if (compactConversation && 'message' in compactConversation) throw new Refused(compactConversation.message)
  })
  const conversation = data?.conversation
  const blocks = conversation?.blocks ?? conversation?.agent.blocks ?? []
  return (
    <aside className="context" aria-label="Context" data-drawer="CONTEXT">
      <header>
        <h2>Context</h2>
        <Button look="quiet" icon="close" aria-label="Hide context" onClick={onClose} />
      </header>
      {error && !conversation && <Problem>{error.message}</Problem>}
      {!conversation && !error && <Skeleton />}
      {conversation && (
        <>
          <TokenBar tokens={conversation.context.tokens} />
          <Button isBusy={compact.isBusy} onClick={() => compact.run()}>
            Compact now
          </Button>
          <Problem>{compact.problem}</Problem>
          <details open className="system-prompt">
            <summary>System prompt</summary>
            <PlainText text={conversation.context.systemPrompt} label="System prompt" />
          </details>
          <h3>Memory</h3>
          {blocks.length === 0 && <p className="quiet">The agent has no blocks.</p>}
          {blocks.map((block) => (
            <details key={block.id} className="block" open={blocks.length < 6}>
              <summary>{block.label}</summary>
              {block.description && <p className="quiet">{block.description}</p>}
              <BlockEditor block={block} onSaved={() => void refetch()} />
            </details>
          ))}
        </>
      )}
    </aside>
  )
}
