import { sql } from 'kysely'

import type { Reach } from '../../domain/access/viewer.ts'
import type { Json } from '../../util/json.ts'
import type { Db } from '../database/schema.ts'
import { isOneOfSteps, type StepKey } from './steps.ts'
import { ofTenant } from '../access/tenant-scope.ts'

/**
 * What was sent to a model for a step and what it answered. If the step is attempted again, only the last attempt is
 * kept.
 */
export interface StepExchange extends StepKey {
  readonly request: Json
  readonly response: Json
}

/** The request and the response are JSON texts, null if there was none. */
export async function putStepExchange(
  db: Db,
  { runId, index }: StepKey,
  kept: { readonly request: string | null; readonly response: string | null; readonly now: Date },
): Promise<void> {
  await sql`
    insert into step_exchanges (run_id, step_index, request, response, created_at)
    values (${runId}, ${index}, ${kept.request}::json, ${kept.response}::json, ${kept.now})
    on conflict (run_id, step_index) do update
      set request = excluded.request, response = excluded.response, created_at = excluded.created_at`.execute(db)
}

export async function findStepExchanges(db: Db, reach: Reach, keys: readonly StepKey[]): Promise<StepExchange[]> {
  const rows = await db
    .selectFrom('step_exchanges')
    .innerJoin('runs', 'runs.id', 'step_exchanges.run_id')
    .where(ofTenant('runs', reach))
    .where(isOneOfSteps('step_exchanges.run_id', 'step_exchanges.step_index', keys))
    .select(['run_id as runId', 'step_index as index', 'step_exchanges.request', 'response'])
    .execute()
  return rows
}
