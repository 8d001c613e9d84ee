import type { RunCursor } from '../domain/cursor.ts'
import type { RunEvent } from '../domain/run-event.ts'
import { findNextInConversation, type HeldRun } from '../store/conversation-heads.ts'
import { followRun, type FollowContext, type RunFollower } from './follow-run.ts'
import { PulledIterator } from './pulled-iterator.ts'

export interface FollowConversationOptions {
  /** The run that the cursor names, with its place among those that held the conversation; none: the beginning. */
  readonly after: (HeldRun & { readonly cursor: RunCursor }) | undefined
  readonly deltas: boolean
}

/**
 * The streams of a conversation's runs, one after another in the order in which they hold it. It ends only with the
 * conversation: between two runs it waits for the next one, or for the last one to be retried.
 */
export function followConversation(
  context: FollowContext,
  conversationId: string,
  options: FollowConversationOptions,
): AsyncIterableIterator<RunEvent> {
  return new ConversationFollower(context, conversationId, options)
}

class ConversationFollower extends PulledIterator<RunEvent> {
  readonly #context: FollowContext
  readonly #conversationId: string
  readonly #deltas: boolean
  readonly #stopWatching: () => void
  #hold: number
  /** The place after the last event of the run that was followed last. */
  #cursor: RunCursor | undefined
  #follower: RunFollower | undefined
  #event: RunEvent | undefined
  /** Something may have happened since the conversation was last looked at. */
  #dirty = true
  #gone = false

  constructor(context: FollowContext, conversationId: string, { after, deltas }: FollowConversationOptions) {
    super()
    this.#context = context
    this.#conversationId = conversationId
    this.#deltas = deltas
    this.#hold = after?.hold ?? 0
    this.#cursor = after?.cursor
    this.#stopWatching = context.hub.watchConversation(conversationId, () => {
      this.#dirty = true
      this.wake()
    })
    if (after) this.#follow(after)
  }

  protected override release(): void {
    this.#stopWatching()
    void this.#follower?.return()
  }

  protected override take(): RunEvent | 'wait' | 'end' | Promise<void> {
    if (this.#event) {
      const event = this.#event
      this.#event = undefined
      return event
    }
    if (this.#gone) return 'end'
    if (this.#follower) return this.#pull(this.#follower)
    if (!this.#dirty) return 'wait'
    this.#dirty = false
    return this.#findNext()
  }

  async #pull(follower: RunFollower): Promise<void> {
    const { done, value } = await follower.next()
    if (!done) this.#event = value
    else {
      this.#cursor = follower.cursor
      this.#follower = undefined
      this.#dirty = true
    }
  }

  async #findNext(): Promise<void> {
    const found = await this.read(() => findNextInConversation(this.#context.db, this.#conversationId, this.#hold))
    if (!found) this.#gone = true
    // A run that was retried has more to tell before the next one has its turn.
    else if (found.current && this.#cursor && found.current.nextSeq - 1 > this.#cursor.seq) {
      this.#follow({ runId: this.#cursor.runId, hold: this.#hold })
    } else if (found.next) {
      this.#cursor = undefined
      this.#follow(found.next)
    }
  }

  #follow({ runId, hold }: HeldRun): void {
    if (this.closed) return
    this.#hold = hold
    this.#follower = followRun(this.#context, runId, { after: this.#cursor, deltas: this.#deltas })
  }
}
