import { V7Generator } from 'uuidv7'

import type { Clock } from './clock.ts'

/** Makes ids: UUIDs of version 7, which sort by the time they were made. */
export interface IdSource {
  next(): string
}

/** The lower bound of all ids that are made at this time or later. */
export function firstIdAt(time: Date): string {
  const ms = Math.min(Math.max(time.getTime(), 0), 2 ** 48 - 1)
  const hex = ms.toString(16).padStart(12, '0')
  return `${hex.slice(0, 8)}-${hex.slice(8)}-0000-0000-000000000000`
}

/** The longest step back of the clock that the generator accepts: any. It then goes on from its last timestamp. */
const anyStepBack = 2 ** 48 - 1

/** The ids of one source increase strictly, also within one millisecond and when the clock steps back. */
export function createIdSource(clock: Clock): IdSource {
  const generator = new V7Generator()
  generator.setRollbackAllowance(anyStepBack)
  return { next: () => generator.generateOrResetWithTs(clock.now().getTime()).toString() }
}
