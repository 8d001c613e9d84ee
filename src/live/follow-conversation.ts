import type { RunCursor } from '../domain/cursor.ts'
import type { RunEvent } from '../domain/run-event.ts'
import { findNextInConversation, type HeldRun } from '../store/conversation-heads.ts'
import { followRun, type FollowContext, type RunFollower } from './follow-run.ts'
import { PulledIterator } from './pulled-iterator.ts'

export interface FollowConversationOptions {
  /**
   * The cursor, its run, and that run's place among the runs that held the conversation. Undefined to start at the
   * beginning.
   */
  readonly after: (HeldRun & { readonly cursor: RunCursor }) | undefined
  readonly deltas: boolean
}

/**
 * Follows the runs of a conversation one after another, in the order in which they hold it. It ends only when the
 * conversation is deleted: between two runs it waits for the next run, or for the last one to be retried.
 */
export function followConversation(
  context: FollowContext,
  conversationId: string,
  options: FollowConversationOptions,
): AsyncIterableIterator<RunEvent> {
  return new ConversationFollower(context, conversationId, options)
}

/**
 * The follower either follows a run and passes on its events, or looks for a run to follow. It first looks for new
 * entries of the run that it followed last, because that run may have been retried, and then for the next run that held
 * the conversation. If it finds neither, it waits for news of the conversation and looks again.
 */
class ConversationFollower extends PulledIterator<RunEvent> {
  readonly #context: FollowContext
  readonly #conversationId: string
  readonly #deltas: boolean
  readonly #stopWatching: () => void
  #hold: number
  /** The last event of the run that was followed last. Undefined before the first run. */
  #cursor: RunCursor | undefined
  #follower: RunFollower | undefined
  #event: RunEvent | undefined
  /** Whether the conversation may have changed since it was last looked at. */
  #mayHaveChanged = true
  #isDeleted = false

  constructor(context: FollowContext, conversationId: string, { after, deltas }: FollowConversationOptions) {
    super()
    this.#context = context
    this.#conversationId = conversationId
    this.#deltas = deltas
    this.#hold = after?.hold ?? 0
    this.#cursor = after?.cursor
    this.#stopWatching = context.hub.watchConversation(conversationId, () => {
      this.#mayHaveChanged = true
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
    if (this.#isDeleted) return 'end'
    if (this.#follower) return this.#pull(this.#follower)
    if (!this.#mayHaveChanged) return 'wait'
    this.#mayHaveChanged = false
    return this.#findNext()
  }

  async #pull(follower: RunFollower): Promise<void> {
    const { done, value } = await follower.next()
    if (!done) this.#event = value
    else {
      this.#cursor = follower.cursor
      this.#follower = undefined
      this.#mayHaveChanged = true
    }
  }

  async #findNext(): Promise<void> {
    const found = await this.read(() => findNextInConversation(this.#context.db, this.#conversationId, this.#hold))
    if (!found) this.#isDeleted = true
    // The entries of a retried run come before those of the next run.
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
