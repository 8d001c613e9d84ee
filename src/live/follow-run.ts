import { notImplemented } from '../domain/errors.ts'
import type { Kysely } from 'kysely'

import type { RunCursor } from '../domain/cursor.ts'
import type { RunEvent } from '../domain/run-event.ts'
import type { Database } from '../store/schema.ts'
import type { Hub } from './hub.ts'

export interface FollowOptions {
  /** From the beginning where there is none. */
  readonly after: RunCursor | undefined
  readonly deltas: boolean
}

export function followRun(
  _context: { readonly db: Kysely<Database>; readonly hub: Hub },
  _runId: string,
  _options: FollowOptions,
): AsyncIterableIterator<RunEvent> {
  throw notImplemented('followRun')
}
