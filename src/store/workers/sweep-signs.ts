import { sql } from 'kysely'

import { isAbandoned } from '../runs/cancel-requests.ts'
import { isFreeSuspect } from './claim-runs.ts'
import { isOrphaned } from './leases.ts'
import { hasTextsToEmbed } from '../memory/passage-embeddings.ts'
import { executePrepared } from '../database/prepared.ts'
import { onlyRow } from '../database/rows.ts'
import type { Db } from '../database/schema.ts'
import { isScheduleDue } from '../schedules/schedules.ts'
import { hasExpired } from '../tools/tool-calls.ts'
import { hasUncounted } from '../usage/count-runs.ts'
import { hasDueDelivery } from '../webhooks/deliveries.ts'
import { silentWorkers, type SilentWorker } from './workers.ts'

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
  /** Schedules that are due, or will be in a moment. */
  readonly hasDue: boolean
  /** Texts of archives that are due to be embedded. */
  readonly hasTextsToEmbed: boolean
  /** Deliveries of webhooks that can be sent. */
  readonly hasDeliveries: boolean
  /** Runs that ended and are not counted yet. */
  readonly hasUncounted: boolean
  /** Runs that this process drives and that were asked to stop. */
  readonly cancelledRunIds: readonly string[]
}

/** In one statement, because most sweeps find nothing to do, and every process sweeps twice a second. */
export async function readSweepSigns(
  db: Db,
  { now, drivenRunIds }: { readonly now: Date; readonly drivenRunIds: readonly string[] },
): Promise<SweepSigns> {
  const signs = await executePrepared(
    db,
    sql<SweepSigns>`
      select (select coalesce(json_agg(worker), '[]') from (${silentWorkers}) worker) as "silentWorkers",
        exists (select from runs where ${isOrphaned}) as "hasOrphans",
        exists (select from runs where claimable) as "hasWaiting",
        exists (select from runs where ${isFreeSuspect}) as "hasSuspects",
        exists (select from runs where ${isAbandoned}) as "hasAbandoned",
        exists (select from tool_calls where ${hasExpired(now)}) as "hasExpired",
        exists (select from schedules where ${isScheduleDue(now)}) as "hasDue",
        ${hasTextsToEmbed(now)} as "hasTextsToEmbed",
        ${hasDueDelivery(now)} as "hasDeliveries",
        ${hasUncounted} as "hasUncounted",
        array(select id from runs where id = any(${drivenRunIds}::uuid[]) and cancel_requested_at is not null)
          as "cancelledRunIds"`,
  )
  return onlyRow(signs)
}
