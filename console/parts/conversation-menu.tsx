import { useState, type ReactNode } from 'react'

import { useClient } from '../../react/client-context.ts'
import {
  ArchiveConversation,
  ClearConversation,
  ConversationList,
  DeleteConversation,
  UnarchiveConversation,
} from '../data/documents.ts'
import { Refused, useAction } from '../data/use-action.ts'
import { useGo } from '../data/use-here.ts'
import { refresh } from '../data/use-query.ts'
import { Button } from './button.tsx'
import { Confirm } from './confirm.tsx'
import { Menu } from './menu.tsx'
import { Problem } from './problem.tsx'

interface ConversationMenuProps {
  readonly id: string
  readonly agentId: string
  readonly isMain: boolean
  readonly isArchived: boolean
  readonly onChanged: () => void
}

/** Further actions for a conversation. */
export function ConversationMenu({ id, agentId, isMain, isArchived, onChanged }: ConversationMenuProps): ReactNode {
  const client = useClient()
  const go = useGo()
  const [asked, setAsked] = useState<'CLEAR' | 'DELETE'>()
  const archive = useAction(async () => {
    if (isArchived) await client.request(UnarchiveConversation, { input: { id } })
    else await client.request(ArchiveConversation, { input: { id } })
    refresh(client, ConversationList)
    onChanged()
  })
  const clear = async (): Promise<void> => {
    const { clearConversation } = await client.request(ClearConversation, { input: { id } })
    if ('message' in clearConversation!) throw new Refused(clearConversation.message)
  }
  const remove = async (): Promise<void> => {
    await client.request(DeleteConversation, { input: { id } })
    refresh(client, ConversationList)
    go(`/agents/${agentId}`)
  }
  const close = (): void => setAsked(undefined)
  return (
    <>
      <Menu label="More about this conversation">
        <Button look="quiet" onClick={() => go(`/agents/${agentId}/edit`)}>
          Edit the agent
        </Button>
        <Button look="quiet" onClick={() => go(`/agents/${agentId}/archive`)}>
          Show the agent's archive
        </Button>
        <Button look="quiet" onClick={() => go(`/runs?conversation=${id}`)}>
          Show its runs
        </Button>
        <Button look="quiet" onClick={() => archive.run()}>
          {isArchived ? 'Take out of the archive' : 'Archive conversation'}
        </Button>
        <Button look="quiet" onClick={() => setAsked('CLEAR')}>
          Clear conversation
        </Button>
        {!isMain && (
          <Button look="quiet" onClick={() => setAsked('DELETE')}>
            Delete conversation
          </Button>
        )}
      </Menu>
      {archive.problem && <Problem>{archive.problem}</Problem>}
      {asked === 'CLEAR' && (
        <Confirm title="Clear this conversation?" verb="Clear" act={clear} onClose={close}>
          The agent starts over and no longer sees what was said here. Its memory blocks stay. The runs stay readable.
        </Confirm>
      )}
      {asked === 'DELETE' && (
        <Confirm title="Delete this conversation?" verb="Delete" act={remove} onClose={close}>
          Its messages and runs are deleted with it. A run that is active is stopped. This cannot be undone.
        </Confirm>
      )}
    </>
  )
}
