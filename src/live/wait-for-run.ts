import { notImplemented } from '../domain/errors.ts'
import type { Kysely } from 'kysely'

import type { RunCursor } from '../domain/cursor.ts'
import type { Database } from '../store/schema.ts'
import type { Hub } from './hub.ts'

/** Resolves once the run has moved past `after` and is paused or has ended, or after `waitMs`; at once for 0. */
export function waitForRun(
  _context: { readonly db: Kysely<Database>; readonly hub: Hub },
  _runId: string,
  _options: { readonly waitMs: number; readonly after?: RunCursor | undefined },
): Promise<void> {
  throw notImplemented('waitForRun')
}
