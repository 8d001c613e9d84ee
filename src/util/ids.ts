import { randomBytes } from 'node:crypto'

import type { Clock } from './clock.ts'

/** Where ids come from: UUIDs of version 7, which sort by the time they were made. */
export interface IdSource {
  next(): string
}

/** Not after any id that is made at or after this time. */
export function firstIdAt(time: Date): string {
  const ms = Math.min(Math.max(time.getTime(), 0), 2 ** 48 - 1)
  const hex = ms.toString(16).padStart(12, '0')
  return `${hex.slice(0, 8)}-${hex.slice(8)}-0000-0000-000000000000`
}

/** Ids of one source are strictly increasing, also within one millisecond (RFC 9562, section 6.2, method 1). */
export function createIdSource(clock: Clock): IdSource {
  let lastMs = 0
  let counter = 0
  return {
    next() {
      const random = randomBytes(10)
      const ms = Math.max(clock.now().getTime(), lastMs)
      counter = ms === lastMs ? counter + 1 : random.readUInt16BE(0) & 0x7ff
      lastMs = ms
      if (counter > 0xfff) {
        lastMs += 1
        counter = 0
      }
      const time = lastMs.toString(16).padStart(12, '0')
      const sequence = (0x7000 | counter).toString(16)
      const variant = (0x8000 | (random.readUInt16BE(2) & 0x3fff)).toString(16)
      const tail = random.subarray(4, 10).toString('hex')
      return `${time.slice(0, 8)}-${time.slice(8)}-${sequence}-${variant}-${tail}`
    },
  }
}
