import { useLayoutEffect, useRef, useState, type ReactNode } from 'react'
import { Virtualizer } from 'virtua'

import type { Conversation } from '../../react/use-conversation.ts'
import { callBars, timeOf } from '../data/timeline.ts'
import { usePress } from '../data/use-press.ts'
import { DraftEntry } from './draft-entry.tsx'
import { Entry } from './entry.tsx'
import { ListColumn } from './list-column.tsx'
import { QueuedEntry } from './queued-entry.tsx'
import { Skeleton } from './skeleton.tsx'
import { TurnEnd } from './turn-end.tsx'

/** How near the end counts as the end, in pixels. */
const nearEnd = 60

/** How many pixels beyond the view are rendered. While the reader scrolls, only those ahead. */
const aroundView = 3_000

/**
 * How many of the newest entries stay in the document wherever the reader is. A short conversation is there completely,
 * for the browser's search and for screen readers.
 */
const newest = 50

interface ConversationLogProps {
  readonly conversationId: string
  readonly conversation: Conversation
  /** How many messages the person has sent here. Whoever sends one wants to see it and what follows. */
  readonly sentCount: number
  readonly empty: ReactNode
  /** What comes after the last entry: the error of a failed run. */
  readonly tail: ReactNode
}

/**
 * The entries of a conversation. Old ones are in the document only near the view. It opens at the end, stays there
 * while new text arrives if the reader is there too, and loads older messages when the reader scrolls up.
 */
export function ConversationLog({ conversationId, conversation, ...rest }: ConversationLogProps): ReactNode {
  const { sentCount, empty, tail } = rest
  const { entries, drafts, waiting, hasOlder, isLoaded, isActive, latestRun, loadOlder } = conversation
  const scroller = useRef<HTMLDivElement>(null)
  const isAtEnd = useRef(true)
  const lastTop = useRef(0)
  const [used, setUsed] = useState<ReadonlySet<string>>(new Set())
  const isLoading = useRef(false)
  const firstId = entries[0]?.id
  const lastFirst = useRef(firstId)
  // Older messages were added in front, so the scroll position must be adjusted.
  const isShift = lastFirst.current !== undefined && firstId !== lastFirst.current && isLoading.current

  const press = usePress(followEnd)

  /** A button that is being pressed must not move, or the click is lost or meets another one. */
  function followEnd(): void {
    const box = scroller.current
    if (box && isAtEnd.current && !press.isDown()) box.scrollTop = box.scrollHeight
  }

  useLayoutEffect(() => {
    if (sentCount > 0) isAtEnd.current = true
  }, [sentCount])

  useLayoutEffect(() => {
    lastFirst.current = firstId
    if (!isShift) followEnd()
  })

  // Heights are known only after a frame, and Markdown may grow when its code is highlighted.
  useLayoutEffect(() => {
    const box = scroller.current
    if (!box) return undefined
    const observer = new ResizeObserver(() => followEnd())
    for (const child of box.children) observer.observe(child)
    observer.observe(box)
    return () => observer.disconnect()
  }, [isLoaded])

  function scrolled(box: HTMLElement): void {
    const belowView = box.scrollHeight - box.scrollTop - box.clientHeight
    // Whoever scrolls up only a little wants to read there, and is not taken back to the end. What has grown since the
    // log was scrolled to its end is no reason to leave it.
    const isUp = box.scrollTop < lastTop.current
    if (belowView < (isUp ? 2 : nearEnd)) isAtEnd.current = true
    else if (isUp) isAtEnd.current = false
    lastTop.current = box.scrollTop
    if (box.scrollTop > 400 || !hasOlder || isLoading.current) return
    isLoading.current = true
    const loaded = (): void => {
      isLoading.current = false
      // Whoever scrolled to the top meanwhile causes no further event there.
      if (scroller.current) latestScrolled.current(scroller.current)
    }
    loadOlder().then(
      () => setTimeout(loaded, 50),
      () => (isLoading.current = false),
    )
  }
  const latestScrolled = useRef(scrolled)
  latestScrolled.current = scrolled

  return (
    <div
      ref={scroller}
      className="log"
      role="log"
      aria-label="Conversation"
      tabIndex={0}
      onPointerDown={press.onPointerDown}
      onScroll={(event) => scrolled(event.currentTarget)}
    >
      <div className="log-inner">
        {!isLoaded && <Skeleton lines={5} />}
        {isLoaded && entries.length === 0 && drafts.length === 0 && waiting.length === 0 && empty}
        {hasOlder && <p className="quiet older">Loading older messages…</p>}
        <Virtualizer
          as={ListColumn}
          scrollRef={scroller}
          shift={isShift}
          startMargin={hasOlder ? 32 : 0}
          bufferSize={aroundView}
          keepMounted={keptOf(entries, used)}
        >
          {entries.map((entry, index) => (
            <div
              key={entry.id}
              className="log-entry"
              onFocus={() => setUsed((ids) => (ids.has(entry.id) ? ids : new Set(ids).add(entry.id)))}
            >
              <Entry entry={entry} isUnderWay={isActive && entry.runId === latestRun?.id} />
              {entry.runId !== entries[index + 1]?.runId && (
                <TurnEnd
                  runId={entry.runId}
                  messageOf={() => messageOf(entries, index)}
                  waitedMs={waitedMs(entries, index)}
                  isLatest={entry.runId === latestRun?.id}
                />
              )}
            </div>
          ))}
        </Virtualizer>
        {tail}
        {waiting.map((run) => (
          <QueuedEntry key={run.id} run={run} />
        ))}
        {drafts.map((draft) => (
          <DraftEntry key={draft.clientId} draft={draft} conversationId={conversationId} conversation={conversation} />
        ))}
      </div>
    </div>
  )
}

/**
 * Entries that stay in the document although they are out of view, because a person may have typed something there: the
 * newest, those that wait for a person, and those that were used.
 */
function keptOf(entries: Conversation['entries'], used: ReadonlySet<string>): number[] {
  return entries.flatMap((entry, index) =>
    index >= entries.length - newest || used.has(entry.id) || (entry.kind === 'call' && entry.call.status === 'PENDING')
      ? [index]
      : [],
  )
}

/** The last message of the turn that the entry at this place ends. */
function messageOf(entries: Conversation['entries'], end: number): string | undefined {
  const { runId } = entries[end]!
  return entries.findLast((entry, index) => index <= end && entry.kind === 'message' && entry.runId === runId)?.id
}

/** How long the turn that ends at this place waited for people and clients, as far as its calls are loaded. */
function waitedMs(entries: Conversation['entries'], end: number): number {
  const { runId } = entries[end]!
  const before = entries.findLastIndex((entry, index) => index < end && entry.runId !== runId)
  const turn = entries.slice(before + 1, end + 1)
  return timeOf(
    turn.flatMap((entry) => (entry.kind === 'call' ? callBars(entry.call, Date.now()) : [])),
    'people',
    'client',
  )
}
