import { useState, type ReactNode } from 'react'

import { useClient } from '../../react/client-context.ts'
import { ConversationList, UpdateConversation } from '../data/documents.ts'
import { useAction } from '../data/use-action.ts'
import { useFocusKept } from '../data/use-focus-kept.ts'
import { useKept } from '../data/use-kept.ts'
import { refresh } from '../data/use-query.ts'
import { Button } from './button.tsx'
import { Field } from './field.tsx'

interface ConversationTitleProps {
  readonly id: string
  readonly title: string | null
  /** What the conversation is called without a title. */
  readonly name: string
}

/** The title, which can be edited in place. */
export function ConversationTitle({ id, title, name }: ConversationTitleProps): ReactNode {
  const client = useClient()
  const [shown, setShown] = useState(title)
  const [draft, setDraft] = useKept<string>(`title.${id}`)
  const save = useAction(async () => {
    await client.request(UpdateConversation, { input: { id, title: draft || null } })
    setShown(draft || null)
    setDraft(undefined)
    refresh(client, ConversationList)
  })
  const root = useFocusKept(draft === undefined ? 'SHOW' : 'EDIT')
  return (
    <div ref={root}>
      {draft === undefined ? (
        <button
          type="button"
          className="title-button"
          title="Rename"
          data-opens="EDIT"
          onClick={() => setDraft(shown ?? '')}
        >
          {shown ?? name}
        </button>
      ) : (
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
            onKeyDown={(event) => event.key === 'Escape' && setDraft(undefined)}
          />
          <Button type="submit" isBusy={save.isBusy}>
            Save title
          </Button>
          <Button look="quiet" onClick={() => setDraft(undefined)}>
            Back
          </Button>
        </form>
      )}
    </div>
  )
}
