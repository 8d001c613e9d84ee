import { useLayoutEffect, useRef, useState, type ReactNode } from 'react'
import { Link } from 'wouter'

import type { InboxCallFields } from '../../client/documents.ts'
import { useInbox } from '../../react/use-inbox.ts'
import { count } from '../data/format.ts'
import { Button } from '../parts/button.tsx'
import { DecisionTaken } from '../parts/decision-taken.tsx'
import type { DecisionMode } from '../parts/decision.tsx'
import { Empty } from '../parts/empty.tsx'
import { InboxItem } from '../parts/inbox-item.tsx'
import { KeyHelp } from '../parts/key-help.tsx'
import { Page } from '../parts/page.tsx'
import { Skeleton } from '../parts/skeleton.tsx'
import { Status } from '../parts/status.tsx'

/** In less time nobody reads what has changed and presses a key. */
const reactionMs = 300

export function InboxPage(): ReactNode {
  const { calls: waiting, settled, totalCount, isLoaded } = useInbox()
  const [currentId, setCurrent] = useState<string>()
  const [open, setOpen] = useState<{ readonly id: string; readonly mode: DecisionMode }>()
  const [hasHelp, setHelp] = useState(false)
  const [written, setWritten] = useState<InboxCallFields>()
  const calls = withWritten(waiting, written && (settled.find(({ id }) => id === written.id) ?? written))
  const list = useRef<HTMLUListElement>(null)
  const lastIndex = useRef(0)
  /** The call that the person last acted on, and when one that someone else decided gave its place to another. */
  const acted = useRef<string>(undefined)
  const movedAt = useRef(-Infinity)
  const index = Math.max(
    0,
    calls.findIndex(({ id }) => id === currentId),
  )

  // When the current call is gone, the next one takes its place, with the focus if that was there.
  useLayoutEffect(() => {
    if (currentId === undefined || calls[index]?.id === currentId) {
      lastIndex.current = index
      return
    }
    const next = Math.min(lastIndex.current, calls.length - 1)
    setCurrent(calls[next]?.id)
    if (acted.current !== currentId) movedAt.current = performance.now()
    if (document.activeElement === document.body)
      ((list.current!.children[next] as HTMLElement | undefined) ?? document.querySelector('main'))?.focus()
  })

  // Before the next key, which must not meet a list that has changed.
  useLayoutEffect(() => {
    function pressed(event: KeyboardEvent): void {
      const target = event.target as HTMLElement
      if (event.ctrlKey || event.metaKey || event.altKey || target.closest('input, textarea, select, dialog')) return
      if (event.key === '?') return setHelp(true)
      const item = list.current?.children[index] as HTMLElement | undefined
      const call = calls[index]
      if (!item || !call) return
      const move = { j: 1, k: -1 }[event.key]
      if (move !== undefined) {
        // The first press selects the first call instead of moving.
        const next = calls[currentId === undefined ? 0 : Math.min(calls.length - 1, Math.max(0, index + move))]!
        setCurrent(next.id)
        ;(list.current!.children[calls.indexOf(next)] as HTMLElement).focus()
      } else if (event.key === 'a') {
        // A held key, or one that was meant for the call that was there a moment ago, must not approve this one.
        if (event.repeat || performance.now() - movedAt.current < reactionMs) return
        setCurrent(call.id)
        ;[...item.querySelectorAll('button')].find((button) => button.textContent === 'Approve')?.click()
      } else if (event.key === 'd' || event.key === 'e') {
        event.preventDefault()
        setCurrent(call.id)
        setOpen({ id: call.id, mode: event.key === 'd' ? 'DENY' : 'EDIT' })
      }
    }
    addEventListener('keydown', pressed)
    return () => removeEventListener('keydown', pressed)
  })

  return (
    <Page
      title="Inbox"
      lead={totalCount > 0 ? `${count(totalCount)} waiting, oldest first` : undefined}
      actions={
        <Button look="quiet" className="wide-only" onClick={() => setHelp(true)}>
          Keys: <kbd>?</kbd>
        </Button>
      }
    >
      {!isLoaded && <Skeleton lines={4} />}
      {isLoaded && calls.length === 0 && (
        <Empty icon="inbox" title="Nothing is waiting">
          <p>Tool calls that need a person appear here, from every agent, as soon as an agent makes them.</p>
        </Empty>
      )}
      <ul ref={list} className="inbox" aria-label="Waiting for a decision">
        {calls.map((call, place) => (
          <InboxItem
            key={call.id}
            call={call}
            isCurrent={currentId !== undefined && place === index}
            mode={open?.id === call.id ? open.mode : 'CHOOSE'}
            onMode={(mode) => setOpen({ id: call.id, mode })}
            onFocus={() => setCurrent(call.id)}
            onAct={() => (acted.current = call.id)}
            onWriting={(isWriting) => setWritten(isWriting ? call : undefined)}
          />
        ))}
      </ul>
      {totalCount > calls.length && (
        <p className="quiet">{count(totalCount - calls.length)} more appear as these are decided.</p>
      )}
      {settled.length > 0 && (
        <section aria-labelledby="settled">
          <h2 id="settled">Decided while you were here</h2>
          <ul className="settled" aria-label="Decided">
            {settled.map((call) => (
              <li key={call.id}>
                <Status value={call.status} />
                <Link href={`/conversations/${call.conversation.id}`}>{call.name}</Link>
                {call.decision ? (
                  <DecisionTaken decision={call.decision} />
                ) : (
                  <span className="quiet">no longer waits</span>
                )}
              </li>
            ))}
          </ul>
        </section>
      )}
      {hasHelp && <KeyHelp onClose={() => setHelp(false)} />}
    </Page>
  )
}

/**
 * The call in whose form a person writes stays in the list, also after someone else has decided it. If the form went
 * away, the rest of what is typed would be taken for keys that decide about other calls.
 */
function withWritten(calls: readonly InboxCallFields[], written: InboxCallFields | undefined) {
  if (!written || calls.some(({ id }) => id === written.id)) return calls
  return [...calls, written].toSorted((a, b) => Date.parse(a.createdAt) - Date.parse(b.createdAt))
}
