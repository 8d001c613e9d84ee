import { V7Generator } from 'uuidv7'

import type { Clock } from './clock.ts'

/** Generates UUIDv7 ids, which sort by creation time. */
export interface IdSource {
  next(): string
}

/** The 32 hexadecimal digits of a UUID. */
export function hexOfUuid(uuid: string): string {
  return uuid.replaceAll('-', '')
}

/** The UUID with these 32 hexadecimal digits. */
export function uuidOfHex(hex: string): string {
  return hex.replace(/^(.{8})(.{4})(.{4})(.{4})(.{12})$/, '$1-$2-$3-$4-$5')
}

/** The lower bound of all ids generated at this time or later. */
export function firstIdAt(time: Date): string {
  const ms = Math.min(Math.max(time.getTime(), 0), 2 ** 48 - 1)
  const hex = ms.toString(16).padStart(12, '0')
  return `${hex.slice(0, 8)}-${hex.slice(8)}-0000-0000-000000000000`
}

/** An id contains the time when it was made, which differs from `created_at` by at most this much. */
export const idSlackMs = 60_000

/** How far back the clock may step before the generator resets: any distance. It continues from its last timestamp. */
const anyStepBack = 2 ** 48 - 1

/** The ids of one source increase strictly, even within a millisecond or when the clock steps back. */
export function createIdSource(clock: Clock): IdSource {
  const generator = new V7Generator()
  generator.setRollbackAllowance(anyStepBack)
  return { next: () => generator.generateOrResetWithTs(clock.now().getTime()).toString() }
}
