import { useState, type ReactNode } from 'react'

import type { MessageFields } from '../../client/documents.ts'
import { useTurns } from '../data/turns.ts'
import { useAction } from '../data/use-action.ts'
import { useFocusKept } from '../data/use-focus-kept.ts'
import { useGrowing } from '../data/use-growing.ts'
import { useKept } from '../data/use-kept.ts'
import { Button } from './button.tsx'
import { Content } from './content.tsx'
import { NotInContext } from './not-in-context.tsx'
import { Problem } from './problem.tsx'
import { Clock } from './time.tsx'
import { Versions } from './versions.tsx'

type UserMessage = Extract<MessageFields, { readonly __typename: 'UserMessage' }>

/** A user's message. Editing it creates another version of its turn. */
export function UserEntry({
  message,
  isUnderWay,
}: {
  readonly message: UserMessage
  readonly isUnderWay: boolean
}): ReactNode {
  const turns = useTurns()
  const [draft = message.text, setDraft] = useKept<string>(`wording.${message.id}`)
  const [isOpen, setOpen] = useState(() => draft !== message.text)
  const giveUp = (): void => {
    setOpen(false)
    setDraft(undefined)
  }
  const save = useAction(async () => {
    const kept = message.content.filter(({ kind }) => kind !== 'TEXT')
    await turns!.edit(message.id, draft, kept)
    giveUp()
  })
  const runId = message.run?.id ?? null
  const root = useFocusKept<HTMLElement>(isOpen ? 'EDIT' : 'SHOW')
  const area = useGrowing(isOpen ? draft : '')
  return (
    <article ref={root} className="entry user" aria-label="User">
      {!isOpen || !turns ? (
        <div className="bubble">
          <Content parts={message.content} text={message.text} />
        </div>
      ) : (
        <form
          className="bubble edit-message"
          onSubmit={(event) => {
            event.preventDefault()
            save.run()
          }}
        >
          <textarea
            ref={area}
            aria-label="New wording"
            rows={1}
            value={draft}
            autoFocus
            onChange={(event) => setDraft(event.target.value)}
            onKeyDown={(event) => event.key === 'Escape' && setOpen(false)}
          />
          <Problem>{save.problem}</Problem>
          <div className="row end">
            <Button look="quiet" className="small" onClick={giveUp}>
              Keep the old one
            </Button>
            <Button look="primary" className="small" type="submit" isBusy={save.isBusy} disabled={draft.trim() === ''}>
              Answer this instead
            </Button>
          </div>
        </form>
      )}
      <footer>
        <NotInContext message={message} isUnderWay={isUnderWay} />
        <Sender actor={message.sentBy} />
        {turns && !isOpen && !turns.isActive && runId !== null && (
          <Button
            look="quiet"
            icon="edit"
            className="small reveal"
            data-opens="EDIT"
            aria-label="Edit message"
            title="Edit message"
            onClick={() => setOpen(true)}
          />
        )}
        {turns && <Versions runId={runId} />}
        <Clock at={message.createdAt} />
      </footer>
    </article>
  )
}

/** On an open server everyone is the same actor, so the name is not shown. */
function Sender({
  actor,
}: {
  readonly actor: { readonly kind: string; readonly name: string } | null | undefined
}): ReactNode {
  return actor && actor.kind !== 'OPEN' ? <span>{actor.name}</span> : null
}
