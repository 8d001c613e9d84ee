import { expect, test } from 'vitest'

import type { ContextMessage } from '../../src/domain/context/context.ts'
import { ContextCache, type CachedContext } from '../../src/engine/context-cache.ts'

/** A context of about this many million characters. */
const contextOf = (millions: number): CachedContext => ({
  bounds: { contextFrom: 1, summaryPosition: null },
  version: 1,
  messages: [{ text: 'x'.repeat(millions * 1024 ** 2) } as unknown as ContextMessage],
  upTo: 2,
})

test('[ENG63] contexts of 32 million characters are kept, the least recently used are dropped, and none of more than 8', () => {
  const cache = new ContextCache()
  for (const name of ['one', 'two', 'three', 'four']) cache.put(name, contextOf(7))
  cache.put('one', cache.take('one')!)
  cache.put('five', contextOf(7))
  cache.put('six', contextOf(9))
  const kept = ['one', 'two', 'three', 'four', 'five', 'six'].filter((name) => cache.take(name) !== undefined)
  expect(kept).toEqual(['one', 'three', 'four', 'five'])
})
