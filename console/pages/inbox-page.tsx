import { useLayoutEffect, useReducer, useRef, useState, type ReactNode } from 'react'
import { Link } from 'wouter'

import type { InboxCallFields } from '../../client/documents.ts'
import { useInbox } from '../../react/use-inbox.ts'
import { count } from '../data/format.ts'
import { useSession } from '../data/session.ts'
import { useLost } from '../data/use-lost.ts'
import { BudgetWaitList, useBudgetWaits } from '../parts/budget-waits.tsx'
import { Button } from '../parts/button.tsx'
import { DecisionTaken } from '../parts/decision-taken.tsx'
import type { DecisionMode } from '../parts/decision.tsx'
import { Empty } from '../parts/empty.tsx'
import { InboxItem } from '../parts/inbox-item.tsx'
import { KeyHelp } from '../parts/key-help.tsx'
import { Page } from '../parts/page.tsx'
import { Problem } from '../parts/problem.tsx'
import { Skeleton } from '../parts/skeleton.tsx'
import { Status } from '../parts/status.tsx'

/** In less time nobody reads what has changed and presses a key, or taps. */
const reactionMs = 300

export function InboxPage(): ReactNode {
  const { calls: waiting, settled, totalCount, isLoaded } = useInbox()
  const budgetWaits = useBudgetWaits()
  const isLost = useLost()
  const session = useSession()
  const isAllowed = session.phase !== 'READY' || session.viewer.scopes.includes('READ')
  const [currentId, setCurrent] = useState<string>()
  const [open, setOpen] = useState<{ readonly id: string; readonly mode: DecisionMode }>()
  const [hasHelp, setHelp] = useState(false)
  /** The call in whose form the person types. It stays, since the rest of the text must not be taken for keys. */
  const [writtenId, setWritten] = useState<string>()
  const list = useRef<HTMLUListElement>(null)
  const lastIndex = useRef(0)
  /** The calls that the person decided, and when one that someone else decided gave its place to another. */
  const acted = useRef(new Set<string>())
  const movedAt = useRef(-Infinity)
  const hasMoved = useRef(false)
  const [, pointerLeft] = useReducer((times: number) => times + 1, 0)
  const lastRows = useRef(waiting)
  const isPointed = waiting.length > 0 && list.current?.matches(':hover') === true
  const rows = withHeld(
    lastRows.current,
    waiting,
    ({ id }) => id === writtenId || (isPointed && !acted.current.has(id)),
  ).map((call) => (call.id === writtenId ? (settled.find(({ id }) => id === writtenId) ?? call) : call))
  const calls = rows.filter((call) => call.id === writtenId || waiting.includes(call))
  const shiftedAt = useRef(-Infinity)
  useLayoutEffect(() => {
    const isShifted = lastRows.current.some(({ id }) => !acted.current.has(id) && !rows.some((row) => row.id === id))
    if (isShifted) shiftedAt.current = performance.now()
    lastRows.current = rows
  })
  // Without a choice the first call is the current one, and is marked as such.
  const index = Math.max(
    0,
    calls.findIndex(({ id }) => id === currentId),
  )
  const itemOf = (call: InboxCallFields | undefined): HTMLElement | null =>
    list.current?.querySelector(`[data-call="${call?.id}"]`) ?? null

  // When the current call is gone, the next one takes its place, with the focus if that was there.
  useLayoutEffect(() => {
    if (calls[index]?.id === currentId) {
      lastIndex.current = index
      return
    }
    const next = calls[Math.min(lastIndex.current, calls.length - 1)]
    setCurrent(next?.id)
    if (currentId === undefined) return
    if (!acted.current.has(currentId)) movedAt.current = performance.now()
    const { activeElement } = document
    if (activeElement === document.body || activeElement?.closest('[inert]'))
      (itemOf(next) ?? document.querySelector('main'))?.focus()
  })

  // Before the next key, which must not meet a list that has changed.
  useLayoutEffect(() => {
    function pressed(event: KeyboardEvent): void {
      const target = event.target as HTMLElement
      if (event.ctrlKey || event.metaKey || event.altKey || target.closest('input, textarea, select, dialog')) return
      if (event.key === '?') return setHelp(true)
      const call = calls[index]
      const item = itemOf(call)
      if (!item || !call) return
      const move = { j: 1, k: -1 }[event.key]
      if (move !== undefined) {
        // The first press focuses the current call instead of moving.
        const next = hasMoved.current ? calls[Math.min(calls.length - 1, Math.max(0, index + move))]! : call
        hasMoved.current = true
        setCurrent(next.id)
        itemOf(next)!.focus()
      } else if (event.key === 'a') {
        // A held key, or one that was meant for the call that was there a moment ago, must not approve this one.
        if (event.repeat || performance.now() - movedAt.current < reactionMs) return
        // Nobody approves what is out of view.
        if (!isInView(item)) return item.scrollIntoView({ block: 'nearest' })
        ;[...item.querySelectorAll('button')].find((button) => button.textContent === 'Approve')?.click()
      } else if (event.key === 'd' || event.key === 'e') {
        event.preventDefault()
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
      {!isLoaded && isAllowed && <Skeleton lines={4} />}
      {!isLoaded && !isAllowed && <Problem>The inbox needs the scope READ, which your key lacks.</Problem>}
      {isLoaded && calls.length === 0 && !budgetWaits.data?.runs.nodes.length && (
        <Empty icon="inbox" title={isLost ? 'Nothing was waiting when the connection was lost' : 'Nothing is waiting'}>
          <p>Tool calls that need a person appear here, from every agent, as soon as an agent makes them.</p>
        </Empty>
      )}
      <ul
        ref={list}
        className="inbox"
        aria-label="Waiting for a decision"
        onPointerLeave={pointerLeft}
        onClickCapture={(event) => {
          // A finger does not hover: it may have been meant for the call that was there a moment ago.
          const { pointerType } = event.nativeEvent as PointerEvent
          if (pointerType === 'touch' && performance.now() - shiftedAt.current < reactionMs) event.stopPropagation()
        }}
      >
        {rows.map((call) => (
          <InboxItem
            key={call.id}
            call={call}
            isGone={!calls.includes(call)}
            isCurrent={call === calls[index]}
            mode={open?.id === call.id ? open.mode : 'CHOOSE'}
            onMode={(mode) => setOpen({ id: call.id, mode })}
            onFocus={() => {
              hasMoved.current = true
              setCurrent(call.id)
            }}
            onAct={() => acted.current.add(call.id)}
            onWriting={(isWriting) => setWritten(isWriting ? call.id : undefined)}
          />
        ))}
      </ul>
      {totalCount > calls.length && (
        <p className="quiet">{count(totalCount - calls.length)} more appear as these are decided.</p>
      )}
      <BudgetWaitList waits={budgetWaits} />
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

function isInView(item: HTMLElement): boolean {
  const { top, bottom } = item.getBoundingClientRect()
  return bottom > 0 && top < innerHeight
}

/**
 * The calls that wait, and those that were shown before and are held, which keep their place: a list must not move
 * under the pointer, and a form not go away while a person types.
 */
function withHeld(
  before: readonly InboxCallFields[],
  waiting: readonly InboxCallFields[],
  isHeld: (call: InboxCallFields) => boolean,
): readonly InboxCallFields[] {
  const now = new Map(waiting.map((call) => [call.id, call]))
  const held = before.filter((call) => !now.has(call.id) && isHeld(call))
  if (held.length === 0) return waiting
  const known = before.flatMap((call) => now.get(call.id) ?? (held.includes(call) ? call : []))
  return [...known, ...waiting.filter((call) => !known.includes(call))]
}
