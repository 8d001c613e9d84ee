import type { ContextMessage } from '../domain/context.ts'
import type { ContextBounds } from '../domain/draft.ts'

/** What a conversation's context was when this process last drove one of its runs. */
export interface CachedContext {
  readonly bounds: ContextBounds
  readonly version: number
  /** Every message of the context before this position. */
  readonly messages: readonly ContextMessage[]
  readonly upTo: number
}

/** In UTF-16 units: about half of it in bytes for plain text. */
const mostText = 32 * 1024 * 1024

/**
 * Contexts of the conversations that were driven here last, so that the next turn reads only what is new. Whoever uses
 * one checks it against the stored conversation: its bounds and its version must be the same, and what other processes
 * added since is read from `upTo` on. Bounded by size, the least recently used go first.
 */
export class ContextCache {
  readonly #entries = new Map<string, { readonly context: CachedContext; readonly size: number }>()
  #size = 0

  /** Takes the context out: one that is not put back is not there any more. */
  take(conversationId: string): CachedContext | undefined {
    const entry = this.#entries.get(conversationId)
    if (!entry) return undefined
    this.#entries.delete(conversationId)
    this.#size -= entry.size
    return entry.context
  }

  put(conversationId: string, context: CachedContext): void {
    this.take(conversationId)
    const size = sizeOf(context.messages)
    if (size > mostText / 4) return
    this.#entries.set(conversationId, { context, size })
    this.#size += size
    for (const oldest of this.#entries.keys()) {
      if (this.#size <= mostText) return
      this.take(oldest)
    }
  }
}

/** Messages are weighed once: they don't change, and most of a context is there again in the next turn. */
const sizes = new WeakMap<ContextMessage, number>()

function sizeOf(messages: readonly ContextMessage[]): number {
  let total = 0
  for (const entry of messages) {
    let size = sizes.get(entry)
    if (size === undefined) {
      size = 500 + JSON.stringify(entry).length
      sizes.set(entry, size)
    }
    total += size
  }
  return total
}

/** Whether a cached context is still what the conversation's context begins with. */
export function isCurrent(
  cached: CachedContext,
  stored: { readonly bounds: ContextBounds; readonly version: number; readonly nextPosition: number },
): boolean {
  return (
    cached.version === stored.version &&
    cached.bounds.contextFrom === stored.bounds.contextFrom &&
    cached.bounds.summaryPosition === stored.bounds.summaryPosition &&
    cached.upTo <= stored.nextPosition
  )
}
