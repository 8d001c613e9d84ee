import { LRUCache } from 'lru-cache'

import type { ContextMessage } from '../domain/context/context.ts'
import type { ContextBounds } from '../domain/runs/draft.ts'
import { alongList } from '../util/along-list.ts'

/** A conversation's context as it was when this process last drove one of its runs. */
export interface CachedContext {
  readonly bounds: ContextBounds
  readonly version: number
  /** Every message of the context before `upTo`. */
  readonly messages: readonly ContextMessage[]
  readonly upTo: number
}

/** The size limit in UTF-16 code units. */
const mostText = 32 * 1024 * 1024

/**
 * Keeps the contexts of recently driven conversations, so that the next turn reads only what is new. Before using one,
 * check it with `isCurrent`, then read the messages from `upTo` on that other processes have added. Bounded by size;
 * the least recently used are dropped first.
 */
export class ContextCache {
  readonly #kept = new LRUCache<string, CachedContext>({
    maxSize: mostText,
    maxEntrySize: mostText / 4,
    sizeCalculation: ({ messages }) => sizeOf(messages),
  })

  /** Removes the context from the cache and returns it. Put it back to keep it. */
  take(conversationId: string): CachedContext | undefined {
    const context = this.#kept.get(conversationId)
    this.#kept.delete(conversationId)
    return context
  }

  put(conversationId: string, context: CachedContext): void {
    this.#kept.set(conversationId, context)
  }
}

const sizeOf = alongList(
  () => 1,
  (total, entry: ContextMessage) => total + 500 + JSON.stringify(entry).length,
)

/** Whether the conversation's context still starts with the cached one. */
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
