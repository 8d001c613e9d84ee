import { LRUCache } from 'lru-cache'

import type { FilePlace } from '../domain/files/file.ts'
import { readFiles } from '../store/files/files.ts'
import type { Db } from '../store/database/schema.ts'

const maxCharacters = 64 * 1024 * 1024

/**
 * The content of files that models were recently sent, in base64, because every step sends them again. A file never
 * changes, so nothing here is stale.
 */
export class FileCache {
  readonly #kept = new LRUCache<string, string>({ maxSize: maxCharacters, sizeCalculation: (base64) => base64.length })

  /**
   * Reads the files that are not cached yet, in one statement. Files that no longer exist are missing from the result.
   */
  async load(db: Db, places: readonly FilePlace[]): Promise<(place: FilePlace) => string | undefined> {
    const loaded = new Map<string, string>()
    const missing = new Map<string, FilePlace>()
    for (const place of places) {
      const kept = this.#kept.get(keyOf(place))
      if (kept === undefined) missing.set(keyOf(place), place)
      else loaded.set(keyOf(place), kept)
    }
    const read = missing.size === 0 ? [] : await readFiles(db, [...missing.values()])
    for (const { bytes, ...place } of read) {
      const base64 = bytes.toString('base64')
      loaded.set(keyOf(place), base64)
      this.#kept.set(keyOf(place), base64)
    }
    return (place) => loaded.get(keyOf(place))
  }
}

function keyOf({ conversationId, key }: FilePlace): string {
  return `${conversationId} ${key}`
}
