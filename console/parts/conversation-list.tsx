import { useState, type ReactNode } from 'react'
import { Link } from 'wouter'

import {
  ConversationList as ConversationListQuery,
  type ConversationListData,
  type ConversationRow,
} from '../data/documents.ts'
import { count } from '../data/format.ts'
import { useQuery } from '../data/use-query.ts'
import { Button } from './button.tsx'
import { NewConversation } from './new-conversation.tsx'
import { Status } from './status.tsx'
import { Ago } from './time.tsx'

type Agent = NonNullable<ConversationListData['agent']>

interface ConversationListProps {
  readonly agent: Agent
  readonly currentId: string
}

/** The conversations of one agent, the most recently used first. The archive opens on request. */
export function ConversationList({ agent, currentId }: ConversationListProps): ReactNode {
  const [hasArchive, setArchive] = useState(false)
  const archive = useQuery(ConversationListQuery, hasArchive ? { agentId: agent.id, archived: true } : null)
  const { nodes, totalCount } = agent.conversations
  const list = (conversations: readonly ConversationRow[]): ReactNode => (
    <ul>
      {conversations.map((conversation) => (
        <li key={conversation.id}>
          <Link
            href={`/conversations/${conversation.id}`}
            aria-current={conversation.id === currentId ? 'page' : undefined}
          >
            <span className="name">{nameOf(conversation, { mainId: agent.mainConversation.id })}</span>
            <span className="quiet">
              {conversation.activeRun ? (
                <Status value={conversation.activeRun.status} />
              ) : (
                <Ago at={conversation.lastActivityAt} />
              )}
            </span>
          </Link>
        </li>
      ))}
    </ul>
  )
  return (
    <nav className="conversations" aria-label="Conversations">
      <NewConversation agentId={agent.id} />
      {list(nodes)}
      {totalCount > nodes.length && <p className="quiet">{count(totalCount - nodes.length)} older ones.</p>}
      <Button look="quiet" className="small" aria-expanded={hasArchive} onClick={() => setArchive(!hasArchive)}>
        {hasArchive ? 'Hide the archive' : 'Show the archive'}
      </Button>
      {hasArchive && archive.data?.agent && list(archive.data.agent.conversations.nodes)}
      {hasArchive && archive.data?.agent?.conversations.nodes.length === 0 && (
        <p className="quiet">Nothing is archived.</p>
      )}
    </nav>
  )
}

/** Without a title, what was last asked in it tells a conversation from the others. */
function nameOf({ id, title, latestRun }: ConversationRow, { mainId }: { readonly mainId: string }): string {
  if (title !== null) return title
  if (id === mainId) return 'Main conversation'
  return latestRun?.input.find(({ text }) => text)?.text ?? 'Conversation'
}
