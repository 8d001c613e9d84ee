import { useEffect, useRef, useState, type ReactNode } from 'react'
import { Link } from 'wouter'

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

export function InboxPage(): ReactNode {
  const { calls, settled, totalCount, isLoaded } = useInbox()
  const [currentId, setCurrent] = useState<string>()
  const [open, setOpen] = useState<{ readonly id: string; readonly mode: DecisionMode }>()
  const [hasHelp, setHelp] = useState(false)
  const list = useRef<HTMLUListElement>(null)
  const index = Math.max(
    0,
    calls.findIndex(({ id }) => id === currentId),
  )

  useEffect(() => {
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
