import { useLayoutEffect, useReducer, useRef, useState, type ReactNode } from 'react'
import { Link } from 'wouter'

import type { InboxCallFields } from '../../client/documents.ts'
import { useInbox } from '../../react/use-inbox.ts'
import { count } from '../data/format.ts'
import { useSession } from '../data/session.ts'
import { useLost } from '../data/use-lost.ts'
import { BudgetWaitList, useBudgetWaits } from '../parts/budget-waits.tsx'
import { Button } from '../parts/button.tsx'
import { DecidedList, LatelyDecided } from '../parts/decided-calls.tsx'
import type { DecisionMode, Held } from '../parts/decision.tsx'
import { Empty } from '../parts/empty.tsx'
import { InboxItem } from '../parts/inbox-item.tsx'
import { KeyHelp } from '../parts/key-help.tsx'
import { Page } from '../parts/page.tsx'
import { Problem } from '../parts/problem.tsx'
import { Skeleton } from '../parts/skeleton.tsx'

/** In less time nobody reads what has changed and taps. */
const reactionMs = 300

/** Where keys are typed and no commands. */
const typing = 'input:not([type=checkbox]), textarea, select, dialog'

/** The two lists of the inbox. */
function Tabs({ isDecided = false }: { readonly isDecided?: boolean }): ReactNode {
  const tab = (href: string, label: string, isHere: boolean): ReactNode => (
    <Link href={href} className="button quiet" aria-current={isHere ? 'page' : undefined}>
      {label}
    </Link>
  )
  return (
    <nav className="row tabs" aria-label="Calls">
      {tab('/inbox', 'Waiting', !isDecided)}
      {tab('/inbox/decided', 'Decided', isDecided)}
    </nav>
  )
}

export function DecidedPage(): ReactNode {
  const { settled } = useInbox()
  return (
    <Page title="Inbox" lead="Decided in the last seven days, newest first">
      <Tabs isDecided />
      <LatelyDecided live={settled} />
    </Page>
  )
}

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
  /** The calls that the person chose to decide about together. */
  const [selected, setSelected] = useState<ReadonlySet<string>>(new Set())
  /** What is sent in a moment, unless it is taken back. */
  const [held, setHeld] = useState<ReadonlyMap<string, Held['verb']>>(new Map())
  const list = useRef<HTMLUListElement>(null)
  const lastIndex = useRef(0)
  /** The calls that the person has just decided. What was held may be sent while they point elsewhere. */
  const acted = useRef(new Set<string>())
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
  const choices = calls.filter(({ id, needs }) => needs === 'APPROVAL' && !held.has(id))
  const chosen = choices.filter(({ id }) => selected.has(id))
  function hold(some: readonly InboxCallFields[], verb: Held['verb']): void {
    setHeld((before) => new Map([...before, ...some.map(({ id }) => [id, verb] as const)]))
    setSelected(new Set())
  }
  const undo = (id: string): void => setHeld((before) => new Map([...before].filter(([other]) => other !== id)))
  const select = (id: string): void => setSelected((before) => before.symmetricDifference(new Set([id])))
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
    const { activeElement } = document
    if (activeElement === document.body || activeElement?.closest('[inert]'))
      (itemOf(next) ?? document.querySelector('main'))?.focus()
  })

  // Before the next key, which must not meet a list that has changed.
  useLayoutEffect(() => {
    function pressed(event: KeyboardEvent): void {
      const target = event.target as HTMLElement
      if (event.ctrlKey || event.metaKey || event.altKey || target.closest(typing)) return
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
        // A key that is held down means one call.
        if (event.repeat) return
        if (chosen.length > 0) return hold(chosen, 'approve')
        // Nobody approves what is out of view.
        if (!isInView(item)) return item.scrollIntoView({ block: 'nearest' })
        if (!choices.includes(call)) return
        hold([call], 'approve')
        const next = choices.find((one) => calls.indexOf(one) > index)
        setCurrent((next ?? call).id)
        itemOf(next)?.focus()
      } else if (event.key === 'x') {
        if (choices.includes(call)) select(call.id)
      } else if (event.key === 'u') {
        setHeld(new Map())
      } else if (event.key === 'd' || event.key === 'e') {
        event.preventDefault()
        setOpen({ id: call.id, mode: event.key === 'd' ? 'DENY' : 'EDIT' })
      }
    }
    addEventListener('keydown', pressed)
    return () => removeEventListener('keydown', pressed)
  })

  function heldOf(call: InboxCallFields): Held | undefined {
    const verb = held.get(call.id)
    return verb && calls.includes(call) ? { verb, onUndo: () => undo(call.id) } : undefined
  }

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
      <Tabs />
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
            isSelected={selected.has(call.id)}
            mode={open?.id === call.id ? open.mode : 'CHOOSE'}
            held={heldOf(call)}
            onSelect={() => select(call.id)}
            onMode={(mode) => setOpen({ id: call.id, mode })}
            onFocus={() => {
              hasMoved.current = true
              setCurrent(call.id)
            }}
            onAct={() => !held.has(call.id) && acted.current.add(call.id)}
            onWriting={(isWriting) => setWritten(isWriting ? call.id : undefined)}
          />
        ))}
      </ul>
      {chosen.length > 0 && (
        <div className="selection row" role="group" aria-label="Selected calls">
          <Button look="primary" icon="check" onClick={() => hold(chosen, 'approve')}>
            Approve {count(chosen.length)}
          </Button>
          <Button onClick={() => hold(chosen, 'deny')}>Deny {count(chosen.length)}</Button>
          <Button look="quiet" onClick={() => setSelected(new Set(choices.map(({ id }) => id)))}>
            Select all
          </Button>
        </div>
      )}
      {totalCount > calls.length && (
        <p className="quiet">{count(totalCount - calls.length)} more appear as these are decided.</p>
      )}
      <BudgetWaitList waits={budgetWaits} />
      {settled.length > 0 && (
        <section aria-labelledby="settled">
          <h2 id="settled">Decided while you were here</h2>
          <DecidedList calls={settled} />
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
