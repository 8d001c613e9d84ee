import type { ReactNode } from 'react'

import { CreateConversation } from '../../client/documents.ts'
import { useClient } from '../../react/client-context.ts'
import { ConversationList } from '../data/documents.ts'
import { useAction } from '../data/use-action.ts'
import { useGo } from '../data/use-here.ts'
import { refresh } from '../data/use-query.ts'
import { Button } from './button.tsx'
import { Problem } from './problem.tsx'

interface NewConversationProps {
  readonly agentId: string
  /** An icon alone, where there is no room for words. */
  readonly isSmall?: boolean
}

/** Starts another conversation with the agent. */
export function NewConversation({ agentId, isSmall = false }: NewConversationProps): ReactNode {
  const client = useClient()
  const go = useGo()
  const create = useAction(async () => {
    const { createConversation } = await client.request(CreateConversation, { input: { agentId } })
    refresh(client, ConversationList)
    go(`/conversations/${createConversation!.conversation.id}`)
  })
  return (
    <>
      {isSmall ? (
        <Button
          look="quiet"
          icon="plus"
          className="narrow-only"
          aria-label="New conversation"
          title="New conversation"
          isBusy={create.isBusy}
          onClick={() => create.run()}
        />
      ) : (
        <Button icon="plus" className="if-wide" isBusy={create.isBusy} onClick={() => create.run()}>
          New conversation
        </Button>
      )}
      <Problem>{create.problem}</Problem>
    </>
  )
}
