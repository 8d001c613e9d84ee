import { sql, type Kysely } from 'kysely'

import { isAbandoned } from './runs/cancel-requests.ts'
import { isFreeSuspect } from './workers/claim-runs.ts'
import { isOrphaned } from './workers/leases.ts'
import { executePrepared } from './database/prepared.ts'
import type { Database } from './database/schema.ts'
import { hasExpired } from './tools/tool-calls.ts'
import { silentWorkers, type SilentWorker } from './workers/workers.ts'

/** What there is to do for a sweep, in all tenants. */
export interface SweepSigns {
  /** Workers that may be dead. */
  readonly silentWorkers: readonly SilentWorker[]
  /** Runs whose worker is gone. */
  readonly hasOrphans: boolean
  /** Runs that can be claimed. */
  readonly hasWaiting: boolean
  /** Runs that workers died of, and that nobody drives. */
  readonly hasSuspects: boolean
  /** Cancelled runs that nobody drives. */
  readonly hasAbandoned: boolean
  /** Calls that nobody decided about in time. */
  readonly hasExpired: boolean
}

/** In one statement, because most sweeps find nothing to do, and every process sweeps twice a second. */
export async function readSweepSigns(db: Kysely<Database>, now: Date): Promise<SweepSigns> {
  const { rows } = await executePrepared(
    db,
    sql<SweepSigns>`
      select (select coalesce(json_agg(worker), '[]') from (${silentWorkers}) worker) as "silentWorkers",
        exists (select from runs where ${isOrphaned}) as "hasOrphans",
        exists (select from runs where claimable) as "hasWaiting",
        exists (select from runs where ${isFreeSuspect}) as "hasSuspects",
        exists (select from runs where ${isAbandoned}) as "hasAbandoned",
        exists (select from tool_calls where ${hasExpired(now)}) as "hasExpired"`,
  )
  return rows[0]!
}
