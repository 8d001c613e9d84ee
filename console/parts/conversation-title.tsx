import { useState, type ReactNode } from 'react'
import { useLocation } from 'wouter'

import { useClient } from '../../react/client-context.ts'
import { ConversationList, DeleteConversation, UpdateConversation } from '../data/documents.ts'
import { useAction } from '../data/use-action.ts'
import { refresh } from '../data/use-query.ts'
import { Button } from './button.tsx'
import { Confirm } from './confirm.tsx'
import { Field } from './field.tsx'

interface ConversationTitleProps {
  readonly id: string
  readonly title: string | null
  readonly isMain: boolean
}

/** The title, which can be changed in place, and a way to delete the conversation. */
export function ConversationTitle({ id, title, isMain }: ConversationTitleProps): ReactNode {
  const client = useClient()
  const [, navigate] = useLocation()
  const [shown, setShown] = useState(title)
  const [draft, setDraft] = useState<string>()
  const [isDeleting, setDeleting] = useState(false)
  const save = useAction(async () => {
    await client.request(UpdateConversation, { input: { id, title: draft || null } })
    setShown(draft || null)
    setDraft(undefined)
    refresh(client, ConversationList)
  })
  const remove = useAction(async () => {
    await client.request(DeleteConversation, { input: { id } })
    refresh(client, ConversationList)
    navigate('/agents')
  })
  if (draft !== undefined) {
    return (
      <form
        className="row"
        onSubmit={(event) => {
          event.preventDefault()
          save.run()
        }}
      >
        <Field
          label="Title"
          hideLabel
          value={draft}
          autoFocus
          problem={save.problem}
          onChange={(event) => setDraft(event.target.value)}
        />
        <Button type="submit" isBusy={save.isBusy}>
          Save title
        </Button>
        {!isMain && (
          <Button look="quiet" onClick={() => setDeleting(true)}>
            Delete conversation
          </Button>
        )}
        <Button look="quiet" onClick={() => setDraft(undefined)}>
          Back
        </Button>
        {isDeleting && (
          <Confirm title="Delete this conversation?" verb="Delete" action={remove} onClose={() => setDeleting(false)}>
            Its messages and runs are deleted with it. A run that is active is stopped.
          </Confirm>
        )}
      </form>
    )
  }
  return (
    <button type="button" className="title-button" title="Rename" onClick={() => setDraft(shown ?? '')}>
      {shown ?? (isMain ? 'Main conversation' : 'Conversation')}
    </button>
  )
}
