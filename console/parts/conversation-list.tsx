import type { ReactNode } from 'react'
import { Link, useLocation } from 'wouter'

import { useClient } from '../../react/client-context.ts'
import {
  ConversationList as ConversationListQuery,
  CreateConversation,
  type ConversationListData,
} from '../data/documents.ts'
import { refresh } from '../data/use-query.ts'
import { useAction } from '../data/use-action.ts'
import { Button } from './button.tsx'
import { Problem } from './problem.tsx'
import { Status } from './status.tsx'
import { Ago } from './time.tsx'

type Agent = NonNullable<ConversationListData['agent']>

interface ConversationListProps {
  readonly agent: Agent
  readonly currentId: string
}

/** The conversations of one agent, newest first. */
export function ConversationList({ agent, currentId }: ConversationListProps): ReactNode {
  const client = useClient()
  const [, navigate] = useLocation()
  const create = useAction(async () => {
    const { createConversation } = await client.request(CreateConversation, { input: { agentId: agent.id } })
    refresh(client, ConversationListQuery)
    navigate(`/conversations/${createConversation!.conversation.id}`)
  })
  const nodes = agent.conversations.nodes.toReversed()
  return (
    <nav className="conversations" aria-label="Conversations">
      <Button icon="plus" isBusy={create.isBusy} onClick={() => create.run()}>
        New conversation
      </Button>
      <Problem>{create.problem}</Problem>
      <ul>
        {nodes.map((conversation) => (
          <li key={conversation.id}>
            <Link
              href={`/conversations/${conversation.id}`}
              aria-current={conversation.id === currentId ? 'page' : undefined}
            >
              <span className="name">
                {conversation.title ??
                  (conversation.id === agent.mainConversation.id ? 'Main conversation' : 'Conversation')}
              </span>
              <span className="quiet">
                {conversation.activeRun ? (
                  <Status value={conversation.activeRun.status} />
                ) : (
                  <Ago at={conversation.updatedAt} />
                )}
              </span>
            </Link>
          </li>
        ))}
      </ul>
    </nav>
  )
}
