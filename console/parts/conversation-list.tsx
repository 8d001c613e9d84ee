import { useDeferredValue, useLayoutEffect, useRef, useState, type ReactNode } from 'react'
import { Link } from 'wouter'

import {
  ConversationList as ConversationListQuery,
  type ConversationAgentData,
  type ConversationListData,
  type ConversationRow,
} from '../data/documents.ts'
import { useKept } from '../data/use-kept.ts'
import { usePages } from '../data/use-pages.ts'
import { Button } from './button.tsx'
import { NewConversation } from './new-conversation.tsx'
import { ShowMore } from './show-more.tsx'
import { Status } from './status.tsx'
import { Ago } from './time.tsx'

interface ConversationListProps {
  readonly agent: NonNullable<ConversationAgentData['agent']>
  readonly currentId: string
  readonly revision: string
}

const pageOf = ({ agent }: ConversationListData) => agent!.conversations
/** With fewer, a search takes more time than a look. */
const fewest = 8

/** The conversations of one agent, the most recently used first, or those in its archive. */
export function ConversationList({ agent, currentId, revision }: ConversationListProps): ReactNode {
  const [hasArchive, setArchive] = useState(false)
  const [search = '', setSearch] = useKept<string>(`conversations.${agent.id}`)
  const titleContains = useDeferredValue(search.trim())
  const query = { agentId: agent.id, first: 50, filter: { archived: hasArchive } }
  const all = usePages(ConversationListQuery, query, pageOf, revision)
  const titled = usePages(
    ConversationListQuery,
    titleContains ? { ...query, filter: { ...query.filter, titleContains } } : null,
    pageOf,
  )
  const nameOf = (conversation: ConversationRow): string => nameIn(conversation, agent.mainConversation.id)
  // The server searches titles. Conversations without one are found by their names here, as far as they are loaded.
  const isNamed = (one: ConversationRow): boolean => nameOf(one).toLowerCase().includes(titleContains.toLowerCase())
  const named = all.nodes?.filter(isNamed)
  const nodes = titleContains
    ? [...new Map([...(named ?? []), ...(titled.nodes ?? [])].map((one) => [one.id, one])).values()]
    : named
  const list = useRef<HTMLUListElement>(null)
  const isLoaded = nodes !== undefined
  useLayoutEffect(() => {
    list.current?.querySelector('[aria-current]')?.scrollIntoView({ block: 'nearest' })
  }, [isLoaded])
  return (
    <nav className="conversations" aria-label="Conversations">
      <NewConversation agentId={agent.id} />
      {(search !== '' || (all.totalCount ?? 0) > fewest) && (
        <input
          type="search"
          aria-label="Search conversations"
          placeholder="Search"
          value={search}
          onChange={(event) => setSearch(event.target.value || undefined)}
        />
      )}
      <ul ref={list}>
        {nodes?.map((conversation) => (
          <li key={conversation.id}>
            <Link
              href={`/conversations/${conversation.id}`}
              aria-current={conversation.id === currentId ? 'page' : undefined}
            >
              <span className="name">{nameOf(conversation)}</span>
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
      {nodes?.length === 0 && (
        <p className="quiet">{titleContains || !hasArchive ? 'Nothing is found.' : 'Nothing is archived.'}</p>
      )}
      <ShowMore of={titleContains && titled.hasMore ? titled : all} label="Show older ones" />
      <Button look="quiet" className="small" aria-expanded={hasArchive} onClick={() => setArchive(!hasArchive)}>
        {hasArchive ? 'Hide the archive' : 'Show the archive'}
      </Button>
    </nav>
  )
}

/** Without a title, what was last asked in it tells a conversation from the others. */
export function nameIn({ id, title, latestRun }: ConversationRow, mainId: string): string {
  if (title !== null) return title
  if (id === mainId) return 'Main conversation'
  return latestRun?.input.find(({ text }) => text)?.text ?? 'Conversation'
}
